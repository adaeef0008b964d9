"""The kubeconfig that `eks.Cluster` hands out: a token from the AWS CLI at each use."""

from __future__ import annotations

from rehearsal.providers.values import UNKNOWN, Properties


def kubeconfig(cluster: Properties) -> Properties:
    """The kubeconfig of an EKS cluster from its outputs; unknown where they are unknown.

    Shape as `generateKubeconfig` of pulumi-eks makes it without credential options.
    """
    arn = str(cluster.get("arn", UNKNOWN))
    region = UNKNOWN if arn == UNKNOWN else arn.split(":")[3]
    name = str(cluster.get("name", UNKNOWN))
    authority = cluster.get("certificateAuthority", {}).get("data", UNKNOWN)
    return {
        "apiVersion": "v1",
        "clusters": [
            {
                "cluster": {
                    "server": cluster.get("endpoint", UNKNOWN),
                    "certificate-authority-data": authority,
                },
                "name": "kubernetes",
            }
        ],
        "contexts": [{"context": {"cluster": "kubernetes", "user": "aws"}, "name": "aws"}],
        "current-context": "aws",
        "kind": "Config",
        "users": [
            {
                "name": "aws",
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1beta1",
                        "command": "aws",
                        "args": [
                            "--region",
                            region,
                            "eks",
                            "get-token",
                            "--cluster-name",
                            name,
                            "--output",
                            "json",
                        ],
                        "env": [
                            {"name": "KUBERNETES_EXEC_INFO", "value": _exec_info()},
                        ],
                    }
                },
            }
        ],
    }


def _exec_info() -> str:
    return '{"apiVersion": "client.authentication.k8s.io/v1beta1"}'
