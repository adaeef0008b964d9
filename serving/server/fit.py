"""Whether a server can run where it is put: the arithmetic of its pool's nodes, its techniques and its flags."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter

from infra.gpu_pools import AGENTS_CPU, AGENTS_MEMORY, LONGEST_GRACE, GpuPool
from infra.instances import catalogue, types_with
from serving.arguments import BadArgumentError
from serving.budget import Problem, disk, gpu_memory, host_memory, predict, uncounted
from serving.budget.disk import Footprint
from serving.cache_key.server import server_key
from serving.engine import ONE_NODE, OWN_FLAGS, TEARDOWN, argument_problems
from serving.idle import idle_problems
from serving.pod import Situation
from serving.server import ServerSettings, situation
from serving.techniques import flag_owners, refusals, sidecars_take, unknown_techniques
from serving.techniques.cache_restore import CACHE_RESTORE
from serving.techniques.front.front_proxy import FRONT_PROXY
from serving.techniques.front.sleep_mode import SLEEP_MODE


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
    for problem in unknown_techniques(server.chosen):
        yield ("techniques",), problem


def _arguments(server: ServerSettings) -> Iterator[Problem]:
    for flag, problem in argument_problems(server.engine, flag_owners(server.chosen)):
        yield ("engine", "args", flag), problem


def _candidate(server: ServerSettings) -> Iterator[Problem]:
    """A candidate is refused for what would refuse it as the engine."""
    if (promoted := server.promoted) is None:
        return
    if CACHE_RESTORE.name not in server.chosen:
        yield ("candidate",), f"has a cache to be built, and no technique {CACHE_RESTORE.name} to use it"
    for flag, problem in argument_problems(promoted.engine, flag_owners(server.chosen)):
        key = OWN_FLAGS.get(flag.lstrip("-"))
        shared = f"a candidate has the {key} of its server; change it there, in the release that promotes it"
        yield ("candidate", "args", flag), shared if key else problem


def _candidate_placed(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    if (promoted := server.promoted) is None:
        return
    with suppress(BadArgumentError):
        keys = [server_key(situation(it, pool, region), it.chosen) for it in (server, promoted)]
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
    most = max(catalogue()[name].gpus for name in types_with(pool.product))
    beyond = f"; {ONE_NODE}" if wanted > most else ""
    for kind in pool.types:
        if kind.gpus < wanted:
            yield (
                ("engine", "tensorParallel"),
                f"{wanted} GPUs > {kind.gpus} on {kind.name} of pool {server.pool}{beyond}",
            )


def _gpu_memory(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    yield from gpu_memory.refusals(situation(server, pool, region))


def _host_memory(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    yield from host_memory.refusals(situation(server, pool, region), server.chosen)


def _disk(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    about = situation(server, pool, region)
    yield from disk.refusals(about, predict.in_force(about, server.chosen))


def _host(server: ServerSettings, pool: GpuPool, _region: str) -> Iterator[Problem]:
    resources = server.resources
    cpu, memory = sidecars_take(server.chosen)
    for key, unit, asked, beside, agents, offered in (
        ("memoryGib", " MiB", resources.memory_gib * 1024, memory, AGENTS_MEMORY, attrgetter("allocatable_memory")),
        ("cpu", "m", resources.cpu * 1000, cpu, AGENTS_CPU, attrgetter("allocatable_cpu")),
    ):
        least = min(pool.types, key=offered)
        if asked + beside + agents > offered(least):
            more = f" + {beside}{unit} sidecars" if beside else ""
            yield (
                ("resources", key),
                f"{asked}{unit}{more} + {agents}{unit} node agents = {asked + beside + agents}{unit}"
                f" > {offered(least)}{unit} allocatable on {least.name}",
            )


def _techniques(server: ServerSettings, pool: GpuPool, region: str) -> Iterator[Problem]:
    for problem in refusals(server.chosen, situation(server, pool, region)):
        yield ("techniques",), problem


def _idle(server: ServerSettings, pool: GpuPool, _region: str) -> Iterator[Problem]:
    for problem in idle_problems(server.idle, pool):
        yield ("idle",), problem


SERVER_RULES = (_shutdown, _batching, _technique_names, _arguments, _candidate)
"""What holds for a server wherever it runs. Each yields its problems."""

_ONCE_PLACED = (_gpus, _gpu_memory, _host, _host_memory, _disk, _techniques)

PLACEMENT_RULES = (*_ONCE_PLACED, _candidate_placed, _idle)
"""What holds for a server on the nodes of its pool, in a region."""


_UNPREDICTED = ("compilation-config", "cudagraph-capture-sizes", "enforce-eager", "max-cudagraph-capture-size")
"""Arguments that change what compiling and graphs take, in ways that nobody measured here."""

_OWN_SECTION = {"front": FRONT_PROXY.name, "sleep": SLEEP_MODE.name}


def without_effect(server: ServerSettings, *, tokens: bool) -> Iterator[Problem]:
    """Yield what the settings say, and nothing comes of it.

    Args:
        server: the settings.
        tokens: the stack has tokens for its servers' clients.
    """
    for section, technique in _OWN_SECTION.items():
        if section in server.model_fields_set and technique not in server.chosen:
            yield (section,), f"does nothing without the technique {technique}"
    if server.preset == "nightly-idle" and server.idle is None:
        yield ("preset",), "nightly-idle without idle.schedule never stops, and costs what it costs by day"
    if tokens and FRONT_PROXY.name not in server.chosen:
        yield ("techniques",), f"the stack has tokens, and without {FRONT_PROXY.name} nothing here asks for one"
    for flag in _UNPREDICTED:
        if flag in server.engine.args:
            yield ("engine", "args", flag), "changes the start, and the prediction does not know how"


def warnings(about: Situation, techniques: Sequence[str], beside: Mapping[str, Footprint]) -> Iterator[Problem]:
    """Yield what a server may run short of, which is no reason to refuse it.

    Args:
        about: the server.
        techniques: its own.
        beside: what the other servers of its pool leave on a node's disk.
    """
    yield from gpu_memory.warnings(about)
    yield from host_memory.warnings(about, techniques)
    yield from uncounted.warnings(about)
    in_force = predict.in_force(about, techniques)
    yield from disk.warnings(about, in_force, beside)
    yield from predict.warnings(about, in_force)
