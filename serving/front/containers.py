"""The two sidecars of an engine behind the front proxy, and what the engine's own container gets of them.

Plain dicts, as the API spells them. Both are native sidecars: they are there before the engine starts, and get SIGTERM
when it has ended. Their startup probes ask only about themselves, because the engine starts after them.
"""

from collections.abc import Mapping
from typing import Any

import pulumi

from serving.engine import PORT
from serving.front import (
    AGENT_FOLDER,
    ALIVE_PATH,
    AWAKE_LABEL,
    CONFIG_FOLDER,
    CONTROL_PORT,
    ENGINE_PORT,
    FOLDER,
    GATE_PORT,
    LOOPBACK,
    READY_PATH,
    TOKENS_FILE,
    TOKENS_FOLDER,
    USER,
    VERDICT,
    WANTED_ANNOTATION,
)
from serving.front.nginx import Addresses
from serving.front.settings import SleepSettings
from serving.pod.probes import READY_SECONDS, readiness
from serving.programs import Program

PROXY, AGENT = "proxy", "agent"
"""Names of the containers."""

CONFIG, SCRATCH, TOKENS = "front-config", "front", "front-tokens"
STATE, PROGRAMS, API_TOKEN = "agent", "front-programs", "agent-token"
"""Names of the volumes."""

PROGRAMS_FOLDER = "/front-scripts"
"""Not that of `serving.programs`: a server without a proxy has nothing of what changes here."""

API_FOLDER = "/run/agent-token"
AGENT_USER = 65532
"""Anyone but root: what it reads is everybody's, and it writes one folder."""

AGENT_SECONDS = 6
"""For which the agent may not say whether the pod is ready: it answers at once. What it says of the engine has had its
patience, so the pod of an engine that hangs is not ready 3 to 15 s after `READY_SECONDS`."""

READINESS_PERIOD = 1
"""Seconds: half of it, on average, is added to a start. The question costs nginx and the agent 0.1 ms."""

Manifest = dict[str, Any]

PROXY_CPU, PROXY_MEMORY, PROXY_MOST = 100, 64, 512
AGENT_CPU, AGENT_MEMORY, AGENT_MOST = 50, 64, 256
"""Requests in millicores and MiB, and the limit of memory: of nginx 128 KiB of body and 32 KiB of answer for each of a
thousand requests, twice. No limit of CPU: a throttled gate is a slower first token."""


def addresses(*, sleeps: bool, tokens: bool) -> Addresses:
    """Return where everything is in the pod."""
    return Addresses(
        listen=str(PORT),
        engine=f"{LOOPBACK}:{ENGINE_PORT}",
        gate=f"{LOOPBACK}:{GATE_PORT}" if sleeps else None,
        tokens=TOKENS_FILE if tokens else None,
        folder=FOLDER,
    )


def program(name: Program, *arguments: object) -> list[str]:
    """Return the command of a program. Without site-packages (-S) it starts in 30 ms; the folder is read-only (-B)."""
    return ["python3", "-S", "-B", f"{PROGRAMS_FOLDER}/{name}.py", *map(str, arguments)]


def proxy_container(image: str, *, sleeps: bool, tokens: bool) -> Manifest:
    """Return nginx, which has the port that the Service knows.

    Args:
        image: `serving.front.IMAGE`, as nodes pull it.
        sleeps: there is an agent: it says for the pod whether it is ready. Else the engine's health does.
        tokens: a Secret with tokens is mounted.
    """
    files = [f"{CONFIG_FOLDER}/nginx.conf", FOLDER, *([TOKENS_FILE] if tokens else [])]
    mounts = [
        {"name": CONFIG, "mountPath": CONFIG_FOLDER, "readOnly": True},
        {"name": SCRATCH, "mountPath": FOLDER},
        *([{"name": TOKENS, "mountPath": TOKENS_FOLDER, "readOnly": True}] if tokens else []),
    ]
    itself = {"httpGet": {"path": ALIVE_PATH, "port": "http"}}
    # not over the port: clients that use all connections up would have the running streams cut
    alive = {"exec": {"command": ["sh", "-c", f'kill -0 "$(cat {FOLDER}/nginx.pid)"']}}
    served = {"httpGet": {"path": READY_PATH if sleeps else "/health", "port": "http"}}
    return {
        "image": image,
        "command": ["sh", f"{CONFIG_FOLDER}/entry.sh", *files],
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "startupProbe": {**itself, **_each(1, 60)},
        "livenessProbe": {**alive, **_each(10, 6)},
        "readinessProbe": {**served, **readiness(READINESS_PERIOD, AGENT_SECONDS if sleeps else READY_SECONDS)},
        "resources": _resources(PROXY_CPU, PROXY_MEMORY, PROXY_MOST),
        "securityContext": _confined(USER),
        "volumeMounts": mounts,
    }


def agent_container(settings: SleepSettings) -> Manifest:
    """Return the agent. It names no image: it runs on the engine's own, whose Python it needs and nothing else."""
    external = settings.wake == "external"
    alive = {"exec": {"command": program("agent_alive", CONTROL_PORT)}}
    arguments = [
        *(f"--engine={ENGINE_PORT}", f"--gate={GATE_PORT}", f"--control={CONTROL_PORT}", f"--folder={AGENT_FOLDER}"),
        *(f"--verdict={VERDICT}", f"--silent={READY_SECONDS}"),
        *(f"--wake={settings.wake}", f"--hold={settings.hold_seconds}", f"--drain={settings.drain_seconds}"),
    ]
    if external:
        arguments += [f"--credentials={API_FOLDER}", f"--annotation={WANTED_ANNOTATION}", f"--label={AWAKE_LABEL}"]
    else:
        arguments += [f"--idle={settings.idle_seconds}"]
    return {
        "command": program("agent"),
        "args": arguments,
        "env": [
            # the image's own environment asks for all GPUs, and the node's runtime would give them
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
            *([_of_the_pod("POD_NAME", "name"), _of_the_pod("POD_NAMESPACE", "namespace")] if external else []),
        ],
        "startupProbe": {**alive, **_each(1, 60)},
        "livenessProbe": {**alive, **_each(10, 6)},
        "resources": _resources(AGENT_CPU, AGENT_MEMORY, AGENT_MOST),
        "securityContext": _confined(AGENT_USER),
        "volumeMounts": [
            {"name": STATE, "mountPath": AGENT_FOLDER},
            {"name": PROGRAMS, "mountPath": PROGRAMS_FOLDER, "readOnly": True},
            *([{"name": API_TOKEN, "mountPath": API_FOLDER, "readOnly": True}] if external else []),
        ],
    }


def engine_mounts(*, sleeps: bool) -> Mapping[str, Manifest]:
    """Return the engine's mounts by volume name: the programs of its probes, and the agent's verdict."""
    mounts: dict[str, Manifest] = {PROGRAMS: {"mountPath": PROGRAMS_FOLDER, "readOnly": True}}
    if sleeps:
        mounts[STATE] = {"mountPath": AGENT_FOLDER, "readOnly": True}
    return mounts


def engine_alive(*, sleeps: bool) -> Manifest:
    """Return the engine's liveness probe; without the verdict it is its startup probe too.

    On loopback, not through the proxy: a fault there must never restart an engine that took minutes to start.
    """
    return {"exec": {"command": program("engine_alive", ENGINE_PORT, *([VERDICT] if sleeps else []))}}


def engine_stop(drain_seconds: int) -> Manifest:
    """Return the engine's preStop hook."""
    return {"exec": {"command": program("agent_stop", CONTROL_PORT, drain_seconds)}}


def volumes(
    programs: pulumi.Input[str], tokens: pulumi.Input[str] | None, settings: SleepSettings | None
) -> Mapping[str, Manifest]:
    """Return the volume sources by name, without the configuration, which is made for the server.

    Args:
        programs: name of the ConfigMap with `serving.programs.PROXY`.
        tokens: name of the Secret with valid tokens; None: none are asked for.
        settings: of sleeping; None: it does not.
    """
    found: dict[str, Manifest] = {PROGRAMS: {"configMap": {"name": programs}}, SCRATCH: {"emptyDir": {}}}
    if tokens is not None:
        found[TOKENS] = {"secret": {"secretName": tokens}}
    if settings is not None:
        found[STATE] = {"emptyDir": {}}
    if settings is not None and settings.wake == "external":
        found[API_TOKEN] = {
            "projected": {
                "sources": [
                    # bound to the pod: the admission policy reads the pod's name in it
                    {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                ]
            }
        }
    return found


def _resources(cpu: int, memory: int, most: int) -> Manifest:
    return {"requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}, "limits": {"memory": f"{most}Mi"}}


def _each(period: int, failures: int) -> Manifest:
    return {"periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures}


def _confined(user: int) -> Manifest:
    return {
        "runAsUser": user,
        "runAsGroup": user,
        "runAsNonRoot": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def _of_the_pod(variable: str, field: str) -> Manifest:
    return {"name": variable, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{field}"}}}
