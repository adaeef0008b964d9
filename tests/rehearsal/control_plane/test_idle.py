"""The Jobs of a schedule before the real API server: what their account may do, and what the program then does."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rehearsal.control_plane.client import Answer, ApiServer, Client
from tests.harness import record_program, stack_settings
from tests.recording import Recording
from tests.rehearsal.control_plane.objects import Body, deployment, namespace
from tests.rehearsal.node_supply.test_pools_admitted import whole
from tests.serving.scripts import program

SPACE = "idle"
IDLE = {"schedule": {"stop": "0 20 * * mon-fri", "start": "30 7 * * mon-fri", "timeZone": "Asia/Seoul"}}
COLLECTIONS = {
    "kubernetes:core/v1:ServiceAccount": f"/api/v1/namespaces/{SPACE}/serviceaccounts",
    "kubernetes:rbac.authorization.k8s.io/v1:Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SPACE}/roles",
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": (
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SPACE}/rolebindings"
    ),
    "kubernetes:batch/v1:CronJob": f"/apis/batch/v1/namespaces/{SPACE}/cronjobs",
    "kubernetes:apps/v1:Deployment": f"/apis/apps/v1/namespaces/{SPACE}/deployments",
}
DEPLOYMENTS = COLLECTIONS["kubernetes:apps/v1:Deployment"]
COMPONENT = "vllm-eks:serving:ScheduledIdle"


@pytest.fixture(scope="module")
def recorded() -> Recording:
    raw = stack_settings("dev")
    raw["namespace"] = SPACE
    raw["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 8
    raw["servers"]["gemma"] |= {"idle": IDLE, "replicas": 2}
    return record_program(raw)


@pytest.fixture(scope="module")
def standing(server: ApiServer, recorded: Recording) -> ApiServer:
    """The server's Deployment, all objects of its schedule, and a Deployment of somebody else."""
    with Client(server) as client:
        assert client.create("/api/v1/namespaces", namespace(SPACE)).ok
        mine = [it for it in recorded.registered if COMPONENT in it.parent]
        for it in (recorded.one("kubernetes:apps/v1:Deployment", "gemma"), *mine):
            answer = client.create(COLLECTIONS[it.kind], whole(it.inputs))
            assert answer.ok, answer.message
            assert answer.warnings == ()
        assert client.create(DEPLOYMENTS, deployment(SPACE, "other")).ok
        assert client.create("/api/v1/namespaces", namespace(f"{SPACE}-else")).ok
        elsewhere = deployment(f"{SPACE}-else", "gemma")
        assert client.create(DEPLOYMENTS.replace(SPACE, f"{SPACE}-else", 1), elsewhere).ok
    return server


@pytest.fixture(scope="module")
def token(standing: ApiServer) -> str:
    """Of the Jobs' account, as kubelet asks for it."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    with Client(standing) as client:
        path = f"{COLLECTIONS['kubernetes:core/v1:ServiceAccount']}/gemma-scaler/token"
        answer = client.create(path, body)
    assert answer.ok, answer.message
    return str(answer.body["status"]["token"])


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(standing: ApiServer, token: str, recorded: Recording, tmp_path: Path) -> Run:
    """`run("stop")`: the program with the arguments of that CronJob, in a process that has what its pod has."""
    (tmp_path / "token").write_text(token)
    (tmp_path / "ca.crt").write_bytes(standing.ca.read_bytes())
    host, port = standing.url.removeprefix("https://").split(":")

    def start(what: str, **changed: str) -> tuple[int, str, str]:
        job = recorded.one("kubernetes:batch/v1:CronJob", f"gemma-{what}").inputs["spec"]["jobTemplate"]
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["python", "-B", "/scripts/scale.py"]
        options = dict(it.removeprefix("--").split("=", 1) for it in container["args"])
        options |= {"credentials": str(tmp_path), **changed}
        command = [sys.executable, program("scale"), *(f"--{key}={value}" for key, value in options.items())]
        env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stdout, done.stderr

    return start


def live(server: ApiServer, name: str = "gemma") -> Body:
    with Client(server) as client:
        return client.get(f"{DEPLOYMENTS}/{name}").body


def test_a_stop_and_a_start_take_the_deployment_to_none_and_to_what_the_stack_file_says(
    standing: ApiServer, run: Run
) -> None:
    before = live(standing)
    with Client(standing) as client:
        assert client.merge(f"{DEPLOYMENTS}/gemma/scale", {"spec": {"replicas": 1}}).ok
    assert run("stop") == (0, f"scale: {SPACE}/gemma from 1 to 0 replicas\n", "")
    assert live(standing)["spec"]["replicas"] == 0
    assert run("stop") == (0, f"scale: {SPACE}/gemma has 0 replicas already\n", "")
    assert run("start") == (0, f"scale: {SPACE}/gemma from 0 to 2 replicas\n", "")
    assert run("start") == (0, f"scale: {SPACE}/gemma has 2 replicas already\n", "")
    after = live(standing)
    assert after["spec"] == {**before["spec"], "replicas": 2}
    assert after["metadata"]["annotations"] == before["metadata"]["annotations"]


def owners(server: ApiServer) -> list[str]:
    fields = live(server)["metadata"]["managedFields"]
    return [it["manager"] for it in fields if "f:replicas" in it["fieldsV1"].get("f:spec", {})]


def test_KED_05_nobody_owns_the_number_of_a_server_that_has_slept(
    standing: ApiServer, run: Run, recorded: Recording
) -> None:
    """A scale of none has no field to own.

    So an apply of the whole Deployment, which is what a schedule that goes is, meets no conflict, also without force.
    """
    run("start")
    run("stop")
    assert owners(standing) == []
    run("start")
    assert owners(standing) == []
    run("stop")
    body = whole(recorded.one("kubernetes:apps/v1:Deployment", "gemma").inputs)
    with Client(standing) as client:
        answer = client.apply(f"{DEPLOYMENTS}/gemma", body, force="false")
    # what else differs is owned by whoever made the object here
    assert "spec.replicas" not in answer.message
    with Client(standing) as client:
        assert client.apply(f"{DEPLOYMENTS}/gemma", body).ok
    assert live(standing)["spec"]["replicas"] == 2


def test_KED_05_a_number_that_was_changed_while_awake_is_the_jobs(standing: ApiServer, run: Run) -> None:
    """Then an apply of another number is a conflict, which `pulumi.com/patchForce` decides for the stack file."""
    with Client(standing) as client:
        assert client.merge(f"{DEPLOYMENTS}/gemma?fieldManager=somebody", {"spec": {"replicas": 1}}).ok
    run("start")
    assert owners(standing) == ["vllm-eks-idle"]


def asked(server: ApiServer, token: str, method: str, path: str, body: Any = None, kind: str = "merge-patch") -> Answer:
    """One request with the account's own token."""
    own = ApiServer(url=server.url, ca=server.ca, token=token, version=server.version, processes=server.processes)
    with Client(own) as client:
        match method:
            case "GET":
                return client.get(path)
            case "POST":
                return client.create(path, body)
            case _:
                return client.merge(path, body)


PODS, SECRETS = f"/api/v1/namespaces/{SPACE}/pods", f"/api/v1/namespaces/{SPACE}/secrets"
ONE = {"spec": {"replicas": 1}}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", DEPLOYMENTS, None),
        ("GET", f"{DEPLOYMENTS}/gemma", None),
        ("PATCH", f"{DEPLOYMENTS}/gemma", ONE),
        ("PATCH", f"{DEPLOYMENTS}/gemma/status", {"status": {}}),
        ("GET", f"{DEPLOYMENTS}/other/scale", None),
        ("PATCH", f"{DEPLOYMENTS}/other/scale", ONE),
        ("PATCH", f"{DEPLOYMENTS.replace(SPACE, f'{SPACE}-else', 1)}/gemma/scale", ONE),
        ("PATCH", f"/apis/apps/v1/namespaces/{SPACE}/statefulsets/gemma/scale", ONE),
        ("GET", PODS, None),
        ("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}),
        ("GET", SECRETS, None),
        ("GET", f"/api/v1/namespaces/{SPACE}/configmaps", None),
        ("GET", COLLECTIONS["kubernetes:batch/v1:CronJob"], None),
        ("POST", f"/api/v1/namespaces/{SPACE}/serviceaccounts/gemma-scaler/token", {"spec": {}}),
        ("GET", "/api/v1/nodes", None),
    ],
    ids=lambda value: value.removeprefix("/") if isinstance(value, str) else "",
)
def test_the_account_may_do_nothing_else(standing: ApiServer, token: str, method: str, path: str, body: Any) -> None:
    answer = asked(standing, token, method, path, body)
    assert answer.status == 403, answer.text
    assert f'User "system:serviceaccount:{SPACE}:gemma-scaler" cannot' in answer.message


def test_the_account_may_read_and_set_that_scale(standing: ApiServer, token: str) -> None:
    path = f"{DEPLOYMENTS}/gemma/scale"
    assert asked(standing, token, "GET", path).ok
    assert asked(standing, token, "PATCH", path, ONE).ok


def test_the_program_is_refused_another_deployment_and_says_so_once(standing: ApiServer, run: Run) -> None:
    code, out, err = run("stop", deployment="other")
    assert (code, out) == (1, "")
    assert err == (
        f'scale: {SPACE}/other: 403, deployments.apps "other" is forbidden: User'
        f' "system:serviceaccount:{SPACE}:gemma-scaler" cannot get resource "deployments/scale" in API group "apps"'
        f' in the namespace "{SPACE}"\n'
    )
    assert live(standing, "other")["spec"]["replicas"] == 1


def test_a_token_of_nobody_is_tried_again_and_told_as_unknown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("nobody")
    code, _, err = run("stop", patience="0")
    assert (code, err) == (
        3,
        f"scale: could not tell: {SPACE}/gemma: 401, Unauthorized (given up after 0 s of patience)\n",
    )


@pytest.mark.parametrize("zone", ["Asia/Seoul", "America/Argentina/Buenos_Aires", "Etc/GMT+9", "UTC"])
def test_the_api_server_knows_the_zones_that_the_stack_file_takes(
    standing: ApiServer, recorded: Recording, zone: str
) -> None:
    body = json.loads(json.dumps(whole(recorded.one("kubernetes:batch/v1:CronJob", "gemma-stop").inputs)))
    body["metadata"]["name"] = "zone"
    body["spec"]["timeZone"] = zone
    with Client(standing) as client:
        answer = client.create(COLLECTIONS["kubernetes:batch/v1:CronJob"], body, dryRun="All")
    assert answer.ok, answer.message
