"""What the servers of a pool ask of it together."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from infra.gpu_pools import GpuPool
from infra.gpu_pools.checks import Demand, demand_problems
from infra.gpu_pools.pool import SLOWEST_RETURN, window_problem
from infra.gpu_pools.warm_nodes import PodSize
from infra.naming import server_service_account
from serving.budget.disk import Footprint, footprint
from serving.budget.predict import in_force, predictions
from serving.budget.timeline import total
from serving.server import ServerSettings, situation
from serving.techniques import asked_of_nodes, images_beside, shaped, sidecars_take
from serving.techniques.cache_restore import CACHE_RESTORE


def pool_demand(name: str, servers: Mapping[str, ServerSettings]) -> dict[str, Demand]:
    """Return what each server of a pool takes from it."""
    return {
        key: Demand(_size(server), server.replicas, 1 if server.rollout == "surge" else 0)
        for key, server in servers.items()
        if server.pool == name
    }


def build_path(server: str) -> str:
    """Return what messages about a cache build of a server begin with."""
    return f"servers.{server}.cacheBuild"


def builds_without_room(servers: Mapping[str, ServerSettings], pools: Mapping[str, GpuPool]) -> dict[str, str]:
    """Return, by server that restores a cache, why the Job that builds it finds no GPU while all servers run.

    Pods of a surge and warm nodes are not counted: a rollout passes, and pause pods give way to a build.
    """
    found = {}
    for name, server in servers.items():
        if CACHE_RESTORE.name in server.chosen:
            pool = pools[server.pool].model_copy(update={"warm_nodes": 0})
            serving = {key: replace(it, surge=0) for key, it in pool_demand(server.pool, servers).items()}
            # the engine alone, without what runs beside it
            resources = server.resources
            size = replace(_size(server), cpu=resources.cpu * 1000, memory=resources.memory_gib * 1024)
            for path, problem in demand_problems(
                server.pool, pool, {**serving, f"cache build of {name}": Demand(size)}
            ):
                found[name] = (
                    f"{problem} (gpuPools.{server.pool}.{'.'.join(path)}): no GPU is left for the Job that builds its"
                    " start-up cache; allow more, or build while a server has fewer replicas"
                )
    return found


def booting(name: str, pool: GpuPool, servers: Mapping[str, ServerSettings]) -> GpuPool:
    """Return the pool with what its servers ask of its nodes, beside its own techniques."""
    asked = {
        technique for server in servers.values() if server.pool == name for technique in asked_of_nodes(server.chosen)
    }
    return pool.model_copy(update={"techniques": tuple(sorted({*pool.techniques, *asked}))})


def node_technique_problems(
    pools: Mapping[str, GpuPool], servers: Mapping[str, ServerSettings]
) -> Iterator[tuple[str, str]]:
    """Yield (server, problem) where two servers of one pool want nodes that boot differently, or its nodes cannot."""
    first: dict[str, str] = {}
    for name, server in servers.items():
        if (pool := pools.get(server.pool)) is None:
            continue
        wanted = {*pool.techniques, *asked_of_nodes(server.chosen)}
        other = first.setdefault(server.pool, name)
        others = {*pool.techniques, *asked_of_nodes(servers[other].chosen)}
        if wanted != others:
            yield (
                name,
                f"asks of the nodes of pool {server.pool} for {_listed(wanted)}, and server {other} for"
                f" {_listed(others)}; nodes boot one way: the same for both, or two pools",
            )
        elif wanted - {*pool.techniques} and (problem := window_problem(pool.update_window, sorted(wanted))):
            yield name, f"{problem} in gpuPools.{server.pool}.updateWindow"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _size(server: ServerSettings) -> PodSize:
    resources = server.resources
    cpu, memory = sidecars_take(server.chosen)
    return PodSize(
        cpu=resources.cpu * 1000 + cpu,
        memory=resources.memory_gib * 1024 + memory,
        gpus=server.engine.tensor_parallel,
    )


def footprints_beside(
    servers: Mapping[str, ServerSettings], pools: Mapping[str, GpuPool], region: str
) -> dict[str, dict[str, Footprint]]:
    """Return, by server, what the other servers of its pool leave on the disk of a node, by their names."""
    left = {}
    for name, server in servers.items():
        about = situation(server, pools[server.pool], region)
        left[name] = footprint(about, in_force(about, server.chosen))
    return {
        name: {other: left[other] for other in servers if other != name and servers[other].pool == server.pool}
        for name, server in servers.items()
    }


def slowest_return(name: str, pool: GpuPool, servers: Mapping[str, ServerSettings], region: str) -> tuple[float, str]:
    """Return what a pod costs that finds no node: the longest predicted start of a pool's servers, and whose it is.

    Returns:
        (seconds, the server and the type); for a pool without servers the slowest start that was measured.
    """
    starts = []
    for key, server in servers.items():
        if server.pool == name:
            about = situation(server, pool, region)
            for kind, its in predictions(about, in_force(about, server.chosen)).items():
                starts.append((total(its["fresh node"]), f"servers.{key} on {kind}, predicted"))
    if not starts:
        return float(SLOWEST_RETURN), "the slowest measured start: no server of this stack runs here"
    return max(starts)


def woken_from_outside(
    servers: Mapping[str, ServerSettings], pools: Mapping[str, GpuPool], region: str
) -> dict[str, str]:
    """Return the service account of each server whose agent takes its pod out of the Service, by the server's name."""
    return {
        name: server_service_account(name)
        for name, server in servers.items()
        if shaped(server.chosen, situation(server, pools[server.pool], region)).selected
    }


def engine_images(name: str, servers: Mapping[str, ServerSettings]) -> list[str]:
    """Return the upstream references that the servers of a pool run: engines first, each once, sorted."""
    its = [server for server in servers.values() if server.pool == name]
    beside = {image for server in its for image in images_beside(server.chosen)}
    return [*sorted({server.engine.image_reference for server in its}), *sorted(beside)]


def longest_grace_by_pool(servers: Mapping[str, ServerSettings]) -> dict[str, int]:
    """Return, by pool, the seconds that the slowest of its servers has to end. A pool without servers has none."""
    graces: dict[str, int] = {}
    for server in servers.values():
        graces[server.pool] = max(graces.get(server.pool, 0), server.shutdown.grace)
    return graces


def largest_by_pool(servers: Mapping[str, ServerSettings]) -> dict[str, PodSize]:
    """Return, by pool, the least place in which each of its servers fits. A pool without servers has none."""
    sizes: dict[str, PodSize] = {}
    for server in servers.values():
        size = _size(server)
        before = sizes.get(server.pool, size)
        sizes[server.pool] = PodSize(
            cpu=max(before.cpu, size.cpu),
            memory=max(before.memory, size.memory),
            gpus=max(before.gpus, size.gpus),
        )
    return sizes
