"""The Job that copies a model from Hugging Face into the bucket. Pure: no component makes it yet.

It runs on a system node: the network is the work, and a GPU node would cost more than the copy.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from infra.cluster.system_nodes import SYSTEM_LABEL
from infra.naming import shortened
from serving.model import ModelUri

IMAGE = "public.ecr.aws/docker/library/python:3.13.11-slim-trixie"
"""Upstream; nodes pull what the image cache makes of it.

The scripts import the standard library alone, so the engine's image (some 10 GB to pull and unpack) has nothing to
add; this one is small and brings the certificates of authorities (its Dockerfile installs them).
"""

SCRIPTS = "/scripts"
CONTAINER = "onboard"
JOB_NAME_LIMIT = 63

TOKEN_KEY = "token"  # noqa: S105 - the key's name in the Secret
USER = 65532
"""Anyone but root: nothing is read that belongs to somebody."""

FAILED_CHECK, USAGE = 1, 2

Manifest = Any


@dataclass(frozen=True, kw_only=True)
class Onboarding:
    """What is copied where."""

    repository: str
    commit: str
    uri: ModelUri
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    allow_pickle: bool = False

    @property
    def job_name(self) -> str:
        """One name for one folder: Kubernetes refuses a second Job that would write into it."""
        place = f"s3://{self.uri.bucket}/{self.uri.prefix}"
        digest = hashlib.sha256(place.encode()).hexdigest()[:8]
        model = re.sub(r"[^a-z0-9]+", "-", self.uri.prefix.split("/")[1].lower())
        return f"{shortened(f'onboard-{model}', JOB_NAME_LIMIT - len(digest) - 1)}-{digest}"

    @property
    def arguments(self) -> list[str]:
        """The program's command line. `--x=y`, so that no value is taken for an option."""
        return [
            f"--repository={self.repository}",
            f"--revision={self.commit}",
            f"--to=s3://{self.uri.bucket}/{self.uri.prefix}",
            *(f"--include={glob}" for glob in self.include),
            *(f"--exclude={glob}" for glob in self.exclude),
            *(["--allow-pickle"] if self.allow_pickle else []),
        ]


def job(
    onboarding: Onboarding,
    *,
    image: str,
    region: str,
    namespace: pulumi.Input[str],
    service_account: pulumi.Input[str],
    scripts: pulumi.Input[str],
    token_secret: pulumi.Input[str] | None = None,
) -> Manifest:
    """Return the Job.

    Args:
        onboarding: what is copied where.
        image: `IMAGE`, as nodes pull it.
        region: of the bucket and the cluster.
        namespace: of the onboarding identity's association.
        service_account: the onboarding identity's.
        scripts: name of a ConfigMap with `programs.files("onboard")`.
        token_secret: name of a Secret whose key `token` opens gated repositories.
    """
    labels = {"app.kubernetes.io/name": "onboard", "app.kubernetes.io/component": "weights"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": onboarding.job_name, "namespace": namespace, "labels": labels},
        "spec": {
            "completions": 1,
            "parallelism": 1,
            # a lost node, a silent hub: each attempt keeps what the ones before it have stored
            "backoffLimit": 6,
            "podFailurePolicy": {
                "rules": [
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                    # a failed check fails again: the missing shard does not come back, nor does the wrong argument
                    {
                        "action": "FailJob",
                        "onExitCodes": {
                            "containerName": CONTAINER,
                            "operator": "In",
                            "values": [FAILED_CHECK, USAGE],
                        },
                    },
                ]
            },
            # never two at once: each would drop the other's unfinished uploads
            "podReplacementPolicy": "Failed",
            "activeDeadlineSeconds": 6 * 3600,
            # a day to read the log
            "ttlSecondsAfterFinished": 24 * 3600,
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "restartPolicy": "Never",
                    "serviceAccountName": service_account,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "nodeSelector": {SYSTEM_LABEL: "true"},
                    # the program ends at once: what it has stored stays, what it has begun is dropped by the next
                    "terminationGracePeriodSeconds": 5,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "runAsUser": USER,
                        "runAsGroup": USER,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [_container(onboarding, image, region, token_secret)],
                    "volumes": [{"name": "scripts", "configMap": {"name": scripts}}],
                },
            },
        },
    }


def _container(onboarding: Onboarding, image: str, region: str, token_secret: pulumi.Input[str] | None) -> Manifest:
    token = {"secretKeyRef": {"name": token_secret, "key": TOKEN_KEY}}
    return {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        # -B: the folder is read-only
        "command": ["python", "-B", f"{SCRIPTS}/onboard.py"],
        "args": onboarding.arguments,
        "env": [
            {"name": "AWS_REGION", "value": region},
            *([{"name": "HF_TOKEN", "valueFrom": token}] if token_secret is not None else []),
        ],
        "resources": {
            # memory: 20 parts of 16 MiB, the interpreter and 16 connections; disk: the log, and nothing else
            "requests": {"cpu": "1", "memory": "512Mi", "ephemeral-storage": "64Mi"},
            "limits": {"memory": "768Mi", "ephemeral-storage": "128Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "scripts", "mountPath": SCRIPTS, "readOnly": True}],
    }
