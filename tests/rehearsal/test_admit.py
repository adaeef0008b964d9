"""`python -m rehearsal admit`: the objects of whole stacks before a real API server."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from rehearsal.admit import admit
from rehearsal.toolchain import kube_apiserver
from tests.harness import ROOT, SECRETS, stack_settings
from tests.rehearsal.life.test_interrupted import children, gone

SETUP = (
    "import pulumi, pulumi_kubernetes as k8s\n"
    "api = pulumi.ResourceOptions(provider=k8s.Provider('api', kubeconfig='{}'))\n"
    "k8s.core.v1.Namespace('team', metadata={'name': 'team'}, opts=api)\n"
)
SERVICE = (
    "k8s.core.v1.Service('web', metadata={'name': 'web', 'namespace': '%s'}, opts=api,\n"
    "  spec={'ports': [{'port': %d, 'targetPort': 80}]})\n"
)
WEB = "urn:pulumi:dev::own::kubernetes:core/v1:Service::web"


def test_every_object_of_a_checked_in_stack_is_admitted(stack: str) -> None:
    admission = admit(stack, project=ROOT, secrets=SECRETS)
    assert admission.report.refusals == ()
    assert [warning for it in admission.report.admitted for warning in it.warnings] == []
    kinds = {it.kind for it in admission.report.admitted}
    # warm it is 8 s; a machine that does something else beside gets its time
    assert admission.seconds < 60
    assert kinds == {
        *("Namespace", "ServiceAccount", "NetworkPolicy"),
        *("Deployment", "Pod of Deployment", "Service", "PriorityClass", "NodePool", "EC2NodeClass"),
        *("ConfigMap", "CronJob", "Pod of CronJob"),
        *(("Role", "RoleBinding") if any("idle" in it for it in stack_settings(stack)["servers"].values()) else ()),
    }


@pytest.mark.parametrize(("chart", "used"), [("1.14.1", "v1.14.1"), ("1.15.0", "v1.15.2"), ("9.9.9", "v1.14.1")])
def test_custom_kinds_are_those_of_the_chart_that_the_stack_installs(run, project, chart, used):
    release = (
        "k8s.helm.v3.Release('crd', name='karpenter-crd', chart='oci://example.com/karpenter-crd', version='%s',\n"
        "  namespace='kube-system', opts=api)\n"
    )
    pool = (
        "k8s.apiextensions.CustomResource('gpu', api_version='karpenter.sh/v1', kind='NodePool',\n"
        "  metadata={'name': 'gpu'}, opts=api, spec={'template': {'spec': {'requirements': [],\n"
        "  'nodeClassRef': {'group': 'karpenter.k8s.aws', 'kind': 'EC2NodeClass', 'name': 'gpu'}}}})\n"
    )
    done = run("admit", "--stack", "dev", "--project", str(project(SETUP + release % chart + pool)))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"nodepools.karpenter.sh (github.com/aws/karpenter-provider-aws {used})" in done.stdout


def test_what_is_admitted_is_listed(run, project):
    done = run("admit", "--stack", "dev", "--project", str(project(SETUP + SERVICE % ("team", 80))))
    assert (done.returncode, done.stderr) == (0, "")
    seconds = r"\n\n2 objects admitted in \d+\.\d s\. What was created lay in a store that is gone\.\n$"
    assert re.search(seconds, done.stdout)
    assert "  Service    team/web\n" in done.stdout


def test_refused_objects_are_all_named_with_urn_and_the_server_s_words(run, project):
    program = SETUP + SERVICE % ("team", 99999) + SERVICE.replace("'web'", "'lost'") % ("nowhere", 80)
    done = run("admit", "--stack", "dev", "--project", str(project(program)))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"kube-apiserver v{kube_apiserver.find().version} refuses 2 of 3 objects:",
        f'  {WEB.replace("::web", "::lost")}: Service nowhere/lost: namespaces "nowhere" not found',
        f'  {WEB}: Service team/web: Service "web" is invalid: spec.ports[0].port: Invalid value: 99999: '
        "must be between 1 and 65535, inclusive",
    ]


def test_the_rules_of_custom_kinds_are_the_server_s(run, project):
    pool = (
        "k8s.apiextensions.CustomResource('gpu', api_version='karpenter.sh/v1', kind='NodePool',\n"
        "  metadata={'name': 'gpu'}, opts=api,\n"
        "  spec={'template': {'spec': {'requirements': [{'key': 'a', 'operator': 'Inn'}],\n"
        "  'nodeClassRef': {'group': 'karpenter.k8s.aws', 'kind': 'EC2NodeClass', 'name': 'gpu'}}}})\n"
    )
    done = run("admit", "--stack", "dev", "--project", str(project(SETUP + pool)))
    assert (done.returncode, done.stdout) == (1, "")
    head, line = done.stderr.splitlines()
    assert head == f"kube-apiserver v{kube_apiserver.find().version} refuses 1 of 2 objects:"
    assert line.startswith("  urn:pulumi:dev::own::kubernetes:karpenter.sh/v1:NodePool::gpu: NodePool gpu: ")
    assert 'Unsupported value: "Inn"' in line


def test_the_verdict_can_be_read_by_a_program(run, project):
    place = str(project(SETUP + SERVICE % ("team", 99999)))
    done = run("admit", "--stack", "dev", "--project", place, "--json", "-")
    verdict = json.loads(done.stdout)
    assert [(it["kind"], it["name"]) for it in verdict["admitted"]] == [("Namespace", "team")]
    assert [(it["urn"], it["name"]) for it in verdict["refused"]] == [(WEB, "team/web")]
    assert done.returncode == 1


def descendants(process: int) -> list[int]:
    direct = children(process)
    return [*direct, *(it for child in direct for it in descendants(child))]


def command_of(process: int) -> str:
    found = subprocess.run(["ps", "-o", "comm=", "-p", str(process)], capture_output=True, text=True, check=False)
    return found.stdout.strip()


@pytest.fixture
def started(project, temporary):
    """An `admit` in a process of its own, once its API server runs."""
    begun: list[subprocess.Popen[str]] = []

    def start() -> tuple[subprocess.Popen[str], dict[int, str]]:
        # slow enough to be met in the middle
        program = SETUP + "import time\ntime.sleep(5)\n"
        process = subprocess.Popen(
            [sys.executable, "-m", "rehearsal", "admit", "--stack", "dev", "--project", str(project(program))],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        begun.append(process)
        deadline = time.monotonic() + 30
        while True:
            found = {it: command_of(it) for it in descendants(process.pid)}
            if {"kube-apiserver", "etcd", "pulumi"} <= set(found.values()):
                return process, found
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, found
            time.sleep(0.05)

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def test_an_api_server_that_dies_is_one_line(started, temporary):
    process, running = started()
    (server,) = [it for it, command in running.items() if command == "kube-apiserver"]
    os.kill(server, signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (1, "")
    assert stderr.startswith(f"kube-apiserver v{kube_apiserver.find().version} stopped (exit 137)")
    assert stderr.count("\n") == 1
    assert all(gone(it) for it in running)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_server_outlives_the_rehearsal(started, number):
    process, running = started()
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    deadline = time.monotonic() + 20
    while not all(gone(it) for it in running):
        assert time.monotonic() < deadline, running
        time.sleep(0.05)


def test_a_crd_folder_that_does_not_exist_is_a_usage_mistake(run):
    done = run("admit", "--stack", "dev", "--crds", "/nonexistent")
    assert done.returncode == 2
    assert done.stderr.endswith("error: argument --crds: '/nonexistent' is no folder\n")
