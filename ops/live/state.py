"""How a pod stands: from what the API says of it, of Karpenter's nodes for it, and from what its engine has logged."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from infra.gpu_pools.agreed import NODE_POOL_LABEL, TYPE_LABEL
from ops.cluster.api import Body
from ops.live.pods import condition, going, ready, status
from ops.programs import ENGINE_TEXTS, Start
from ops.terminal import plain
from serving.pod import CONTAINER

ICE = "InsufficientCapacityError"
"""Reason of Karpenter's event on a NodeClaim that EC2 did not fill; the claim is deleted at once, the event stays."""

_CODES: tuple[tuple[str, str], ...] = (
    ("VcpuLimitExceeded", "no quota"),
    ("MaxSpotInstanceCountExceeded", "no Spot quota"),
    ("MaxFleetCountExceeded", "no quota of fleets"),
    ("ServiceLinkedRoleCreationNotPermitted", "no service-linked role for Spot"),
    ("InsufficientFreeAddressesInSubnet", "no free addresses"),
    ("ReservationCapacityExceeded", "the reservation is full"),
    ("UnauthorizedOperation", "Karpenter may not start it"),
    ("Unsupported", "not offered in these zones"),
    ("InsufficientInstanceCapacity", "no capacity"),
    ("UnfulfillableCapacity", "no capacity"),
)
"""EC2's codes in what Karpenter says of a launch (pkg/errors, v1.14.1), rarer ones first: one dry zone is usual."""

_DETAIL = 200
_PULLING = frozenset(
    {"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable"}
)
_ON_THE_WAY = frozenset({"", "ContainerCreating", "PodInitializing"})


@dataclass(frozen=True)
class Standing:
    """One word, and what there is to say of it."""

    word: str
    detail: str = ""

    def __str__(self) -> str:
        """Return both."""
        return f"{self.word}: {self.detail}" if self.detail else self.word


def of_pod(pod: Body) -> Standing:
    """Return what a pod alone tells. A `starting` one whose engine runs has no detail: its log has."""
    phase = pod.get("status", {}).get("phase")
    if going(pod):
        return Standing("ending")
    if phase in {"Failed", "Succeeded"}:
        return Standing("failed", _line(pod["status"].get("reason"), pod["status"].get("message")))
    if ready(pod):
        return Standing("ready")
    if not pod["spec"].get("nodeName"):
        return Standing("pending", _line(condition(pod, "PodScheduled").get("message")))
    for each in (*(it["name"] for it in pod["spec"].get("initContainers") or ()), CONTAINER):
        found = status(pod, each)
        waiting = (found.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason", ""))
        if reason in _PULLING:
            return Standing("pending", _line(f"image of {each}", waiting.get("message") or reason))
        if reason not in _ON_THE_WAY:
            return Standing("failed", _line(each, reason, _last(found)))
        if waiting or not found:
            return Standing("starting", f"{each}: image, mounts" if not found.get("restartCount") else f"{each} again")
        ended = (found.get("state") or {}).get("terminated") or {}
        if ended.get("exitCode") or (ended and each == CONTAINER):
            return Standing("failed", _line(each, f"exit code {ended['exitCode']}", ended.get("message")))
        if not ended and not found.get("started") and each != CONTAINER:
            return Standing("starting", f"{each} runs")
    engine = status(pod, CONTAINER)
    return Standing("not ready" if engine.get("started") else "starting")


def engine_phase(log: str, version: str) -> str:
    """Return what a starting engine is at: what comes after the last phase that its log has ended."""
    start = Start(version)
    for line in log.splitlines():
        start.read(line)
    order = list(ENGINE_TEXTS[version].phases)
    done = [order.index(phase) for phase in start.ends]
    place = max(done, default=-1) + 1
    return f"engine: {order[place]}" if place < len(order) else "engine: listens, readiness is still to pass"


def why_pending(pod: Body, pool: str, claims: Sequence[Body], events: Iterable[Body]) -> str:
    """Return why a pod has no node, the nearest cause first.

    Args:
        pod: that has none.
        pool: name of the NodePool of its server (`infra.gpu_pools.manifests.node_pool_name`).
        claims: NodeClaims of the cluster.
        events: of the pod's namespace and of `default`, where those of NodeClaims are.
    """
    of_pool = [it for it in claims if (it["metadata"].get("labels") or {}).get(NODE_POOL_LABEL) == pool]
    own = [it for it in of_pool if condition(it, "Initialized").get("status") != "True"]
    for claim in own:
        launched = condition(claim, "Launched")
        if launched.get("status") == "True":
            kind = (claim["metadata"].get("labels") or {}).get(TYPE_LABEL, "a node")
            return f"{kind} was launched and is no node yet (nodeclaim {claim['metadata']['name']})"
        if launched.get("message"):
            return classified(str(launched["message"]))
    since = str(pod["metadata"].get("creationTimestamp", ""))
    for event in sorted(events, key=_time, reverse=True):
        about = event["involvedObject"]
        refused = about["kind"] == "NodeClaim" and event.get("reason") == ICE and _of_pool(about["name"], pool)
        unplaced = about.get("uid") == pod["metadata"]["uid"] and event.get("reason") == "FailedScheduling"
        if refused and _time(event) >= since:
            return classified(str(event.get("message", "")), otherwise="no capacity")
        if unplaced and _speaker(event) == "karpenter":
            return _line(event.get("message"))
    if own:
        return f"nodeclaim {own[0]['metadata']['name']} is being launched"
    return _line(condition(pod, "PodScheduled").get("message")) or "nobody has looked at it yet"


def classified(message: str, *, otherwise: str = "not launched") -> str:
    """Return what Karpenter says of a launch that failed, behind words that tell quota from capacity.

    `otherwise`: those words where no code of EC2 is in it.
    """
    kind = next((words for code, words in _CODES if code in message), otherwise)
    return _line(kind, message.partition(" event: ")[2] or message)


def _last(found: Body) -> str:
    ended = (found.get("lastState") or {}).get("terminated") or {}
    if not ended:
        return ""
    return _line(f"exit code {ended.get('exitCode')}", ended.get("message") or ended.get("reason"))


def _of_pool(claim: str, pool: str) -> bool:
    # the API server adds five signs to the pool's name
    return bool(re.fullmatch(rf"{re.escape(pool)}-[a-z0-9]{{5}}", claim))


def _time(event: Body) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


def _speaker(event: Body) -> str:
    return str(event.get("reportingComponent") or (event.get("source") or {}).get("component") or "")


def _line(*parts: Any) -> str:
    line = plain(": ".join(" ".join(str(part).split()) for part in parts if part))
    return line if len(line) <= _DETAIL else f"{line[:_DETAIL]}..."
