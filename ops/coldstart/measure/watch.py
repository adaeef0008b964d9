"""Watching the pod that comes, until it is Ready: what it does now, and what is there to see in the end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ops.cluster.api import Body, Cluster
from ops.coldstart.measure.provoke import NODES, Before, LostError, Say, until
from ops.coldstart.measure.put_back import Answer, PutBack, patiently
from ops.coldstart.measure.seen.start import Seen, is_ready, seen
from ops.coldstart.measure.target import Target
from ops.failures import Failure, UnclearError
from serving.pod import CONTAINER
from serving.techniques import progress_deadline
from serving.techniques.node_cache import PREPARER

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

MOST = 64 * 1024**2
"""Bytes of a log that are read: a start is in its first few MiB."""

_GONE = "its start cannot be measured"


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A pod that has become Ready, and what its containers have said."""

    pod: Body
    seen: Seen
    log: str
    """The engine's, each line behind the container runtime's time. Empty: there is none."""
    restore: str
    """What the container before it has said."""
    notes: Sequence[str]
    """What could not be had of it."""


def watched(cluster: Cluster, target: Target, before: Before, back: PutBack, say: Say) -> Watched:
    """Return the pod that has come, as it was when it became Ready.

    Args:
        cluster: the stack's.
        target: the server.
        before: what was there before the pod.
        back: holds what is put back as soon as the pod has a node.
        say: shows what the pod does.

    Raises:
        UnclearError: it is not Ready in time, or it goes in the middle.
    """
    path = f"/api/v1/namespaces/{target.namespace}/pods"
    pods: list[Body] = []
    leases: list[Body] = []
    say("waiting for a pod")
    until("a new pod", 60, lambda: _came(pods, cluster.list(path, labelSelector=target.selector), before))
    name, uid = pods[-1]["metadata"]["name"], pods[-1]["metadata"]["uid"]
    lent = list(before.lent)

    def ready() -> bool:
        pod = cluster.find(f"{path}/{name}")
        if pod is None or pod["metadata"]["uid"] != uid:
            raise LostError(f"pod {name}: gone before it was ready: {_GONE}")
        if why := _ended(pod):
            raise LostError(f"pod {name}: {why}: {_GONE}")
        pods.append(pod)
        node = pod["spec"].get("nodeName")
        while node and lent:
            # one that fails is tried again in the end: the pod is not left unseen for it
            back.keep(lent.pop())
        say(step(pod, cluster.find(f"{NODES}/{node}") if node else None))
        if node and (lease := cluster.find(f"{LEASES}/{node}")):
            leases.append(lease)
        return is_ready(pod)

    until(f"pod {name} to be ready", progress_deadline(target.server.settings.chosen), ready)
    notes: list[str] = []
    return _whole(cluster, f"{path}/{name}", pods[-1], leases, notes)


def step(pod: Body, node: Body | None) -> str:
    """Return the phase that a pod is in, as far as one look tells."""
    if "nodeName" not in pod["spec"]:
        said: Body = next((it for it in pod["status"].get("conditions") or () if it["type"] == "PodScheduled"), {})
        return f"node, scheduling: {' '.join(said.get('message', '').split())[:120]}".rstrip(": ")
    if node is None:
        return "node"
    states = _states(pod)
    if "running" in states.get(CONTAINER, {}):
        return "engine"
    if "running" in states.get(PREPARER, {}):
        return "restore"
    waiting = [it["waiting"].get("reason", "") for it in states.values() if "waiting" in it]
    bad = next((it for it in waiting if it not in {"", "PodInitializing", "ContainerCreating"}), "")
    return f"image pull, container start: {bad}".rstrip(": ")


def _came(pods: list[Body], there: Sequence[Body], before: Before) -> bool:
    pods += [it for it in there if it["metadata"]["uid"] not in before.pods]
    return bool(pods)


def _ended(pod: Body) -> str:
    """Return why a pod will never be ready; empty: it may be."""
    status = pod["status"]
    if status.get("phase") in {"Failed", "Succeeded"} or pod["metadata"].get("deletionTimestamp"):
        why = [status.get("reason", ""), status.get("message", "")]
        conditions = (it for it in status.get("conditions") or () if it["type"] == "DisruptionTarget")
        why += [it.get("message", "") for it in conditions]
        return ": ".join(filter(None, why)) or "deleted before it was ready"
    return ""


def _states(pod: Body) -> Mapping[str, Body]:
    status = pod["status"]
    both = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return {it["name"]: it.get("state") or {} for it in both}


def _whole(cluster: Cluster, path: str, pod: Body, leases: Sequence[Body], notes: list[str]) -> Watched:
    name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
    node = patiently(lambda: cluster.find(f"{NODES}/{pod['spec']['nodeName']}"))
    if node is None:
        raise UnclearError(f"node {pod['spec']['nodeName']}: gone as pod {name} became ready: {_GONE}")
    its = {"fieldSelector": f"involvedObject.uid={pod['metadata']['uid']}"}
    before = {it["name"] for it in pod["spec"].get("initContainers") or ()}

    def log(container: str, **query: str) -> str:
        more = {"container": container, "limitBytes": str(MOST), **query}
        return _or("", f"log of {container}", notes, lambda: cluster.text(f"{path}/log", **more))

    said = log(CONTAINER, timestamps="true")
    restore = log(PREPARER) if PREPARER in before else ""
    none: Sequence[Body] = []
    events = _or(none, "events", notes, lambda: cluster.list(f"/api/v1/namespaces/{namespace}/events", **its))
    return Watched(pod=pod, seen=seen(pod, node, leases, events), log=said, restore=restore, notes=notes)


def _or(nothing: Answer, what: str, notes: list[str], ask: Callable[[], Answer]) -> Answer:
    """Return an answer, or nothing with a note. A start that has cost a node is not lost with a part of it."""
    try:
        return patiently(ask)
    except Failure as failure:
        notes.append(f"{what}: {failure}")
        return nothing
