"""The lines of an engine's log that tell where its start has come to, as each engine version prints them.

Texts are parts of the format strings of vLLM's source (vllm.md 1.7, gpu.md 11); `make parser-check` looks for each of
them in the wheel of its version. What of torch.compile was a hit is in the programs of the pods already.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Name = Literal[
    "version",
    "resolved",
    "loading",
    "weights read",
    "loaded",
    "compiled",
    "cache sized",
    "captured",
    "kernels built",
    "initialised",
    "listening soon",
    "serving",
    "failed",
    "asleep",
    "awake",
]
"""`loading`: weights begin. `cache sized`: the KV profile is over. `captured`: CUDA graphs. `kernels built`: the
monitor of later builds starts, so the silent build of FlashInfer and Triton kernels is over (gpu.md 11)."""


@dataclass(frozen=True, kw_only=True)
class Marker:
    """A line that the engine prints when something has happened."""

    texts: tuple[str, ...]
    """Any of them is in the line: what stands between the `%s` of a format string."""
    message: re.Pattern[str]
    """Matches the message from its beginning: a prompt that somebody logs may hold any text. Its group `seconds` is how
    long it took, its group `version` the engine's."""
    uvicorn: bool = False
    """Of the HTTP server's own: no format string of vLLM's."""


def _says(*texts: str, pattern: str = "", uvicorn: bool = False) -> Marker:
    return Marker(texts=texts, message=re.compile(pattern or "|".join(map(re.escape, texts))), uvicorn=uvicorn)


_SECONDS = r"(?P<seconds>\d{1,9}(?:\.\d+)?)"

V0_26: Mapping[Name, Marker] = {
    # the logo, or the line in its place (VLLM_DISABLE_LOG_LOGO); a build's own part (+cpu) is not the version's
    "version": _says(
        "  version ",
        "vLLM server version ",
        pattern=r"(?:[\s\u2580-\u259f]*  version |vLLM server version )v?(?P<version>\d+\.\d+\.\d+)",
    ),
    "resolved": _says("Resolved architecture: "),
    "loading": _says("Loading model from scratch...", "Starting to load model "),
    "weights read": _says("Loading weights took ", pattern=rf"Loading weights took {_SECONDS} seconds"),
    "loaded": _says(
        "Model loading took ", pattern=rf"Model loading took [\d.]+ GiB(?: memory)? and {_SECONDS} seconds"
    ),
    "compiled": _says("torch.compile took ", pattern=rf"torch\.compile took {_SECONDS} s in total"),
    "cache sized": _says(" KV cache size: ", pattern=r"[\w +]+ KV cache size: [\d,]+ tokens"),
    "captured": _says("Graph capturing finished in ", pattern=rf"Graph capturing finished in {_SECONDS} secs"),
    "kernels built": _says("Kernel JIT monitor activated"),
    "initialised": _says(
        "init engine (profile, create kv cache, warmup model) took ",
        pattern=rf"init engine \(profile, create kv cache, warmup model\) took {_SECONDS} s",
    ),
    "listening soon": _says("Starting vLLM server on "),
    "serving": _says("Application startup complete.", uvicorn=True),
    # the engine's own process says the first, the one before it the second
    "failed": _says(
        "EngineCore failed to start.",
        "Engine core initialization failed",
        pattern=r"EngineCore failed to start\.|(?:RuntimeError: )?Engine core initialization failed",
    ),
    "asleep": _says(" seconds to fall asleep.", pattern=rf"It took {_SECONDS} seconds to fall asleep"),
    "awake": _says(" seconds to wake up tags ", pattern=rf"It took {_SECONDS} seconds to wake up tags"),
}

VERSIONS: Mapping[str, Mapping[Name, Marker]] = {"0.26.0": V0_26, "0.33.0": V0_26}
"""By engine version. 0.33.0 prints the same texts, some with a `[tag] ` before them or in one line where there were
two; but it builds kernels before it captures graphs."""

KERNELS_FIRST: frozenset[str] = frozenset({"0.33.0"})
"""Versions that build kernels between KV profile and graphs (`_compile_or_warm_up_model` of their gpu_worker.py; in
0.26.0 `warmup_kernels` comes after `capture_model`)."""
