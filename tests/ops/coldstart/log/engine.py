"""What each engine version prints when it starts, made from the format strings that the parser knows, in any dress."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

BEGAN = datetime(2026, 11, 29, 16, 28, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Said:
    """A message of a process, seconds after the start."""

    at: float
    message: str
    by: str = "EngineCore pid=804"
    source: str = "core.py:116"
    """Empty: of uvicorn, which has no prefix of vLLM's."""


def start(version: str = "0.26.0", *, warm: bool = True, tag: str = "") -> list[Said]:
    """One start as gpu.md 2 measured it, with the compile cache or without."""
    api = "APIServer pid=675"
    kernels = 0.5 if warm else 103.2
    compiled = 6.1 if warm else 35.25
    cached = (
        [
            f"{tag}Directly load the compiled graph(s) for compile range (1, 8192) from the cache, took 1.551 s",
            f"{tag}Directly load AOT compilation from path /vllm-cache/x/model",
        ]
        if warm
        else [
            f"{tag}Cache the graph of compile range (1, 8192) for later use",
            f"{tag}saved AOT compiled function to /vllm-cache/x/model",
        ]
    )
    at_compiled = 43.5 + compiled
    said = [
        Said(18.4, f" ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version}", api, "api_utils.py:345"),
        Said(18.5, "Resolved architecture: Qwen3ForCausalLM", api, "model.py:623"),
        Said(36.5, f"Initializing a V1 LLM engine (v{version}) with config: model='/m'"),
        Said(39.0, "Loading model from scratch...", source="model_runner.py:284"),
        Said(43.0, "Model loading took 15.27 GiB and 4.000000 seconds", source="model_runner.py:305"),
        Said(44.0, f"{tag}Dynamo bytecode transform time: 3.68 s", source="backends.py:1155"),
        *(Said(45.0, text, source="backends.py:292") for text in cached),
        Said(at_compiled, f"{tag}torch.compile took {compiled:.2f} s in total", source="monitor.py:53"),
        Said(at_compiled + 1.4, "GPU KV cache size: 797,680 tokens", source="kv_cache_utils.py:2177"),
    ]
    sized = at_compiled + 1.4
    if version == "0.26.0":
        captured = sized + 6.0
        over = captured + kernels
    else:
        captured = over = sized + kernels + 6.0
    said += [
        Said(captured, "Graph capturing finished in 6 secs, took 0.60 GiB", source="model_runner.py:747"),
        Said(over, "Kernel JIT monitor activated; monitored JIT compilations ...", source="jit_monitor.py:79"),
        Said(over + 0.5, "init engine (profile, create kv cache, warmup model) took 15.06 s (compilation: 6.10 s)"),
        Said(over + 1.9, "Starting vLLM server on http://0.0.0.0:8000", api, "api_server.py:677"),
        Said(over + 2.4, "Application startup complete.", api, ""),
    ]
    return said


def dressed(said: Sequence[Said], dress: Callable[[Said], str]) -> list[str]:
    return [dress(it) for it in sorted(said, key=lambda it: it.at)]


def moment(said: Said) -> datetime:
    return BEGAN + timedelta(seconds=said.at)


def body(said: Said, *, process: bool = True) -> str:
    """The line as the engine prints it."""
    by = f"({said.by}) " if process else ""
    if not said.source:
        return f"{by}INFO:     {said.message}"
    return f"{by}INFO {moment(said):%m-%d %H:%M:%S} [{said.source}] {said.message}"


def plain(said: Said) -> str:
    return body(said, process=False)


def processes(said: Said) -> str:
    return body(said)


def coloured(said: Said) -> str:
    grey, cyan, green, reset = "\x1b[90m", "\x1b[0;36m", "\x1b[32m", "\x1b[0m"
    if not said.source:
        return f"{cyan}({said.by}){reset} {green}INFO{reset}:     {said.message}"
    stamp = f"{grey}{moment(said):%m-%d %H:%M:%S}{reset} {grey}[{said.source}]{reset}"
    return f"{cyan}({said.by}){reset} {green}INFO{reset} {stamp} {said.message}"


def runtime(said: Said) -> str:
    """As kubectl logs --timestamps: nanoseconds."""
    return f"{moment(said):%Y-%m-%dT%H:%M:%S.%f}000Z {body(said)}"


def pods(said: Said) -> str:
    """As kubectl logs --timestamps --prefix."""
    return f"[pod/gemma-7d9f/vllm] {runtime(said)}"


def node(said: Said) -> str:
    """A file of /var/log/pods."""
    return f"{moment(said):%Y-%m-%dT%H:%M:%S.%f}000Z stdout F {body(said)}"


def docker(said: Said) -> str:
    line = {"log": f"{body(said)}\n", "stream": "stdout", "time": f"{moment(said):%Y-%m-%dT%H:%M:%S.%f}Z"}
    return json.dumps(line)


def json_formatter(said: Said) -> str:
    """As vLLM itself, since 0.33."""
    stamp = moment(said)
    line = {"asctime": f"{stamp:%Y-%m-%d %H:%M:%S},{stamp.microsecond // 1000:03}", "levelname": "INFO"}
    return json.dumps({**line, "name": "vllm", "processName": said.by, "process": 804, "message": said.message})


def relative(said: Said) -> str:
    return f"{said.at:8.3f} {body(said)}"


def in_ranks(said: Sequence[Said], count: int, late: float) -> list[Said]:
    """What workers print is printed by each rank, a little later by each further one."""
    found = []
    for it in said:
        worker = it.by.startswith("EngineCore") and not it.message.startswith("init engine")
        if not worker:
            found.append(it)
            continue
        found += [replace(it, at=it.at + late * rank, by=f"Worker_TP{rank} pid={900 + rank}") for rank in range(count)]
    return found


EXACT = [runtime, pods, node, docker, json_formatter, relative]
"""Dresses with times of a part of a second."""

WHOLE_SECONDS = [plain, processes, coloured]
VERSIONS = ["0.26.0", "0.33.0"]


def seconds(found):
    """By phase."""
    return {phase: round(span.seconds, 3) for phase, span in found.spans.items()}


def unattributed(found):
    return found.total - sum(span.seconds for span in found.spans.values())
