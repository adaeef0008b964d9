"""Who uses a cache: every stack file of this folder that names the bucket, and what runs in the stack's cluster."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ops.cluster.api import Cluster
from ops.cluster.jobs import end_condition, whose
from ops.cluster.jobs import named as named_cluster
from ops.cluster.room import has_ended
from ops.failures import Failure, RefusedError, UnclearError
from ops.programs import Folder, ManifestError
from ops.stack.keys import users
from ops.stack.stack_file import Stack, read
from serving.cache_key import CacheKey

_PARTS = ("engine", "gpu", "model", "fingerprint")
"""Arguments that say the key, to a restore as to a build."""


def neighbours(stack: Stack) -> tuple[list[Stack], list[str]]:
    """Return the other stacks of the current folder that name the same bucket, and why a file could not be read."""
    found, unread = [], []
    for path in sorted(Path().glob("Pulumi.*.yaml")):
        name = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        if name == stack.name:
            continue
        try:
            other = read(name)
        except Failure as failure:
            unread.append(" ".join(str(failure).split()))
            continue
        if other.settings.model_bucket.name == stack.settings.model_bucket.name:
            found.append(other)
    return found, unread


def by_stack_files(stack: Stack, others: Iterable[Stack]) -> Mapping[str, CacheKey]:
    """Return the keys of all servers and candidates, by what people call them; of another stack `prod: chat`."""
    return {
        **users(stack),
        **{f"{other.name}: {who}": key for other in others for who, key in users(other).items()},
    }


def running(cluster: Cluster, stack: Stack) -> Mapping[str, str]:
    """Return the folders that Deployments, Jobs and pods of the stack's namespace restore from or build, by prefix who.

    Raises:
        RefusedError: it is another stack's cluster.
        UnclearError: the cluster does not tell, or does not say whose it is.
    """
    namespace = stack.settings.namespace
    _refuse_another(cluster, stack)
    deployments = cluster.list(f"/apis/apps/v1/namespaces/{namespace}/deployments")
    jobs = cluster.list(f"/apis/batch/v1/namespaces/{namespace}/jobs")
    pods = cluster.list(f"/api/v1/namespaces/{namespace}/pods")
    specs = [
        *((f"Deployment {it['metadata']['name']}", it["spec"]["template"]["spec"]) for it in deployments),
        *((f"Job {it['metadata']['name']}", it["spec"]["template"]["spec"]) for it in jobs if not end_condition(it)),
        *((f"Pod {it['metadata']['name']}", it["spec"]) for it in pods if not has_ended(it)),
    ]
    found: dict[str, str] = {}
    for who, spec in specs:
        for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
            if folder := named(container.get("args") or ()):
                found.setdefault(folder.prefix, who)
                found.setdefault(folder.base.prefix, who)
    return found


def named(arguments: Sequence[str]) -> Folder | None:
    """Return the folder that the arguments of a program name; None: none."""
    # behind it comes the engine's command line, which has a --model of its own
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    values = dict(it.removeprefix("--").partition("=")[::2] for it in own if it.startswith("--") and "=" in it)
    if not values.keys() >= {*_PARTS}:
        return None
    try:
        return Folder(*(values[part] for part in _PARTS))
    except ManifestError:
        return None


def _refuse_another(cluster: Cluster, stack: Stack) -> None:
    """Refuse a cluster that is not the stack's: the templates of its Jobs say whose it is."""
    namespace, wanted = stack.settings.namespace, (stack.settings.name, stack.settings.account.id)
    templates = cluster.list(f"/apis/batch/v1/namespaces/{namespace}/cronjobs")
    owners = set(filter(None, map(whose, templates)))
    if strangers := sorted(owners - {wanted}):
        other, ours = named_cluster(*strangers[0]), named_cluster(*wanted)
        raise RefusedError(f"namespace {namespace}: of {other}, and the stack file names {ours}")
    if not owners:
        raise UnclearError(
            f"namespace {namespace}: no template in it says whose cluster this is; `pulumi up` makes them"
        )
