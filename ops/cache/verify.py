"""`ops cache verify`: what the log of a start says about its caches. The log is the only witness (vllm.md 1.7)."""

import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from infra.naming import server_labels
from ops.cluster.api import Body, Cluster
from ops.failures import FAILED_CHECK, OK, UNCLEAR, RefusedError, UnclearError, UsageError
from ops.programs import RESTORE_LINE, Start
from ops.terminal import echo, size
from serving.pod import CONTAINER

WARM = frozenset({("hit", "fingerprint"), ("present", "fingerprint")})
"""Outcome of a restore, and what is there then: the fingerprint's own archive. A base can be `present` as well."""

BEGUN, ENDED = "engine", "listening"
"""Phases whose lines frame a start: without the first the log was cut, without the second it is not over."""

NO_LINE = "cache-restore  no line in this log"
BOTH = "get both logs: kubectl logs POD --all-containers"
"""`kubectl logs POD` alone shows the engine's."""

MOST = 64 * 1024**2
"""Bytes of a log that are read: a start is in its first few MiB, and each takes a fifth of a second."""


def read_file(name: str) -> str:
    """Return a log from a file, or from standard input.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            raw = file.read(MOST + 1)
    except OSError as error:
        raise UsageError(f"--log {echo(name)}: {error.strerror}") from None
    if len(raw) > MOST:
        sys.stderr.write(f"--log {echo(name)}: only its first {size(MOST)} are read\n")
    return raw[:MOST].decode("utf-8", "replace")


def read_pod(cluster: Cluster, namespace: str, server: str, name: str) -> str:
    """Return what the containers of a server's pod said, in the order in which they start.

    Args:
        cluster: the stack's.
        namespace: of the servers.
        server: whose pod.
        name: of the pod; empty for the newest.

    Raises:
        RefusedError: there is no such pod.
        UnclearError: no log can be had (yet).
    """
    path = f"/api/v1/namespaces/{namespace}/pods"
    selector = ",".join(f"{label}={value}" for label, value in server_labels(server).items())
    found = [it for it in cluster.list(path, labelSelector=selector) if not name or it["metadata"]["name"] == name]
    if not found:
        raise RefusedError(f"servers.{server}: no pod {echo(name) if name else 'at all'} in {namespace}")
    pod = max(found, key=lambda it: str(it["metadata"]["creationTimestamp"]))
    return "\n".join(_log(cluster, f"{path}/{pod['metadata']['name']}/log", container) for container in _speakers(pod))


def verdict(log: str, version: str, *, restores: bool = False) -> tuple[list[str], int]:
    """Return what the log proves, and the exit code.

    Args:
        log: of the restoring container and the engine, or of the engine alone.
        version: of the engine.
        restores: the server has a restoring container, so a log without its line is not whole.
    """
    restore = RESTORE_LINE.search(log)
    start = Start(version)
    for line in log.splitlines():
        start.read(line)
    lines = [f"cache-restore  {_restored(restore)}"]
    if missing := [phase for phase in (BEGUN, ENDED) if phase not in start.ends]:
        why = "its start is not in the log" if BEGUN in missing else "it is not serving yet"
        return [*lines, f"engine         cannot tell: {why}"], UNCLEAR
    if not start.compiles:
        return [*lines, "engine         cannot tell: it does not compile, so there is no compile cache to hit"], UNCLEAR
    if restores and not restore and not start.why_no_full_hit():
        return [NO_LINE, f"engine         cannot tell: a full hit, from who knows where; {BOTH}"], UNCLEAR
    if reason := start.why_no_full_hit():
        return [*lines, f"engine         no full hit: {reason}"], FAILED_CHECK
    if restore and (restore["outcome"], restore["restored"]) not in WARM:
        return [*lines, "engine         full hit, on what this node had: a new node would start cold"], FAILED_CHECK
    return [*lines, "engine         full hit"], OK


def document(lines: Sequence[str], code: int) -> dict[str, Any]:
    """Return a verdict for a program."""
    said = dict(line.split(maxsplit=1) for line in lines)
    return {"cacheRestore": said["cache-restore"], "engine": said["engine"], "exitCode": code}


def _restored(report: re.Match[str] | None) -> str:
    if report is None:
        return "no line: what was hit is this node's own"
    how = f"{report['outcome']}, restored {report['restored']}"
    text = f"{how}: {size(int(report['bytes']))} in {float(report['seconds']):.1f} s"
    return f"{text} ({report['reason']})" if report["reason"] else text


def _speakers(pod: Body) -> list[str]:
    """Return the names of the containers that run before the engine, and the engine's."""
    return [*(it["name"] for it in pod["spec"].get("initContainers") or ()), CONTAINER]


def _log(cluster: Cluster, path: str, container: str) -> str:
    try:
        return cluster.text(path, container=container, limitBytes=str(MOST))
    except RefusedError as refusal:
        # the API's 400 for a container that has not started
        raise UnclearError(str(refusal)) from None
