"""`ops cache build`: a Job from the server's template, refused when there is no GPU for it, and its verdict."""

from infra.naming import cache_build
from ops.cluster import jobs
from ops.cluster.api import Body, Cluster
from ops.cluster.follow import End
from ops.cluster.room import gpus, pods, refuse_without_room
from ops.failures import FAILED_CHECK, UNCLEAR, RefusedError
from ops.programs import BUILD_EXIT, BUILD_LINE
from ops.stack.keys import keyed_server
from ops.stack.stack_file import Stack
from serving.cache_key import cache_key
from serving.server import ServerSettings
from serving.server.demand import build_path

FINGERPRINT = "--fingerprint="
"""Of the program that the template runs."""


def prepared(cluster: Cluster, stack: Stack, name: str, server: ServerSettings, *, candidate: bool) -> Body:
    """Return the Job, which nothing stands against. Nothing is made yet.

    Args:
        cluster: the stack's.
        stack: its stack file.
        name: of the server.
        server: its settings, or what the candidate makes of them.
        candidate: which of the two templates.

    Raises:
        RefusedError: there is no template, it is an older one or another stack's, a build is running, or there is no
            free GPU.
        UnclearError: the cluster does not tell.
    """
    namespace, path = stack.settings.namespace, build_path(name)
    missing = "`pulumi up` makes it for a server with the technique cache-restore"
    template = jobs.template(cluster, stack, cache_build(name, candidate=candidate), why_missing=missing)
    pod = template["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    built = [it.removeprefix(FINGERPRINT) for it in pod["containers"][0]["args"] if it.startswith(FINGERPRINT)]
    fingerprint = cache_key(keyed_server(stack, server)).fingerprint
    if built != [fingerprint]:
        raise RefusedError(
            f"{path}: the cluster would build {', '.join(built)}, and this stack file needs {fingerprint}:"
            " run `pulumi up` first"
        )
    both = [cache_build(name), cache_build(name, candidate=True)]
    if busy := jobs.running(cluster, namespace, both):
        raise RefusedError(f"{path}: {busy[0]} is still running; follow it: {jobs.follow_by_hand(namespace, busy[0])}")
    limit = stack.settings.pools[server.pool].max_gpus
    refuse_without_room(path, server.pool, limit, gpus(pod), pods(cluster))
    # one name for both kinds: of two who come this far at once the API server refuses one
    return jobs.job(template, cache_build(name))


def verdict(title: str, end: End) -> tuple[str, int]:
    """Return the line that the program reported, and the exit code that goes with it.

    Args:
        title: of the Job, where there is no such line.
        end: of the Job.
    """
    if report := BUILD_LINE.search(end.message):
        return report[0], BUILD_EXIT.get(report["outcome"], FAILED_CHECK)
    return end.without_report(title), UNCLEAR
