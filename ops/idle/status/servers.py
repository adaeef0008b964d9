"""Which servers are asleep, or stopped, and since when. From what the API and the agents say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from infra.naming import IDLE_ANNOTATION
from ops.cluster.api import Body
from ops.failures import UnclearError
from ops.live.pods import going
from serving.front import AWAKE_LABEL
from serving.server import ServerSettings
from serving.techniques.front.sleep_mode import SLEEP_MODE

Asked = Callable[[Body], Mapping[str, Any]]
"""Asks the agent of a pod: what its control port answers to `/state` (`state`, `seconds` in it, ...). Raises
UnclearError."""

ASLEEP = "asleep"


@dataclass(frozen=True, kw_only=True)
class Idle:
    """A server, or one of its pods, that serves nobody."""

    server: str
    state: str
    since: datetime | None
    """None: nobody knows."""
    detail: str
    """Pod, or what starts it again."""


def moment(text: object) -> datetime | None:
    """Return a time as the API writes it; None for none."""
    return datetime.fromisoformat(str(text)) if text else None


def stopped(name: str, server: ServerSettings, deployment: Body | None, stop: Body | None) -> Idle | None:
    """Return that a server has no pods by order; None where it has, or is not there.

    Args:
        name: of the server.
        server: its settings.
        deployment: its own; None: there is none.
        stop: the CronJob that stops it by the clock; None: there is none.
    """
    if deployment is None or deployment["spec"].get("replicas", 1):
        return None
    if IDLE_ANNOTATION not in (deployment["metadata"].get("annotations") or {}) or server.idle is None:
        return Idle(server=name, state="stopped by hand", since=None, detail="`pulumi up` starts it")
    schedule = server.idle.schedule
    status = (stop or {}).get("status") or {}
    return Idle(
        server=name,
        state="stopped by the clock",
        since=moment(status.get("lastSuccessfulTime") or status.get("lastScheduleTime")),
        detail=f'starts "{schedule.start}" {schedule.time_zone}',
    )


def sleeping(
    name: str, server: ServerSettings, pods: Sequence[Body], asked: Asked | None, now: datetime
) -> tuple[list[Idle], list[str]]:
    """Return the pods of a server that sleep, and why it is not known of others.

    Args:
        name: of the server.
        server: its settings.
        pods: its own, that have not ended.
        asked: asks an agent; None: only labels are looked at.
        now: the time.
    """
    if SLEEP_MODE.name not in server.chosen:
        return [], []
    found, unclear = [], []
    for pod in pods:
        pod_name = pod["metadata"]["name"]
        if pod.get("status", {}).get("phase") != "Running" or going(pod):
            continue
        if asked is None:
            if _outside(server) and AWAKE_LABEL not in (pod["metadata"].get("labels") or {}):
                found.append(Idle(server=name, state=ASLEEP, since=None, detail=f"pod {pod_name}"))
            elif not _outside(server):
                unclear.append(f"servers.{name}: pod {pod_name}: its agent was not asked whether it sleeps")
            continue
        try:
            state = asked(pod)
        except UnclearError as silence:
            unclear.append(f"servers.{name}: pod {pod_name}: {silence}")
            continue
        if state.get("state") == ASLEEP:
            since = now - timedelta(seconds=float(state.get("seconds", 0)))
            found.append(Idle(server=name, state=ASLEEP, since=since, detail=f"pod {pod_name}"))
    return found, unclear


def _outside(server: ServerSettings) -> bool:
    return (server.sleep.wake or server.wake) == "external"
