"""Every command line that the committed stacks can get from the program: stack, engine, instance type, techniques."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.gpu_pools import GpuPool
from infra.instances import catalogue
from serving.arguments import ENGINES
from serving.ladder import PRESETS
from serving.pod import Situation, baseline
from serving.pod.template import arguments
from serving.server import ServerSettings
from serving.server import situation as of
from serving.server.fit import PLACEMENT_RULES, SERVER_RULES
from serving.techniques import TECHNIQUES, applied, refusals
from tests.harness import REGION, STACKS, stack_settings
from tests.serving.ladder.matrix import TYPES
from tests.serving.situations import provided


@dataclass(frozen=True)
class CommandLine:
    """What follows `vllm serve`, as the engine's process gets it."""

    engine: str
    label: str
    """Of which stack, server, instance type and techniques."""
    items: tuple[str, ...]


def command_lines() -> Iterator[CommandLine]:
    """Yield one for each combination that the program's own refusals let through."""
    for stack in STACKS:
        settings = stack_settings(stack)
        for name, server in settings["servers"].items():
            for engine in ENGINES:
                for kind in TYPES:
                    pool = {**settings["gpuPools"][server["pool"]], **_only(kind)}
                    for combination, techniques in _combinations(server, engine, pool).items():
                        if items := _items(server, engine, pool, techniques):
                            yield CommandLine(engine, f"{stack}/{name} {kind} {combination}", items)


def _only(kind: str) -> dict[str, Any]:
    return {"product": catalogue()[kind].gpu, "instanceTypes": [kind], "maxGpus": catalogue()[kind].gpus}


def _combinations(server: dict[str, Any], engine: str, pool: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    presets = {f"preset {name}": preset.techniques for name, preset in PRESETS.items()}
    its_own = (*presets.get(f"preset {server.get('preset')}", ()), *(server.get("techniques") or ()))
    alone = {name: (*_needed(name), name) for name in TECHNIQUES}
    *_, about = _placed(server, engine, pool, ())
    together: tuple[str, ...] = ()
    for name in TECHNIQUES:
        if not list(refusals((*together, name), about)):
            together = (*together, name)
    return {"baseline": (), "as in the stack": its_own, **presets, **alone, "together": together}


def _needed(name: str) -> tuple[str, ...]:
    return tuple(below for need in TECHNIQUES[name].needs for below in (*_needed(need), need))


def _placed(
    server: dict[str, Any], engine: str, pool: dict[str, Any], techniques: tuple[str, ...]
) -> tuple[ServerSettings, GpuPool, Situation]:
    raw = {key: value for key, value in server.items() if key != "preset"}
    raw |= {"engine": {**server["engine"], "version": engine}, "techniques": list(dict.fromkeys(techniques))}
    if "lean-graphs" in techniques:
        raw["engine"] |= {"maxNumSeqs": 64}
    warm = {"warmNodes": 1, "maxGpus": 16} if "warm-nodes" in techniques else {}
    settings, nodes = ServerSettings.model_validate(raw), GpuPool.model_validate({**pool, **warm})
    return settings, nodes, of(settings, nodes, REGION)


def _items(
    server: dict[str, Any], engine: str, pool: dict[str, Any], techniques: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Nothing for what the program refuses."""
    settings, nodes, about = _placed(server, engine, pool, techniques)
    problems = [problem for rule in SERVER_RULES for problem in rule(settings)]
    problems += [problem for rule in PLACEMENT_RULES for problem in rule(settings, nodes, REGION)]
    if problems:
        return None
    pod = applied(baseline(about, "claim"), techniques, about, provided())
    model, *items = arguments(pod, about)
    return (
        # with the bucket it is known only while the program runs
        model if isinstance(model, str) else str(about.model.uri),
        # Kubernetes makes one dollar of two
        *(str(item).replace("$$", "$") for item in items),
    )
