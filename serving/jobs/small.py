"""The pod of a Job that has no use for a GPU or for the engine's image: small, on a system node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from infra.cluster.system_nodes import SYSTEM_LABEL
from serving import programs
from serving.pod import Manifest
from serving.pod.template import isolated, named
from serving.programs import Program

IMAGE = "public.ecr.aws/docker/library/python:3.13.11-slim-trixie"
"""Upstream; nodes pull what the image cache makes of it.

The programs import the standard library alone, so the engine's image (some 10 GB to pull and unpack) has nothing to
add; this one is small and brings the certificates of authorities (its Dockerfile installs them).
"""

USER = 65532
"""Anyone but root: nothing is read that belongs to somebody."""


@dataclass(frozen=True, kw_only=True)
class SmallPod:
    """What one of these pods has of its own."""

    container: str
    """Name of its container."""
    image: str
    """`IMAGE`, as nodes pull it."""
    program: Program
    config_map: pulumi.Input[str]
    """Of the program."""
    service_account: pulumi.Input[str]
    resources: Manifest
    args: Sequence[pulumi.Input[str]] = ()
    env: Sequence[Manifest] = ()
    volumes: Mapping[str, Manifest] = field(default_factory=dict)
    """Beside the program's, by name."""
    mounts: Mapping[str, Manifest] = field(default_factory=dict)
    """Of those, by name."""


def small_pod(pod: SmallPod) -> Manifest:
    """Return the spec of the pod of a Job."""
    return {
        "restartPolicy": "Never",
        **isolated(pod.service_account, USER),
        "nodeSelector": {SYSTEM_LABEL: "true"},
        # the programs end at once: what is done stays, what has begun is dropped by the next attempt
        "terminationGracePeriodSeconds": 5,
        "containers": [
            {
                "name": pod.container,
                "image": pod.image,
                "imagePullPolicy": "IfNotPresent",
                # -B: the folder is read-only
                "command": ["python", "-B", programs.path(pod.program)],
                **({"args": list(pod.args)} if pod.args else {}),
                **({"env": list(pod.env)} if pod.env else {}),
                "resources": pod.resources,
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                },
                "volumeMounts": named({**programs.MOUNT, **pod.mounts}),
            }
        ],
        "volumes": named({**programs.volume(pod.config_map), **pod.volumes}),
    }
