"""Whether a server can run where it is put: the arithmetic of its pool's nodes, its techniques and its flags."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from operator import attrgetter

from infra.gpu_pools import AGENTS_CPU, AGENTS_MEMORY, LONGEST_GRACE, GpuPool
from infra.gpu_pools.warm_nodes import PodSize
from serving.arguments import BadArgumentError
from serving.cache_key.server import server_key
from serving.engine import OWN_FLAGS, TEARDOWN, argument_problems
from serving.idle import idle_problems
from serving.server import ServerSettings, situation
from serving.techniques import flag_owners, refusals, unknown_techniques
from serving.techniques.cache_restore import CACHE_RESTORE

Problem = tuple[tuple[str, ...], str]
"""Path below `servers.<name>`, and what is wrong."""


def _shutdown(server: ServerSettings) -> Iterator[Problem]:
    shutdown = server.shutdown
    if shutdown.grace > LONGEST_GRACE:
        yield (
            ("shutdown",),
            f"drainSeconds {shutdown.drain_seconds} + requestSeconds {shutdown.request_seconds} + teardown {TEARDOWN}"
            f" = {shutdown.grace} s > {LONGEST_GRACE} s (a Spot notice is 120 s)",
        )


def _batching(server: ServerSettings) -> Iterator[Problem]:
    engine = server.engine
    if engine.max_num_seqs > engine.max_num_batched_tokens:
        yield (
            ("engine", "maxNumSeqs"),
            f"{engine.max_num_seqs} > maxNumBatchedTokens {engine.max_num_batched_tokens}, which vLLM refuses",
        )


def _technique_names(server: ServerSettings) -> Iterator[Problem]:
    for problem in unknown_techniques(server.techniques):
        yield ("techniques",), problem


def _arguments(server: ServerSettings) -> Iterator[Problem]:
    for flag, problem in argument_problems(server.engine, flag_owners(server.techniques)):
        yield ("engine", "args", flag), problem


def _candidate(server: ServerSettings) -> Iterator[Problem]:
    """A candidate is refused for what would refuse it as the engine."""
    if (promoted := server.promoted) is None:
        return
    if CACHE_RESTORE.name not in server.techniques:
        yield ("candidate",), f"has a cache to be built, and techniques has no {CACHE_RESTORE.name} to use it"
    for flag, problem in argument_problems(promoted.engine, flag_owners(server.techniques)):
        key = OWN_FLAGS.get(flag.lstrip("-"))
        shared = f"a candidate has the {key} of its server; change it there, in the release that promotes it"
        yield ("candidate", "args", flag), shared if key else problem


def _candidate_placed(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    if (promoted := server.promoted) is None:
        return
    with suppress(BadArgumentError):
        keys = [server_key(situation(it, pool, region), it.techniques) for it in (server, promoted)]
        if keys[0] == keys[1]:
            yield (
                ("candidate",),
                "has the cache of the engine as it stands; expected another version, image or args, or no candidate",
            )
    known = {problem for rule in _ONCE_PLACED for problem in rule(server, pool, region)}
    for rule in _ONCE_PLACED:
        for path, problem in rule(promoted, pool, region):
            if (path, problem) not in known:
                yield ("candidate", *path[1:]), problem


def _gpus(server: ServerSettings, pool: GpuPool, _region: str) -> Iterator[Problem]:
    wanted = server.engine.tensor_parallel
    for kind in pool.types:
        if kind.gpus < wanted:
            yield ("engine", "tensorParallel"), f"{wanted} GPUs > {kind.gpus} on {kind.name} of pool {server.pool}"


def _weights(server: ServerSettings, pool: GpuPool, _region: str) -> Iterator[Problem]:
    weights, engine = server.model.size_gib, server.engine
    for kind in pool.types:
        memory = kind.gpu_memory / 1024
        room = memory * engine.tensor_parallel * engine.gpu_memory_utilization
        if kind.gpus >= engine.tensor_parallel and weights > room:
            yield (
                ("model", "sizeGib"),
                f"{weights:g} GiB of weights > {engine.tensor_parallel} x {memory:.1f} GiB"
                f" x gpuMemoryUtilization {engine.gpu_memory_utilization:g} = {room:.1f} GiB on {kind.name}",
            )


def _host(server: ServerSettings, pool: GpuPool, _region: str) -> Iterator[Problem]:
    resources = server.resources
    for key, unit, asked, agents, offered in (
        ("memoryGib", " MiB", resources.memory_gib * 1024, AGENTS_MEMORY, attrgetter("allocatable_memory")),
        ("cpu", "m", resources.cpu * 1000, AGENTS_CPU, attrgetter("allocatable_cpu")),
    ):
        least = min(pool.types, key=offered)
        if asked + agents > offered(least):
            yield (
                ("resources", key),
                f"{asked}{unit} + {agents}{unit} node agents = {asked + agents}{unit}"
                f" > {offered(least)}{unit} allocatable on {least.name}",
            )


def _techniques(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    for problem in refusals(server.techniques, situation(server, pool, region)):
        yield ("techniques",), problem


def _idle(server: ServerSettings, pool: GpuPool, _region: str) -> Iterator[Problem]:
    for problem in idle_problems(server.idle, pool):
        yield ("idle",), problem


SERVER_RULES = (_shutdown, _batching, _technique_names, _arguments, _candidate)
"""What holds for a server wherever it runs. Each yields its problems."""

_ONCE_PLACED = (_gpus, _weights, _host, _techniques)

PLACEMENT_RULES = (*_ONCE_PLACED, _candidate_placed, _idle)
"""What holds for a server on the nodes of its pool, in a region."""


def pool_demand(name: str, servers: Mapping[str, ServerSettings]) -> dict[str, PodSize]:
    """Return what each server of a pool takes from it."""
    return {key: _size(server) for key, server in servers.items() if server.pool == name}


def _size(server: ServerSettings) -> PodSize:
    resources = server.resources
    return PodSize(cpu=resources.cpu, memory_gib=resources.memory_gib, gpus=server.engine.tensor_parallel)


def engine_images(name: str, servers: Mapping[str, ServerSettings]) -> list[str]:
    """Return the upstream references that the servers of a pool run, each once, in the order of their names."""
    return sorted({server.engine.image_reference for server in servers.values() if server.pool == name})


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
            memory_gib=max(before.memory_gib, size.memory_gib),
            gpus=max(before.gpus, size.gpus),
        )
    return sizes
