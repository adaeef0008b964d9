"""What has to be done for a policy, beside its settings: nothing takes the pods of an idle server away by itself."""

from ops.idle.plan.change import Change
from ops.live.pods import annotate
from serving.server import ServerSettings
from settings import Settings

GOES = frozenset({"node kept", "scale to zero", "warm node"})
"""Policies whose pods go."""

_SCHEDULE = "idle: {schedule: {stop: <cron>, start: <cron>, timeZone: <zone>}}"


def to_do(policy: str, change: Change, its: Settings, name: str) -> str:
    """Return it, for people.

    Args:
        policy: one of the plan's.
        change: what it changes in the stack file.
        its: the settings with that change.
        name: of the server.
    """
    first = "`pulumi up` with the settings below" if change else "no setting changes"
    server = its.servers[name]
    if policy == "sleep":
        return f"{first}; {_falls_asleep(its.namespace, name, server)}"
    if policy in GOES:
        return f"{first}; {_pods_go(its.namespace, name, server)}"
    return first


def _falls_asleep(namespace: str, name: str, server: ServerSettings) -> str:
    if (server.sleep.wake or server.wake) == "external":
        return f"it sleeps when its pods are annotated: {annotate(namespace, name, 'asleep')}"
    return f"it then sleeps by itself, after servers.{name}.sleep.idleSeconds {server.sleep.idle_seconds}"


def _pods_go(namespace: str, name: str, server: ServerSettings) -> str:
    if server.idle:
        return f"the clock takes the pods away (servers.{name}.idle.schedule)"
    scale = f"kubectl -n {namespace} scale deployment {name} --replicas"
    return (
        f"nothing takes the pods away yet: by hand {scale}=0, back with {scale}={server.replicas}; or by the clock"
        f" `{_SCHEDULE}` below servers.{name} (docs/idle.md)"
    )
