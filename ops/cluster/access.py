"""How the stack's cluster is found: EKS says where it is, the AWS CLI who you are. Or a kubeconfig says both."""

import shutil
from pathlib import Path
from typing import Any

from kubernetes import config

from ops import aws
from ops.cluster.api import Cluster, Said
from ops.cluster.kubeconfig import client_of
from ops.failures import RefusedError, UnclearError
from ops.stack.stack_file import Stack

CLI = "aws"


def connected(stack: Stack, kubeconfig: Path | None) -> Cluster:
    """Return the stack's cluster.

    Args:
        stack: names it.
        kubeconfig: a file whose current context is it, instead.

    Raises:
        RefusedError: there is no such cluster, or it is in another account than the stack's.
        UnclearError: nobody says where it is or who asks.
        UsageError: the file is no kubeconfig.
    """
    said = Said.listening()
    if kubeconfig is None:
        client = config.new_client_from_config_dict(_of_eks(stack), persist_config=False)
    else:
        client = client_of(kubeconfig)
    return Cluster(client, client.configuration.host, said)


def _of_eks(stack: Stack) -> dict[str, Any]:
    name, account = stack.settings.name, stack.settings.account.id
    with aws.answering(f"cluster {name} in {stack.region}"):
        found = aws.client("eks", stack.region).describe_cluster(name=name)["cluster"]
    owner = found["arn"].split(":")[4]
    if owner != account:
        raise RefusedError(
            f"account.id: the stack file names {account}, and your credentials see a cluster {name} of {owner};"
            " nothing is done in another account"
        )
    if not found.get("endpoint"):
        raise UnclearError(f"cluster {name} in {stack.region}: {found['status']}, it has no endpoint yet")
    if shutil.which(CLI) is None:
        raise UnclearError(f"{CLI} is not on PATH: the AWS CLI makes the tokens that the cluster takes")
    return kubeconfig_of(name, stack.region, found["endpoint"], found["certificateAuthority"]["data"])


def kubeconfig_of(name: str, region: str, endpoint: str, authority: str) -> dict[str, Any]:
    """Return a kubeconfig without credentials, as the stack's own: it runs `aws eks get-token`."""
    command = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": CLI,
        "args": ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"],
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [
            {"name": name, "cluster": {"server": endpoint, "certificate-authority-data": authority}},
        ],
        "users": [{"name": name, "user": {"exec": command}}],
    }
