"""The program of a schedule, as a process of its own: one number is set, or the exit code says why not."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import termination
from tests.serving.scripts import program
from tests.serving.scripts.scale.api import TOKEN, Api, Fault, certificate, status


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    made = Api(tmp_path / "server")
    yield made
    made.close()


@pytest.fixture
def credentials(api: Api, tmp_path: Path) -> Path:
    folder = tmp_path / "credentials"
    folder.mkdir()
    (folder / "token").write_text(f"{TOKEN}\n")
    (folder / "ca.crt").write_bytes(api.authority.read_bytes())
    return folder


@pytest.fixture
def message(tmp_path: Path) -> Path:
    path = tmp_path / "termination-log"
    path.touch()
    return path


class Run:
    def __init__(self, api: Api, credentials: Path, message: Path) -> None:
        self.env = {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(api.port),
            termination.VARIABLE: str(message),
        }
        self.given = {"namespace": "inference", "deployment": "gemma", "credentials": str(credentials), "patience": "0"}

    def __call__(self, replicas: object, **changed: str) -> tuple[int, str, str]:
        options = {**self.given, **changed, "replicas": str(replicas)}
        command = [sys.executable, program("scale"), *(f"--{key}={value}" for key, value in options.items())]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=60)
        assert TOKEN not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def scale(api: Api, credentials: Path, message: Path) -> Run:
    return Run(api, credentials, message)


@pytest.mark.parametrize(("before", "after"), [(1, 0), (0, 3), (3, 1)])
def test_the_number_is_set_and_one_line_says_so(api: Api, scale: Run, message: Path, before: int, after: int) -> None:
    api.replicas = before
    assert scale(after) == (0, f"scale: inference/gemma from {before} to {after} replicas\n", "")
    assert api.replicas == after
    assert message.read_text() == f"scale: inference/gemma from {before} to {after} replicas"
    (_, _, headers, _), (method, query, _, body) = api.requests
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert (method, query) == ("PATCH", "fieldManager=vllm-eks-idle")
    assert json.loads(body) == {"spec": {"replicas": after}}
    assert api.requests[1][2]["Content-Type"] == "application/merge-patch+json"


@pytest.mark.parametrize("count", [0, 2])
def test_a_number_that_is_there_already_is_not_written_again(api: Api, scale: Run, count: int) -> None:
    api.replicas = count
    assert scale(count) == (0, f"scale: inference/gemma has {count} replicas already\n", "")
    assert [method for method, *_ in api.requests] == ["GET"]


@pytest.mark.parametrize(
    "fault",
    [
        status(409, "the object has been modified"),
        (429, {"message": "too many requests"}),
        (500, {"message": "etcd is slow"}),
        (507, b"?"),
        (503, b""),
        (200, b"<html>"),
        (200, {"kind": "Scale"}),
        (200, {"spec": {"replicas": "1"}}),
    ],
    ids=["conflict", "busy", "error", "unknown", "unavailable", "no json", "no scale", "no number"],
)
@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_what_passes_is_tried_again(api: Api, scale: Run, method: str, fault: Fault) -> None:
    left = [fault, fault]
    api.fault = lambda _count, asked: left.pop() if left and asked == method else None
    assert scale(0, patience="60")[0] == 0
    assert left == []
    assert api.replicas == 0


def test_what_does_not_pass_in_time_is_told_as_unknown(api: Api, scale: Run, message: Path) -> None:
    api.fault = lambda _count, _method: status(409, "the object\nhas been modified")
    line = "scale: could not tell: inference/gemma: 409, the object has been modified (given up after 0 s of patience)"
    assert scale(0) == (3, "", f"{line}\n")
    assert message.read_text() == line


def test_an_old_number_in_the_answer_to_a_change_is_no_success(api: Api, scale: Run) -> None:
    api.fault = lambda _count, method: (200, {"spec": {"replicas": 1}}) if method == "PATCH" else None
    assert scale(0) == (
        3,
        "",
        "scale: could not tell: inference/gemma: the answer to a change is the old number (given up after 0 s of"
        " patience)\n",
    )


def test_a_token_that_kubelet_renews_is_read_again(api: Api, scale: Run, credentials: Path) -> None:
    api.token = "renewed"  # noqa: S105 - made up

    def renew(_count: int, _method: str) -> Fault:
        (credentials / "token").write_text("renewed")
        return None

    api.fault = renew
    assert scale(0, patience="60")[0] == 0
    assert [headers["Authorization"] for _, _, headers, _ in api.requests][:2] == [f"Bearer {TOKEN}", "Bearer renewed"]


@pytest.mark.parametrize(
    "refusal",
    [
        status(403, 'deployments.apps "gemma" is forbidden: User "x" cannot patch resource "deployments/scale"'),
        status(404, 'deployments.apps "gemma" not found'),
        status(422, "spec.replicas: Invalid value"),
    ],
    ids=["forbidden", "not there", "invalid"],
)
def test_a_refusal_is_final_and_told_in_the_servers_words(api: Api, scale: Run, refusal: Fault) -> None:
    assert refusal is not None
    assert isinstance(refusal[1], dict)
    api.fault = lambda _count, _method: refusal
    said = f"scale: inference/gemma: {refusal[0]}, {refusal[1]['message']}\n"
    assert scale(0, patience="60") == (1, "", said)
    assert len(api.requests) == 1


def test_a_server_of_another_authority_gets_no_token(api: Api, scale: Run, credentials: Path, tmp_path: Path) -> None:
    (credentials / "ca.crt").write_bytes(certificate(tmp_path / "other").read_bytes())
    code, out, err = scale(0)
    assert (code, out) == (3, "")
    # the reason is in OpenSSL's own words
    said = f"scale: could not tell: 127.0.0.1:{api.port}: its certificate is not trusted: "
    assert (err.startswith(said), len(err.splitlines())) == (True, 1)
    assert api.requests == []


def test_a_server_that_is_away_is_told_as_unknown(api: Api, scale: Run) -> None:
    api.close()
    assert scale(0) == (
        3,
        "",
        f"scale: could not tell: 127.0.0.1:{api.port}: connection refused (given up after 0 s of patience)\n",
    )


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_without_its_credentials_nothing_is_told(scale: Run, api: Api, credentials: Path, name: str) -> None:
    (credentials / name).unlink()
    code, _, err = scale(0)
    assert code == 3
    assert err.startswith("scale: could not tell: ")
    assert len(err.splitlines()) == 1
    assert api.requests == []


def test_outside_of_a_pod_it_says_so(scale: Run) -> None:
    scale.env = {}
    line = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod"
    assert scale(0) == (3, "", f"scale: could not tell: {line}\n")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"replicas": "-1"}, "argument --replicas: -1 is not between 0 and 1000"),
        ({"replicas": "many"}, "argument --replicas: invalid number value: 'many'"),
        ({"deployment": "a/b"}, "argument --deployment: a/b is no name of an object"),
        ({"namespace": "../x"}, "argument --namespace: ../x is no name of an object"),
    ],
)
def test_a_wrong_command_line_is_usage(api: Api, scale: Run, changed: dict[str, str], said: str) -> None:
    code, out, err = scale(**{"replicas": "0", **changed})
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == f"scale.py: error: {said}"
    assert api.requests == []


def test_an_address_of_ipv6_is_an_address(scale: Run) -> None:
    """EKS clusters may have it."""
    scale.env |= {"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "1"}
    code, _, err = scale(0)
    assert code == 3
    assert "[::1]:1: " in err
