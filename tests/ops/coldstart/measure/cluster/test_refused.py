"""What forbids a measurement: said in one line, before anything is changed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from infra.naming import IDLE_ANNOTATION
from ops.failures import RefusedError, UnclearError
from tests.harness import ROOT
from tests.ops.coldstart.measure.played.scene import ready

RUN = ("coldstart", "run", "--server", "gemma", "--situation")


def refused(scene, situation="restart", error=RefusedError):
    with pytest.raises(error) as caught:
        scene.told(situation)
    return str(caught.value)


def test_a_server_at_work_is_left_alone(serving):
    serving.metrics = lambda _: 'vllm:num_requests_running{engine="0"} 2.0\nvllm:num_requests_waiting{engine="0"} 1.0\n'
    (pod,) = serving.pods()
    assert refused(serving) == (
        f"servers.gemma: 3 requests run or wait in pod {pod['metadata']['name']}; --despite-traffic measures all the"
        " same, and cuts what runs"
    )
    assert serving.told("restart", despite_traffic=True)


def test_nobody_who_tells_of_requests_is_no_yes(serving):
    serving.metrics = lambda _: "vllm:something 1.0\n"
    (pod,) = serving.pods()
    assert refused(serving, error=UnclearError) == (
        f"pod {pod['metadata']['name']}: its metrics have no vllm:num_requests_running; --despite-traffic measures all"
        " the same, and cuts what runs"
    )


def test_another_program_in_the_cluster_than_in_the_stack_file(serving, edit):
    edit(lambda settings: settings["servers"]["gemma"].update(preset="step-2"))
    has = serving.deployment()["metadata"]["annotations"]["vllm-eks/techniques"]
    assert refused(serving) == (
        f"servers.gemma: techniques in the cluster: {has}; in the stack file: streaming-loader,node-cache,front-proxy:"
        " run `pulumi up` first"
    )


def test_another_image_in_the_cluster(serving, edit):
    edit(lambda settings: settings["servers"]["gemma"]["engine"].update(version="0.26.0"))
    assert refused(serving) == (
        "servers.gemma: image in the cluster: vllm/vllm-openai:v0.33.0; in the stack file: vllm/vllm-openai:v0.26.0:"
        " run `pulumi up` first"
    )


def test_a_cluster_of_another_stack(serving, edit):
    edit(lambda settings: settings.update(name="other"))
    space = serving.players.namespace
    assert refused(serving) == (
        f"CronJob {space}/weights-onboard: of cluster inference-dev of account 000000000000, and the stack file names"
        " cluster other of account 000000000000; nothing is done in another cluster"
    )


def test_no_server_yet(scene):
    space = scene.players.namespace
    assert refused(scene) == f"servers.gemma: no Deployment {space}/gemma: run `pulumi up` first"


def test_a_server_that_its_clock_has_stopped(scene):
    scene.deploy(replicas=0)
    space = scene.players.namespace
    path = f"/apis/apps/v1/namespaces/{space}/deployments/gemma"
    assert refused(scene) == f"servers.gemma: Deployment {space}/gemma has no pods: nothing to measure"
    scene.change(path, {"metadata": {"annotations": {IDLE_ANNOTATION: "schedule"}}})
    assert refused(scene) == (
        f"servers.gemma: Deployment {space}/gemma has no pods, stopped by its clock: nothing to measure"
    )


def test_a_build_is_running(serving):
    build = serving.players.cron_job("gemma-cache-build-candidate", {"command": ["true"]})
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": build["metadata"]["name"]}
    space = serving.players.namespace
    serving.players.create(
        f"/apis/batch/v1/namespaces/{space}/jobs",
        "batch/v1",
        "Job",
        "gemma-cache-build",
        {"spec": {"suspend": True, **build["spec"]["jobTemplate"]["spec"]}},
        ownerReferences=[{**owner, "uid": build["metadata"]["uid"], "controller": True}],
    )
    assert refused(serving) == (
        f"servers.gemma: Job {space}/gemma-cache-build is running; follow it: kubectl -n {space} logs -f"
        " job/gemma-cache-build"
    )


def test_a_rollout_is_under_way(scene):
    scene.stage.boot = 0.0
    scene.deploy()
    # a pod is there before the Deployment's status counts it
    while not scene.deployment().get("status", {}).get("updatedReplicas"):
        scene.stage.check()
    assert refused(scene) == "servers.gemma: 0 of 1 pods are ready: nothing is provoked before all are"


def test_several_pods_are_not_all_taken_away_to_measure_one(serving):
    serving.stage.boot = 0.0
    space = serving.players.namespace
    serving.change(f"/apis/apps/v1/namespaces/{space}/deployments/gemma", {"spec": {"replicas": 2}})
    ready(serving, 2)
    for situation in ("fresh-node", "warm-node"):
        assert refused(serving, situation) == (
            f"servers.gemma.replicas: 2; {situation} takes all pods away, and is measured with 1; restart and wake are"
            " measured with several"
        )
    (line,) = serving.told("restart").will
    newest = max(serving.pods(), key=lambda it: it["metadata"]["creationTimestamp"])["metadata"]["name"]
    assert f"scaled from 2 to 1 and back: pod {newest} is deleted" in line


def test_a_server_that_cannot_sleep_cannot_wake(serving):
    assert refused(serving, "wake") == "servers.gemma.techniques: no sleep-mode, so there is no wake"


def test_without_a_yes_nothing_is_touched(serving, ops):
    (pod,) = serving.pods()
    code, out, err = ops(*RUN, "fresh-node", "--despite-traffic", "--kubeconfig", serving.players.kubeconfig)
    node, name, space = pod["spec"]["nodeName"], pod["metadata"]["name"], serving.players.namespace
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        f"servers.gemma in Deployment {space}/gemma, situation fresh node, once:",
        f"  Deployment {space}/gemma is scaled from 1 to 0 and back: pod {name} is deleted, and nobody serves until the"
        " new one is ready",
        f"  NodeClaim {node} is deleted, and with it node {node} and all on its disk; Karpenter makes a new one, if EC2"
        " has one",
        *err.splitlines()[3:5],
        "nobody to ask, standard input is no terminal: --yes does it",
    ]
    assert err.splitlines()[3].endswith(" 170 s to get there")
    assert [it["metadata"]["uid"] for it in serving.pods()] == [pod["metadata"]["uid"]]


def test_a_file_that_nobody_can_write_is_refused_before_the_cluster_is_asked(folder, ops):
    code, _, err = ops(*RUN, "restart", "--output", "no/such/starts.jsonl")
    assert (code, err) == (2, "--output no/such/starts.jsonl: No such file or directory\n")


def test_help_has_an_example_and_needs_no_sdk():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from ops.cli import app\n"
            "try: app(['coldstart', 'run', '--help'])\n"
            "except SystemExit: pass\n"
            "print([it for it in ('boto3', 'kubernetes', 'serving', 'pulumi') if it in sys.modules])",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert "Example: .venv/bin/python -m ops coldstart run --server gemma" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
