"""A cache that a stack file or something in the cluster uses is never removed."""

import json

import pytest
import yaml

from ops.cache.users import named
from ops.cache.verify import CONTAINER
from tests.ops.cache.bucket import BUCKET, UNUSED, in_use, keys
from tests.ops.players import IMAGE, WHOSE

RESTORE = [
    "--bucket=b",
    f"--engine={UNUSED.engine}",
    f"--gpu={UNUSED.gpu}",
    f"--model={UNUSED.model}",
    f"--fingerprint={UNUSED.fingerprint}",
    "--server=other",
]
PRUNE = ("cache", "prune", "--unused")


@pytest.fixture
def unused(put, later):
    """The keys of a cache that no stack file uses, and of its base."""
    return {put(UNUSED, b"c"), put(UNUSED.base, b"d"), UNUSED.manifest_key, UNUSED.base.manifest_key}


@pytest.fixture
def prune(ops, players):
    """`prune(...)`: with the cluster of the test, which is the stack's."""
    players.cron_job("weights-onboard", {"args": []})
    return lambda *more: ops(*PRUNE, "--kubeconfig", players.kubeconfig, *more)


def spec(*, arguments=RESTORE):
    restore = {"name": "cache", "image": IMAGE, "args": arguments}
    return {"initContainers": [restore], "containers": [{"name": CONTAINER, "image": IMAGE}]}


def deployment(players):
    labels = {"app": "x"}
    template = {"metadata": {"labels": labels}, "spec": spec()}
    body = {"spec": {"selector": {"matchLabels": labels}, "template": template}}
    path = f"/apis/apps/v1/namespaces/{players.namespace}/deployments"
    players.create(path, "apps/v1", "Deployment", "other", body)


def job(players):
    template = {"spec": {"restartPolicy": "Never", **spec()}}
    path = f"/apis/batch/v1/namespaces/{players.namespace}/jobs"
    players.create(path, "batch/v1", "Job", "other", {"spec": {"template": template}})


def pod(players):
    players.pod("other", initContainers=spec()["initContainers"])


@pytest.mark.parametrize(("make", "who"), [(deployment, "Deployment"), (job, "Job"), (pod, "Pod")])
def test_what_runs_in_the_cluster_keeps_its_cache_and_its_base(prune, s3, unused, players, make, who):
    """Of a branch, or of a stack file that moved on: its next pod would start cold."""
    make(players)
    code, out, err = prune("--yes")
    assert (code, out) == (0, "nothing to remove\n")
    assert err.splitlines()[1:] == [
        f"kept: {prefix}: {who} other uses it" for prefix in sorted((UNUSED.prefix, UNUSED.base.prefix))
    ]
    assert keys(s3) == unused


def test_what_has_ended_keeps_nothing(prune, s3, unused, players):
    pod(players)
    players.status("pods", "other", {"phase": "Succeeded"})
    job(players)
    players.ended("other", succeeded=True)
    assert prune("--yes")[0] == 0
    assert keys(s3) == set()


def test_a_program_reads_what_goes_and_what_is_kept(prune, unused, players):
    found = json.loads(prune("--json")[1])
    assert {it["key"] for it in found["objects"]} == unused
    assert {it["why"] for it in found["objects"]} == {"unused"}
    assert (found["removed"], found["kept"]) == (False, [])
    pod(players)
    found = json.loads(prune("--json", "--yes")[1])
    assert (found["objects"], found["bytes"], found["removed"], len(found["kept"])) == ([], 0, False, 2)


def test_a_cluster_that_cannot_be_asked_keeps_everything(ops, s3, unused):
    code, out, err = ops(*PRUNE, "--yes")
    assert (code, out) == (3, "")
    assert err.splitlines()[1:] == [
        "nothing is removed, what runs in the cluster nobody tells: cluster inference-dev in us-west-2: AWS answers"
        " ResourceNotFoundException: No cluster found for name: inference-dev; --offline goes by the stack files"
        " alone"
    ]
    assert keys(s3) == unused


def test_offline_goes_by_the_stack_files_and_says_so(ops, s3, unused):
    code, out, err = ops(*PRUNE, "--offline", "--yes")
    assert (code, out.splitlines()[-1]) == (0, "removed: 0.0 MiB")
    assert err == "--offline: what runs in the cluster was not looked at\n"
    assert keys(s3) == set()


def test_a_cluster_of_another_stack_says_nothing_of_this_one(ops, s3, unused, players):
    players.cron_job("weights-onboard", {"args": []}, whose=WHOSE | {"vllm-eks/cluster": "inference-prod"})
    code, out, err = ops(*PRUNE, "--yes", "--kubeconfig", players.kubeconfig)
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == (
        f"nothing is removed, what runs in the cluster nobody tells: namespace {players.namespace}: of cluster"
        " inference-prod of account 000000000000, and the stack file names cluster inference-dev of account"
        " 000000000000; --offline goes by the stack files alone"
    )
    assert keys(s3) == unused


def test_a_cluster_that_nobody_has_applied_to_says_nothing(ops, s3, unused, players):
    code, _, err = ops(*PRUNE, "--yes", "--kubeconfig", players.kubeconfig)
    assert code == 3
    assert f"namespace {players.namespace}: no template in it says whose cluster this is; `pulumi up` makes them" in err
    assert keys(s3) == unused


def with_the_bucket_of_dev(folder, key="name"):
    path = folder / "Pulumi.prod.yaml"
    path.write_text(path.read_text().replace("vllm-eks-prod-models-000000000000", BUCKET))


def test_a_second_stack_with_the_same_bucket_keeps_its_caches(ops, folder, s3, put, later):
    """The stack file that is read is not the only one that is in use."""
    with_the_bucket_of_dev(folder)
    of_prod = in_use(json.loads(ops("cache", "key", "--server", "gemma", "--stack", "prod", "--json")[1]))
    kept = {put(of_prod, b"a"), of_prod.manifest_key}
    (found,) = json.loads(ops("cache", "ls", "--json")[1])
    assert found["usedBy"] == ["prod: gemma"]
    assert ops(*PRUNE, "--offline", "--yes")[:2] == (0, "nothing to remove\n")
    assert keys(s3) == kept


def test_a_stack_file_that_nobody_can_read_may_use_anything(ops, folder, s3, unused):
    (folder / "Pulumi.qa.yaml").write_text("config: {}")
    code, out, err = ops(*PRUNE, "--offline", "--yes")
    assert (code, out) == (1, "")
    assert err == (
        "nothing is removed, its servers may use it: Pulumi.qa.yaml: vllm-eks:settings: missing; copy it from"
        " Pulumi.dev.yaml into this stack's file\n"
    )
    assert keys(s3) == unused
    code, _, err = ops("cache", "ls")
    assert (code, err.split(":")[0]) == (0, "its servers are not looked at")


def test_orphans_need_nobody_to_be_asked(ops, folder, s3, put, later):
    """No manifest names them, so nothing restores them."""
    (folder / "Pulumi.qa.yaml").write_text("config: {}")
    put(UNUSED, b"orphan", named=False)
    assert ops("cache", "prune", "--yes")[0] == 0
    assert keys(s3) == set()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1)])
def test_somebody_who_is_there_is_asked_with_the_list(prune, s3, unused, players, ops, monkeypatch, answer, code):
    monkeypatch.setattr("ops.consent.is_somebody_there", lambda: True)
    found, _, err = ops(*PRUNE, "--kubeconfig", players.kubeconfig, given=answer)
    *_, last = err.removesuffix("nothing was changed\n").splitlines()
    assert (found, last.strip()) == (code, "Go on? [y/N]")
    assert [key for key in unused if key not in err] == []
    assert f"to be removed from {BUCKET}: 0.0 MiB\n" in err
    assert keys(s3) == (unused if code else set())


@pytest.mark.parametrize(
    "arguments",
    [[], ["--engine=e"], [*RESTORE[:3], "--model=../x", RESTORE[4]], ["--", *RESTORE], ["serve", "--model", "x"]],
    ids=["none", "one", "no folder", "the engine's own", "vllm"],
)
def test_arguments_that_name_no_cache_name_none(arguments):
    assert named(arguments) is None


def test_the_engines_own_model_is_not_the_keys():
    assert named([*RESTORE, "--", "vllm", "--model=s3://b/m/"]) == UNUSED


def test_the_restore_of_the_program_names_its_key(folder, ops):
    """Made by the program itself: were its arguments spelled another way, nothing would be found in use."""
    from tests.harness import record_program, stack_settings

    (made,) = [
        it.inputs
        for it in record_program(stack_settings("dev")).all("kubernetes:apps/v1:Deployment")
        if it.inputs["metadata"]["name"] == "gemma"
    ]
    key = json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])
    pod = yaml.safe_load(json.dumps(made["spec"]["template"]["spec"]))
    found = [named(it.get("args") or ()) for it in [*pod["initContainers"], *pod["containers"]]]
    assert [it for it in found if it] == [in_use(key)]
