"""What `kubectl get -o json` wrote of a start: the pod, its node, the node's lease, the pod's events."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.naming import server_of
from ops.coldstart.measure.seen.start import Seen, is_ready, seen
from ops.failures import RefusedError, UnclearError, UsageError
from ops.terminal import echo

Body = Mapping[str, Any]

MOST = 64 << 20
"""Bytes of a dump. A namespace has less."""

KINDS = frozenset({"Pod", "Node", "Lease", "Event"})


@dataclass(frozen=True)
class Dumps:
    """Objects by kind."""

    objects: Sequence[Body]

    def of(self, kind: str) -> list[Body]:
        """Return those of a kind."""
        return [it for it in self.objects if it.get("kind") == kind]


def objects(name: str, path: Path) -> list[Body] | None:
    """Return the objects in a file; None: it is no dump, so perhaps a log.

    Args:
        name: of the file, for messages.
        path: of it.

    Raises:
        UsageError: it cannot be read.
        UnclearError: it is one of other things, or too large.
    """
    try:
        with path.open("rb") as file:
            if file.read(64).lstrip()[:1] != b"{":
                return None
            file.seek(0)
            first = file.readline(MOST + 1)
            if _is_line(first):
                return None
            raw = first + file.read(MOST + 1 - len(first))
    except OSError as error:
        raise UsageError(f"{echo(name)}: {error.strerror}") from None
    if len(raw) > MOST:
        raise UnclearError(f"{echo(name)}: more than {MOST >> 20} MiB: dump one namespace")
    whole = _parsed(raw)
    if not isinstance(whole, dict) or "kind" not in whole:
        return None
    try:
        found = list(_flat(whole))
    except TypeError:
        raise UnclearError(f"{echo(name)}: its items are no objects of the API") from None
    if other := {str(it.get("kind")) for it in found} - KINDS:
        raise UnclearError(
            f"{echo(name)}: holds {', '.join(map(echo, sorted(other)))}; expected {', '.join(sorted(KINDS))}"
        )
    return found


def _parsed(raw: bytes) -> Any:
    """Return what a text of JSON says; None: it is none, or nests deeper than anything of the API."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _is_line(first: bytes) -> bool:
    """Whether a first line is one of a log in JSON: whole, and no object of the API."""
    line = _parsed(first)
    return isinstance(line, dict) and "kind" not in line


def _flat(whole: Body) -> Iterator[Body]:
    if not str(whole["kind"]).endswith("List"):
        yield whole
        return
    for item in whole.get("items") or ():
        # `kubectl get --raw` leaves the kind of a list's items out
        yield {"kind": str(whole["kind"]).removesuffix("List"), **item}


def start_of(dumped: Iterable[Body], server: str | None) -> Seen:
    """Return the start of the one pod that is Ready.

    Args:
        dumped: objects of any kind.
        server: whose pod it is; None: there is one of any.

    Raises:
        RefusedError: there is none, or not its node, or several pods are Ready.
        UnclearError: they lack what the API always says.
    """
    dumps = Dumps(list(dumped))
    named = f"servers.{server}: " if server else ""
    try:
        pods = [it for it in dumps.of("Pod") if is_ready(it) and _whose(it, server)]
        if len(pods) != 1:
            names = ", ".join(it["metadata"]["name"] for it in pods) or "none"
            raise RefusedError(f"{named}one pod that is Ready is needed, and the dumps have {names}")
        pod = pods[0]
        node, name = pod["spec"]["nodeName"], pod["metadata"]["name"]
        nodes = {it["metadata"]["name"]: it for it in dumps.of("Node")}
        if node not in nodes:
            raise RefusedError(f"{named}pod {name} is on {node}, which the dumps lack: kubectl get node {node} -o json")
        leases = [it for it in dumps.of("Lease") if it["metadata"]["name"] == node]
        its = [it for it in dumps.of("Event") if it["involvedObject"].get("uid") == pod["metadata"]["uid"]]
        return seen(pod, nodes[node], leases, its)
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration) as error:
        raise UnclearError(f"{named}the dumps are not the API's: {type(error).__name__}: {echo(str(error))}") from None


def _whose(pod: Body, server: str | None) -> bool:
    name = server_of(pod["metadata"].get("labels") or {})
    return name is not None if server is None else name == server
