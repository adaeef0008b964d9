"""A client of one vLLM server: asks it something every minute, and is ready as long as it is answered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret, ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy

import route
from images import cached
from model_reader import TOKENIZER
from needs import Needs
from outputs import Platform

PYTHON = "public.ecr.aws/docker/library/python:3.13.11-slim-trixie"
AWS_CLI = "public.ecr.aws/aws-cli/aws-cli:2.36.44"
NOBODY = 65534
PROGRAM = Path(__file__).with_name("chat.py")
QUESTION = "What is a cold start, in one sentence?"

PATIENCE = 3600
"""Seconds for the first answer: the server may have to start first, on a node that is not there yet, and its own
`progressDeadlineSeconds` is below that."""

_LOCKED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


@dataclass(frozen=True, kw_only=True)
class ClientArgs:
    """The platform, and what is the application's own."""

    platform: pulumi.Output[Platform]
    needs: pulumi.Output[Needs]
    namespace: str
    service_account: pulumi.Input[str]
    """With an identity in AWS: pods come after it."""
    token: pulumi.Output[str] | None


class Client(pulumi.ComponentResource):
    """A namespace, its network policy and a Deployment that PodSecurity's `restricted` admits."""

    def __init__(self, name: str, args: ClientArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("app-team:index:Client", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        labels = {"app.kubernetes.io/name": name}

        namespace = Namespace(
            name,
            metadata={"name": args.namespace, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
            opts=child,
        )
        place = {"namespace": namespace.metadata.name}
        walls: pulumi.Output[Any] = args.needs.apply(route.policy)
        policy = NetworkPolicy(name, metadata=place, spec=walls, opts=child)
        account = ServiceAccount(
            name,
            metadata={**place, "name": args.service_account},
            automount_service_account_token=False,
            opts=child,
        )
        program = ConfigMap(
            name,
            metadata=place,
            # another text gets another name, so that pods are rolled
            immutable=True,
            data={PROGRAM.name: PROGRAM.read_text(encoding="utf-8")},
            opts=child,
        )
        secret = None
        if args.token is not None:
            secret = Secret(
                name,
                metadata=place,
                string_data={"token": args.token},
                opts=pulumi.ResourceOptions(parent=self, additional_secret_outputs=["data", "stringData"]),
            )
        Deployment(
            name,
            metadata={**place, "labels": labels},
            spec={
                "replicas": 1,
                "selector": {"match_labels": labels},
                "progress_deadline_seconds": PATIENCE,
                "template": {
                    "metadata": {"labels": labels},
                    "spec": pulumi.Output.all(
                        platform=args.platform,
                        needs=args.needs,
                        account=account.metadata.name,
                        program=program.metadata.name,
                        secret=secret.metadata.name if secret else None,
                    ).apply(lambda known: pod(**known)),
                },
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                # a pod that starts before the policy is there has no policy for a moment
                depends_on=[policy],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{PATIENCE + 300}s", update=f"{PATIENCE + 300}s"),
            ),
        )
        self.register_outputs({})


def pod(platform: Platform, needs: Needs, account: str, program: str, secret: str | None) -> dict[str, Any]:
    """Return the spec of the client's pods.

    Args:
        platform: whose cache images come through, and whose region it is.
        needs: the server, and where its tokenizer lies.
        account: name of the service account.
        program: name of the ConfigMap.
        secret: name of the Secret with the token; None without one.
    """
    env = {
        "OPENAI_BASE_URL": needs.url,
        "MODEL": needs.model,
        "QUESTION": QUESTION,
        "TOKENIZER": f"/model/{TOKENIZER}",
        **({"TOKEN_FILE": "/token/token"} if secret else {}),
    }
    volumes: dict[str, dict[str, Any]] = {
        "model": {"emptyDir": {"sizeLimit": "256Mi"}},
        "scratch": {"emptyDir": {"sizeLimit": "16Mi"}},
        "program": {"configMap": {"name": program}},
        **({"token": {"secret": {"secretName": secret}}} if secret else {}),
    }
    return {
        "serviceAccountName": account,
        # Pod Identity projects a token of its own; the Kubernetes API is for none of them
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "fsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [
            {
                "name": "tokenizer",
                "image": cached(AWS_CLI, platform.image_prefixes),
                "args": [
                    "s3",
                    "cp",
                    f"s3://{needs.bucket}/{needs.model_prefix}{TOKENIZER}",
                    "/model/",
                    "--no-progress",
                ],
                "env": [
                    {"name": "AWS_REGION", "value": platform.region},
                    {"name": "AWS_EC2_METADATA_DISABLED", "value": "true"},
                ],
                "volumeMounts": [
                    {"name": "model", "mountPath": "/model"},
                    {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - the pod's own volume
                ],
                "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
                "securityContext": _LOCKED,
            }
        ],
        "containers": [
            {
                "name": "client",
                "image": cached(PYTHON, platform.image_prefixes),
                # -B: the folder is read-only
                "command": ["python", "-B", f"/app/{PROGRAM.name}"],
                "env": [{"name": name, "value": value} for name, value in env.items()],
                # of a real answer: a client whose server is gone takes no traffic
                "readinessProbe": {
                    "exec": {"command": ["python", "-B", f"/app/{PROGRAM.name}", "--ready"]},
                    "periodSeconds": 10,
                    "timeoutSeconds": 5,
                },
                "volumeMounts": [
                    {"name": "program", "mountPath": "/app", "readOnly": True},
                    {"name": "model", "mountPath": "/model", "readOnly": True},
                    {"name": "scratch", "mountPath": "/tmp"},  # noqa: S108 - the pod's own volume
                    *([{"name": "token", "mountPath": "/token", "readOnly": True}] if secret else []),
                ],
                "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "256Mi"}},
                "securityContext": _LOCKED,
            }
        ],
        "volumes": [{"name": name, **source} for name, source in volumes.items()],
    }
