"""How the cluster is found, and every way in which it is not."""

import base64
import json
import stat

import pytest
import yaml

from ops import aws
from ops.cluster.access import kubeconfig_of
from rehearsal.control_plane.server import free_ports

MOTO = "123456789012"
"""The account of everything in moto."""


@pytest.fixture
def eks(aws, edit):
    """A cluster of the dev stack's name in EKS; `eks(account)`: the account in the stack file."""

    def make(account=MOTO):
        edit(lambda settings: settings["account"].update(id=account, deployer=f"arn:aws:iam::{account}:role/x"))
        client = aws("eks")
        network = {"subnetIds": ["subnet-1", "subnet-2"]}
        role = f"arn:aws:iam::{MOTO}:role/x"
        return client.create_cluster(name="inference-dev", roleArn=role, resourcesVpcConfig=network)["cluster"]

    return make


@pytest.fixture
def cli(folder, monkeypatch):
    """`cli(script)`: the only program on PATH is an AWS CLI that does this."""

    def make(script):
        path = folder / "bin" / "aws"
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(path.parent))

    return make


BUILD = ("cache", "build", "--server", "gemma")


def test_the_token_comes_from_the_aws_cli_for_this_very_cluster(ops, players, cli, monkeypatch):
    """The whole way but EKS: endpoint and authority as it tells them, the token from the plugin."""
    token = json.dumps(
        {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "kind": "ExecCredential",
            "status": {"token": players.api.token},
        }
    )
    cli(
        f"test \"$*\" = '--region us-west-2 eks get-token --cluster-name inference-dev --output json' && echo '{token}'"
    )
    authority = base64.b64encode(players.api.ca.read_bytes()).decode()
    monkeypatch.setattr(
        "ops.cluster.access._of_eks",
        lambda stack: kubeconfig_of(stack.settings.name, stack.region, players.api.url, authority),
    )
    code, _, err = ops(*BUILD)
    assert (code, err.split(":")[0]) == (1, f"CronJob {players.namespace}/gemma-cache-build")


def test_a_cli_without_credentials_says_so_in_one_line(ops, players, cli, monkeypatch):
    """The client logs why it has no token, and asks without one: a 401 alone would tell nothing."""
    cli("echo 'Unable to locate credentials' >&2; exit 255")
    authority = base64.b64encode(players.api.ca.read_bytes()).decode()
    monkeypatch.setattr(
        "ops.cluster.access._of_eks", lambda stack: kubeconfig_of("c", stack.region, players.api.url, authority)
    )
    assert ops(*BUILD) == (
        3,
        "",
        f"{players.api.url} does not know you: exec: process returned 255. Unable to locate credentials\n",
    )


def test_a_cluster_of_another_account_is_never_touched(ops, eks):
    eks("999988887777")
    assert ops(*BUILD) == (
        1,
        "",
        "account.id: the stack file names 999988887777, and your credentials see a cluster inference-dev of"
        f" {MOTO}; nothing is done in another account\n",
    )


def test_without_the_aws_cli_nobody_makes_tokens(ops, eks, monkeypatch):
    eks()
    monkeypatch.setenv("PATH", "")
    assert ops(*BUILD) == (3, "", "aws is not on PATH: the AWS CLI makes the tokens that the cluster takes\n")


def test_endpoint_and_authority_are_those_that_eks_tells(folder, eks):
    from ops.cluster.access import _of_eks
    from ops.stack.stack_file import read

    made = eks()
    (found,) = _of_eks(read("dev"))["clusters"]
    assert found["cluster"] == {
        "server": made["endpoint"],
        "certificate-authority-data": made["certificateAuthority"]["data"],
    }


def test_a_cluster_that_is_not_there_is_a_failed_check(ops, aws):
    code, out, err = ops(*BUILD)
    assert (code, out) == (1, "")
    assert err == (
        "cluster inference-dev in us-west-2: AWS answers ResourceNotFoundException: No cluster found for name:"
        " inference-dev.\n"
    )


def test_an_endpoint_that_nobody_answers_is_unclear(ops, players, folder):
    config = players.api.kubeconfig()
    (port,) = free_ports(1)
    config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    (folder / "dead").write_text(yaml.safe_dump(config))
    code, out, err = ops(*BUILD, "--kubeconfig", "dead")
    assert (code, out) == (3, "")
    assert err == (
        f"https://127.0.0.1:{port} does not answer: Failed to establish a new connection: [Errno 111] Connection"
        " refused\n"
    )


def test_whoever_may_not_is_told_what(ops, players, folder):
    """A ServiceAccount's token is known and has no rights: 403, which another identity would not get."""
    token = players.create(
        f"/api/v1/namespaces/{players.namespace}/serviceaccounts/default/token",
        "authentication.k8s.io/v1",
        "TokenRequest",
        "default",
        {"spec": {"audiences": []}},
    )["status"]["token"]
    config = players.api.kubeconfig()
    config["users"][0]["user"]["token"] = token
    (folder / "nobody").write_text(yaml.safe_dump(config))
    code, out, err = ops(*BUILD, "--kubeconfig", "nobody")
    assert (code, out) == (3, "")
    assert err.startswith(
        f'{players.api.url} answers 403: cronjobs.batch "gemma-cache-build" is forbidden: User'
        f' "system:serviceaccount:{players.namespace}:default" cannot get resource "cronjobs"'
    )


def test_credentials_are_looked_for_once_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role with MFA would else ask for a code for each service."""
    made: list[object] = []

    class Session:
        def __init__(self) -> None:
            made.append(self)

        def client(self, service: str, **_: object) -> str:
            return service

    monkeypatch.setattr(aws, "Session", Session)
    assert [aws.client(service, "us-west-2") for service in ("eks", "s3", "ec2")] == ["eks", "s3", "ec2"]
    assert len(made) == 1
