"""The pods of a server, and what they are made of: asked of the cluster, because the stack file may be ahead of it."""

from collections.abc import Sequence
from typing import Any

from infra.naming import IDLE_ANNOTATION, idle_job, server_labels
from ops.cluster.api import Body, Cluster
from ops.failures import RefusedError
from ops.terminal import echo
from serving.engine import PORT
from serving.front import AWAKE_LABEL, ENGINE_PORT, WANTED_ANNOTATION
from serving.front.containers import AGENT, PROXY, TOKENS


def of_server(cluster: Cluster, namespace: str, server: str) -> list[Body]:
    """Return its pods by name, those that are going included."""
    selector = ",".join(f"{label}={value}" for label, value in server_labels(server).items())
    found = cluster.list(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)
    return sorted(found, key=name)


def name(pod: Body) -> str:
    """Return its name."""
    return str(pod["metadata"]["name"])


def going(pod: Body) -> bool:
    """Return whether it has been deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def ready(pod: Body) -> bool:
    """Return whether it may have traffic."""
    return condition(pod, "Ready").get("status") == "True" and not going(pod)


def condition(thing: Body, kind: str) -> Body:
    """Return a condition of a pod or a Karpenter object; empty, when it has none."""
    conditions = thing.get("status", {}).get("conditions") or ()
    return next((dict(it) for it in conditions if it["type"] == kind), {})


def status(pod: Body, container: str) -> Body:
    """Return the status of one of its containers, of whatever kind; empty before kubelet has seen it."""
    statuses: list[Any] = [
        *(pod.get("status", {}).get("initContainerStatuses") or ()),
        *(pod.get("status", {}).get("containerStatuses") or ()),
    ]
    return next((dict(it) for it in statuses if it["name"] == container), {})


def has(pod: Body, sidecar: str) -> bool:
    """Return whether it was made with this container before the engine's, or beside it."""
    return any(it["name"] == sidecar for it in pod["spec"].get("initContainers") or ())


def sleeps(pod: Body) -> bool:
    """Return whether an agent puts its engine to sleep."""
    return has(pod, AGENT)


def port(pod: Body, *, direct: bool) -> int:
    """Return where it takes requests. `direct`: of the engine itself, past the front proxy."""
    return ENGINE_PORT if direct and has(pod, PROXY) else PORT


def tokens_secret(pod: Body) -> str | None:
    """Return the name of the Secret with the tokens that its front proxy takes; None: it asks for none."""
    volumes = pod["spec"].get("volumes") or ()
    return next((str(it["secret"]["secretName"]) for it in volumes if it["name"] == TOKENS and "secret" in it), None)


def serving(pods: Sequence[Body]) -> Body | None:
    """Return a pod that is ready, one that Services choose before one that sleeps outside of them."""
    found = [it for it in pods if ready(it)]
    return max(found, key=lambda it: AWAKE_LABEL in (it["metadata"].get("labels") or {}), default=None)


def chosen(pods: Sequence[Body], server: str, wanted: str | None) -> Sequence[Body]:
    """Return the pods that are not going; one of them where one is named.

    Raises:
        RefusedError: there is none, or not this one.
    """
    there = [it for it in pods if not going(it)]
    if wanted and wanted not in map(name, there):
        raise RefusedError(f"--pod {echo(wanted)}: not a pod of {server}; expected {_names(there)}")
    return [it for it in there if not wanted or name(it) == wanted]


def annotate(namespace: str, server: str, wanted: str) -> str:
    """Return the command that lets pods which wake from outside sleep (`asleep`) or wake (`awake`)."""
    return (
        f"kubectl -n {namespace} annotate pod -l app.kubernetes.io/instance={server} {WANTED_ANNOTATION}={wanted}"
        " --overwrite"
    )


def why_none(cluster: Cluster, namespace: str, server: str) -> tuple[str, str]:
    """Return what a server without pods is, in two words, and why it has none, with the command that changes it."""
    found = cluster.find(f"/apis/apps/v1/namespaces/{namespace}/deployments/{server}")
    title = f"Deployment {namespace}/{server}"
    if found is None:
        return "not there", f"{title}: not there: pulumi up"
    if found["spec"].get("replicas", 1) > 0:
        why = condition(found, "ReplicaFailure").get("message") or "the controller has made none yet"
        return "no pod", f"{title}: {' '.join(str(why).split())}"
    if IDLE_ANNOTATION in (found["metadata"].get("annotations") or {}):
        start = f"kubectl -n {namespace} create job --from=cronjob/{idle_job(server, 'start')} {server}-start-now"
        return "scaled to zero by the clock", f"{title}: no pods until the next start; now: {start}"
    return "scaled to zero by hand", f"{title}: 0 replicas; pulumi up, or kubectl -n {namespace} scale deployment"


def _names(pods: Sequence[Body]) -> str:
    return ", ".join(map(name, pods)) or "none: it has no pod"
