"""The server in the cluster that is to be measured, and what forbids it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from infra.image_cache.rewrite import image_cache_facts, rewritten
from infra.naming import IDLE_ANNOTATION, ONBOARDING, TECHNIQUES_ANNOTATION, Place, cache_build, idle_job, partition_of
from infra.weekly import DAY, WEEK, times
from ops.cluster import jobs
from ops.cluster.api import Body, Cluster
from ops.cluster.room import has_ended
from ops.coldstart.measure.seen.start import is_ready
from ops.coldstart.server import Server
from ops.failures import Failure, RefusedError, UnclearError
from ops.live.look import REQUESTS
from ops.stack.stack_file import Stack
from serving.idle import ScheduleSettings
from serving.pod import CONTAINER
from serving.server import ServerSettings


@dataclass(frozen=True, kw_only=True)
class Target:
    """A server whose Deployment is this stack's, and whose pods are all Ready."""

    server: Server
    namespace: str
    deployment: Body
    pods: Sequence[Body]
    """Those that run, the oldest first."""
    known: frozenset[str] = frozenset()
    """Uids of all there are, also of those that have ended: a pod that was evicted stays in the API for days."""

    @property
    def replicas(self) -> int:
        """How many pods its Deployment is to have."""
        return int(self.deployment["spec"]["replicas"])

    @property
    def path(self) -> str:
        """Of its Deployment in the API."""
        return _path(self.namespace, self.server.name)

    @property
    def title(self) -> str:
        """Of its Deployment, for people."""
        return f"Deployment {self.namespace}/{self.server.name}"

    @property
    def selector(self) -> str:
        """Of its pods."""
        return _selector(self.deployment)


def found(cluster: Cluster, stack: Stack, name: str) -> Target:
    """Return a server that may be disturbed as far as the API knows.

    Raises:
        UsageError: the stack file has none of this name.
        RefusedError: it is not there, not this stack file's, stopped, or something is going on with it.
        UnclearError: the cluster does not tell.
    """
    settings, namespace = stack.server(name), stack.settings.namespace
    # a Deployment says of no cluster that it is its own, a template does
    jobs.template(cluster, stack, ONBOARDING, why_missing="`pulumi up` makes it in every cluster of this program")
    deployment = cluster.find(_path(namespace, name))
    if deployment is None:
        raise RefusedError(f"servers.{name}: no Deployment {namespace}/{name}: run `pulumi up` first")
    _refuse_another(stack, name, settings, deployment)
    if not deployment["spec"]["replicas"]:
        by = ", stopped by its clock" if IDLE_ANNOTATION in _annotations(deployment) else ""
        raise RefusedError(f"servers.{name}: Deployment {namespace}/{name} has no pods{by}: nothing to measure")
    there = cluster.list(f"/api/v1/namespaces/{namespace}/pods", labelSelector=_selector(deployment))
    pods = sorted((it for it in there if not has_ended(it)), key=lambda it: str(it["metadata"]["creationTimestamp"]))
    _refuse_unsettled(name, deployment, pods)
    scheduled = [idle_job(name, "stop"), idle_job(name, "start")]
    building = [cache_build(name), cache_build(name, candidate=True)]
    if busy := jobs.running(cluster, namespace, [*scheduled, *building]):
        follow = jobs.follow_by_hand(namespace, busy[0])
        raise RefusedError(f"servers.{name}: Job {namespace}/{busy[0]} is running; follow it: {follow}")
    known = frozenset(it["metadata"]["uid"] for it in there)
    return Target(server=Server.of(stack, name), namespace=namespace, deployment=deployment, pods=pods, known=known)


def refuse_before_the_clock(target: Target, minutes: float, now: datetime) -> None:
    """Refuse when the clock stops or starts the server while it is measured: the later patch of its scale would win.

    Args:
        target: the server.
        minutes: that the measurement may take.
        now: with a time zone.

    Raises:
        RefusedError: it does.
    """
    idle = target.server.settings.idle
    if idle is None:
        return
    left = _minutes_left(idle.schedule, now)
    if left <= minutes:
        raise RefusedError(
            f"servers.{target.server.name}.idle.schedule: strikes in {left} min, and the measurement may take"
            f" {minutes:.0f} min: wait, or suspend the CronJobs {idle_job(target.server.name, 'stop')} and"
            f" {idle_job(target.server.name, 'start')}"
        )


def refuse_traffic(target: Target, metrics: Callable[[str], str]) -> None:
    """Refuse when the server works for somebody.

    Args:
        target: the server.
        metrics: returns the metrics of the pod of a name.

    Raises:
        RefusedError: requests run or wait.
        UnclearError: nobody says.
    """
    for pod in target.pods:
        name = pod["metadata"]["name"]
        try:
            count = requests(metrics(name))
        except Failure as failure:
            raise UnclearError(f"pod {name}: its metrics cannot be had: {failure}; {_ANYWAY}") from None
        if count is None:
            raise UnclearError(f"pod {name}: its metrics have no vllm:num_requests_running; {_ANYWAY}")
        if count:
            raise RefusedError(f"servers.{target.server.name}: {count:g} requests run or wait in pod {name}; {_ANYWAY}")


_ANYWAY = "--despite-traffic measures all the same, and cuts what runs"


def requests(metrics: str) -> float | None:
    """Return how many requests run and wait in all of a pod's engine processes; None: the text does not say."""
    counts = [value for _, value in REQUESTS.findall(metrics)]
    try:
        return sum(map(float, counts)) if counts else None
    except ValueError:
        return None


def _path(namespace: str, name: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"


def _annotations(of: Body) -> Body:
    found: Body = of["metadata"].get("annotations") or {}
    return found


def _selector(deployment: Body) -> str:
    return ",".join(f"{key}={value}" for key, value in deployment["spec"]["selector"]["matchLabels"].items())


def _refuse_another(stack: Stack, name: str, settings: ServerSettings, deployment: Body) -> None:
    """Refuse a Deployment that is not what the stack file says: its seconds would be written down as another's."""
    place = Place(partition_of(stack.region), stack.region, stack.settings.account.id)
    image = rewritten(settings.engine.image_reference, image_cache_facts(stack.settings.image_cache, place))
    containers = deployment["spec"]["template"]["spec"]["containers"]
    running = next((it["image"] for it in containers if it["name"] == CONTAINER), "none")
    wanted = ",".join(settings.chosen) or "none"
    has = _annotations(deployment).get(TECHNIQUES_ANNOTATION, "not said")
    for what, there, here in (("techniques", has, wanted), ("image", running, image)):
        if there != here:
            raise RefusedError(
                f"servers.{name}: {what} in the cluster: {there}; in the stack file: {here}: run `pulumi up` first"
            )


def _refuse_unsettled(name: str, deployment: Body, pods: Sequence[Body]) -> None:
    wanted, status = deployment["spec"]["replicas"], deployment.get("status") or {}
    seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    if not seen or any(status.get(key, 0) != wanted for key in ("updatedReplicas", "replicas")):
        raise RefusedError(f"servers.{name}: a rollout is under way: kubectl rollout status deployment/{name}")
    going = [it for it in pods if it["metadata"].get("deletionTimestamp")]
    ready = [it for it in pods if is_ready(it) and it not in going]
    if len(ready) != wanted or going:
        raise RefusedError(
            f"servers.{name}: {len(ready)} of {wanted} pods are ready: nothing is provoked before all are"
        )


def _minutes_left(schedule: ScheduleSettings, now: datetime) -> int:
    """Return the minutes until the clock strikes next, stop or start."""
    local = now.astimezone(ZoneInfo(schedule.time_zone))
    # the week begins on Sunday
    minute = (local.isoweekday() % 7) * DAY + local.hour * 60 + local.minute
    return min((there - minute) % WEEK for each in (schedule.stop, schedule.start) for there in times(each))
