"""Following a Job to its end: what it is doing, and how it ended. `step` and `end` only look at what the API says."""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

import typer

from ops.cluster.api import Body, Cluster, DeniedError
from ops.cluster.jobs import end_condition, follow_by_hand
from ops.failures import INTERRUPTED, UnclearError
from ops.terminal import progress

POLL = 2.0
PATIENCE = 180.0
"""Seconds that the API may be silent while a Job runs for an hour: a control plane that is replaced, a laptop's nap."""

_FIELD = re.compile(r'\b(\w+)=("[^"]*"|\S+)')
_DETAIL = 160


@dataclass(frozen=True, kw_only=True)
class End:
    """How a Job ended."""

    succeeded: bool
    code: int | None
    """Exit code of the last container that ran; None when no pod is left to tell."""
    message: str
    """What that container wrote as its termination message."""
    reason: str
    """Why, in the words of Kubernetes: of the Job, then of the container. May be empty."""

    def without_report(self, title: str) -> str:
        """Return the line about a Job whose program said nothing."""
        known = [f"exit code {self.code}" if self.code is not None else "no pod is left", self.reason]
        return f"{title}: ended without a report ({'; '.join(filter(None, known))})"


def step(pods: Sequence[Body]) -> str:
    """Return what the newest pod of a Job is doing: `pending`, `pulling`, `running` or `ending`, and why."""
    if not pods:
        return "pending: no pod yet"
    pod = max(pods, key=lambda it: str(it["metadata"].get("creationTimestamp", "")))
    status = pod.get("status", {})
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return _joined("pending", condition.get("message", ""))
    state = _state(pod)
    if "running" in state:
        return "running"
    if "terminated" in state:
        return "ending"
    if "nodeName" not in pod["spec"]:
        return "pending"
    waiting = state.get("waiting", {})
    why = waiting.get("message") or waiting.get("reason", "")
    return _joined("pulling", "" if why in {"ContainerCreating", "PodInitializing"} else why)


def end(job: Body, pods: Sequence[Body]) -> End | None:
    """Return how a Job ended; None while it has not."""
    condition = end_condition(job)
    if condition is None:
        return None
    ended = [state["terminated"] for state in map(_state, pods) if "terminated" in state]
    last: Body = max(ended, key=lambda it: str(it.get("finishedAt", "")), default={})
    succeeded = condition["type"] == "Complete"
    why = [] if succeeded else [condition.get("reason", ""), condition.get("message", "")]
    killed = last.get("reason", "")
    if killed not in {"Completed", "Error"}:
        why.append(killed)
    return End(
        succeeded=succeeded,
        code=last.get("exitCode"),
        message=str(last.get("message", "")),
        reason=": ".join(part for part in why if part),
    )


def followed(cluster: Cluster, namespace: str, name: str) -> End:
    """Show what a Job does until it has ended.

    Raises:
        UnclearError: it is gone, nobody may look any more, or the API stays silent for PATIENCE seconds.
        typer.Exit: Ctrl-C: the Job goes on, and that is said.
    """
    try:
        with progress(name) as say:
            return _watched(cluster, namespace, name, say)
    except KeyboardInterrupt:
        sys.stderr.write(f"\nJob {namespace}/{name} goes on; follow it: {follow_by_hand(namespace, name)}\n")
        raise typer.Exit(INTERRUPTED) from None


def made(namespace: str, name: str, *, as_json: bool) -> str:
    """Return what there is to say of a Job that nobody follows."""
    by_hand = follow_by_hand(namespace, name)
    if as_json:
        return json.dumps({"namespace": namespace, "job": name, "follow": by_hand})
    return f"Job {namespace}/{name}: made; follow it: {by_hand}"


def told(
    cluster: Cluster,
    namespace: str,
    name: str,
    verdict: Callable[[str, End], tuple[str, int]],
    *,
    as_json: bool = False,
) -> NoReturn:
    """Follow a Job to its end, print what there is to say of it, and end the command with the code that goes with it.

    Args:
        cluster: the stack's.
        namespace: of the Job.
        name: of the Job.
        verdict: makes the line and the exit code of the Job's title and its end.
        as_json: print it for a program, with the `key=value` of the line as `report`.
    """
    line, code = verdict(f"Job {namespace}/{name}", followed(cluster, namespace, name))
    if as_json:
        report = {key: value.strip('"') for key, value in _FIELD.findall(line)}
        said = {"namespace": namespace, "job": name, "said": line, "report": report, "exitCode": code}
        typer.echo(json.dumps(said, indent=2))
    else:
        typer.echo(line)
    raise typer.Exit(code)


def _watched(cluster: Cluster, namespace: str, name: str, say: Callable[[str], None]) -> End:
    answered, uid = time.monotonic(), None
    while True:
        try:
            job = cluster.find(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
            # another of the same name is the next one's
            if job is None or uid not in {None, job["metadata"]["uid"]}:
                raise _GoneError(f"Job {namespace}/{name}: gone; somebody deleted it, and how it ended nobody knows")
            uid = job["metadata"]["uid"]
            # not by name: pods of an earlier one may still be going
            pods = cluster.list(
                f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"batch.kubernetes.io/controller-uid={uid}"
            )
        except _GoneError:
            raise
        except UnclearError as silence:
            if isinstance(silence, DeniedError) or time.monotonic() - answered > PATIENCE:
                raise UnclearError(f"Job {namespace}/{name} may still run, and {silence}") from None
            say(str(silence))
        else:
            answered = time.monotonic()
            if ended := end(job, pods):
                return ended
            say(step(pods))
        time.sleep(POLL)


class _GoneError(UnclearError):
    """No time makes it come back."""


def _state(pod: Body) -> Body:
    """Return the state of a pod's one container."""
    statuses = pod.get("status", {}).get("containerStatuses") or [{}]
    state: Body = statuses[0].get("state", {})
    return state


def _joined(phase: str, why: str) -> str:
    line = " ".join(why.split())
    return f"{phase}: {line if len(line) <= _DETAIL else line[:_DETAIL] + '...'}" if line else phase
