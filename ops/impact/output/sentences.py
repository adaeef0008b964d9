"""A server's verdict in a comment: a headline, and a line for each of cache, pods and time without service."""

from collections.abc import Iterator

from ops import COMMAND
from ops.impact.compare import Impact
from ops.impact.leaves import ORDER, Change
from ops.impact.output.words import changed
from ops.impact.servers.cache import Cache
from ops.impact.servers.pods import Pods
from ops.impact.servers.verdict import Interruption, Server
from ops.markdown import code

_SHOWN = 2


def headline(server: Server) -> str:
    """Return the verdict in a line."""
    name = f"**{code(server.name)}**"
    if server.state == "removed":
        return f"{name}: removed; nothing answers at its address any more"
    if server.state == "new":
        after = f" about {server.after.seconds['fresh node']:.0f} s after `up`" if server.after else ""
        built = ", and longer until its cache is built" if server.restores else ""
        return f"{name}: new; it serves{after} from nothing{built}"
    if server.untouched:
        return f"{name}: untouched; cache and pods stay"
    return f"{name}: {', '.join(_points(server))}"


def bullets(server: Server, impact: Impact) -> Iterator[str]:
    """Yield a line for each thing that a reviewer has to know of a server that both revisions have."""
    if server.weights:
        yield _weights(server, impact)
    if server.state == "new" and server.restores:
        yield f"cache: {_first_build(server, impact)}"
    if server.state != "both" or server.untouched:
        return
    if server.cache and server.cache.outcome != "stays":
        yield _cache(server, server.cache, impact)
    if server.pods:
        yield from _pods(server, server.pods, impact)
    yield from (_interruption(it, server) for it in server.interruptions)


def _points(server: Server) -> Iterator[str]:
    if server.cache and server.cache.cold:
        yield "cold compile"
    elif server.cache and server.cache.outcome == "built as candidate":
        yield "another cache, which its candidate had built"
    if server.pods and server.pods.restart:
        yield "pods restart" if server.pods.certain else "pods may restart"
    if server.cache and server.cache.outcome == "to be built":
        yield "its cache is still to be built"
    lasting = [it.seconds for it in server.interruptions]
    if None in lasting:
        yield "nothing serves for a time that is not known"
    elif lasting:
        yield f"nothing serves for up to {max(it for it in lasting if it is not None):.0f} s"
    elif server.evicted:
        yield "its pods go with their nodes one at a time, it serves on"
    elif server.pods and server.pods.restart:
        yield "it serves on"
    else:
        yield "pods stay"


def _cache(server: Server, cache: Cache, impact: Impact) -> str:
    moved = _some([Change(name, *pair) for name, pair in cache.moved.items()])
    if cache.outcome == "none":
        return f"cache: it keeps none, so every start compiles, as before ({moved})"
    if cache.outcome == "given up":
        return "cache: it keeps none any more, so every start compiles from now on"
    if cache.outcome == "to be built":
        if not cache.restores:
            return "cache: the node keeps one from now on; the first start on each node compiles"
        build = _first_build(server, impact)
        return f"cache: the key stays; a fresh node compiles until an archive is in the bucket: {build}"
    if cache.outcome == "built as candidate":
        return (
            f"cache: the key moves ({moved}) to that of its candidate: no cold compile when that was built"
            f" (`{COMMAND} cache ls`)"
        )
    kept = "nothing of the old one fits"
    if cache.base_stays:
        kept = "the base archive still fits, so torch.compile alone runs again"
    return f"cache: the key moves ({moved}); {kept}. {_build(server, cache, impact)}"


def _build(server: Server, cache: Cache, impact: Impact) -> str:
    if not cache.restores:
        return "It restores none, so the first start on each node compiles"
    if cache.buildable:
        build = f"`{_command(server, impact)} --candidate`"
        return f"Build it first: the new engine below `servers.{server.name}.candidate`, `up`, {build}{_room(server)}"
    return f"No candidate can hold this, so it cannot be built first: {_first_build(server, impact)}"


def _first_build(server: Server, impact: Impact) -> str:
    return f"`{_command(server, impact)}` right after `up`{_room(server)}"


def _command(server: Server, impact: Impact) -> str:
    return f"{COMMAND} cache build --server {server.name} --stack {impact.stack}"


def _room(server: Server) -> str:
    return f". It finds no GPU: {code(server.no_room, 300)}" if server.no_room else ""


def _weights(server: Server, impact: Impact) -> str:
    return (
        f"weights: no server had {code(server.weights)} before; unless they are there (`{COMMAND} preflight"
        f" --stack {impact.stack}` tells), before `up`: `{COMMAND} weights onboard --server {server.name} --stack"
        f" {impact.stack} --repository OWNER/NAME --revision COMMIT`"
    )


def _pods(server: Server, pods: Pods, impact: Impact) -> Iterator[str]:
    was, now = pods.replicas
    if was != now:
        yield f"replicas: {was} -> {now}, which restarts no pod"
    if not pods.restart:
        return
    unsure = "" if pods.certain else "what differs is known only after `up`: "
    own = [it for it in pods.changed if not (server.cache and server.cache.names(it))]
    follows = "and what carries the fingerprint" if len(own) < len(pods.changed) else ""
    why = "the Deployment is replaced" if pods.replaced else unsure + ", ".join(filter(None, (_some(own), follows)))
    yield f"pods: {why}"
    if pods.rollout == "surge" and not pods.replaced:
        most = next((it.after for it in impact.cost.ceiling if it.what == f"pool {server.pool}"), "no GPU")
        yield (
            f"serves on: the new pod comes beside the old one (surge) and needs {pods.gpus} free GPU of pool"
            f" {code(server.pool)}, which may have {most}"
        )


def _interruption(it: Interruption, server: Server) -> str:
    when = {
        "rollout": "at the rollout, which ends the old pods first",
        "drift": "once more for each replacement of its node",
    }[it.when]
    if it.seconds is None:
        told = "nothing serves for a time that is not known"
        ends = f", up to {it.ending:.0f} s for the old pod's end" if it.ending else ""
        predicted = "" if it.predicted is None else f" (predicted {it.predicted:.0f} s{ends}, and a compile)"
        return f"{told}{predicted}, {when}"
    longer = it.seconds - (it.predicted or 0.0) - it.ending
    until = "until a cache is built" if server.restores else "to compile, once on each node"
    compiles = f" + {longer:.0f} s {until}" if longer >= 1 else ""
    kind = f" on {server.after.type}" if server.after else ""
    ends = f"the old pod ends: up to {it.ending:.0f} s + " if it.ending else ""
    parts = f"{ends}{it.start}{kind}: {it.predicted:.0f} s{compiles}"
    return f"nothing serves for about {it.seconds:.0f} s ({parts}), {when}"


def _some(changes: list[Change]) -> str:
    told = [it for it in changes if not it.path.endswith(ORDER)]
    shown = [f"{code(it.path)} {changed(it)}" for it in told[:_SHOWN]]
    order = [f"{code(it.path.removesuffix(ORDER))} in another order" for it in changes if it not in told]
    rest = len(told) - len(shown)
    return ", ".join([*shown, *order[:1], *([f"{rest} more"] if rest else [])])
