"""What the engine refuses after its parser has taken each flag by itself (seen on 0.26.0 and 0.33.0)."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from infra.section import nearest
from serving.arguments import table, unknown_name

NEEDS = {
    "enable-auto-tool-choice": "tool-call-parser",
    "enable-log-outputs": "enable-log-requests",
    "numa-bind-nodes": "numa-bind",
    "numa-bind-cpus": "numa-bind",
    "collect-detailed-traces": "otlp-traces-endpoint",
}
"""Flags that vLLM refuses without another one."""

HEADLESS = "a headless engine serves nothing"

_LEAST = {"api-server-count": (1, f": {HEADLESS}"), "sse-keep-alive-interval": (0, "")}
"""Least values that only code knows, and why: the tables have those that vLLM's classes say."""

_NAMES = {
    ("compilation-config", "mode"): ("NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"),
    ("compilation-config", "cudagraph_mode"): ("NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"),
}
"""Names in any case that vllm/config/compilation.py turns into a value."""

_NUMBERED = {"mode": 4, "cudagraph_mode": 3}
"""How many of them are known by a number too, from 0 on."""

_NO_DRAFT_MODEL = ("dspark", "extract_hidden_states", "ngram", "ngram_gpu", "suffix")
"""Speculative methods that need no model, beside those that end with mtp (vllm/config/speculative.py)."""

_SPECULATIVE = {"spec-method": "method", "spec-model": "model", "spec-tokens": "num_speculative_tokens"}
"""Flags that are a key of `speculative-config`."""

_DEFAULT_LOADER = ("enable_multithread_load", "enable_weights_track", "num_threads")
LOADER_KEYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("auto", "hf", "safetensors", "pt", "npcache", "mistral", "fastsafetensors"), _DEFAULT_LOADER),
    "dummy": (),
    "runai_streamer": ("concurrency", "distributed", "memory_limit"),
    "runai_streamer_sharded": ("pattern",),
    "sharded_state": ("pattern",),
}
"""What `model-loader-extra-config` may hold, by load format (vllm/model_executor/model_loader, 0.26.0 and 0.33.0)."""


def engine_problems(engine: str, flag: str, args: Mapping[str, Any], own: Mapping[str, Any], /) -> Iterator[str]:
    """Yield what the engine refuses of one flag, which its parser takes.

    Args:
        engine: its version.
        flag: of `args`.
        args: flags of the stack file.
        own: flags that the program sets.
    """
    value = _parsed(args[flag])
    if unknown := unknown_name(engine, args, flag):
        yield unknown
    if (beside := NEEDS.get(flag)) and not _off(value) and _off(args.get(beside)):
        yield f"needs {beside} beside it"
    if flag in _LEAST and _number(value) < (least := _LEAST[flag])[0]:
        yield f"expected >= {least[0]}{least[1]}"
    if flag == "speculative-config" or flag in _SPECULATIVE:
        yield from _speculative(flag, args)
    if isinstance(value, Mapping):
        yield from _object(engine, flag, value, args)
    yield from _numbers(flag, args, own)


def _off(value: Any) -> bool:
    """Whether a switch is off, or nothing is said. 0 is something."""
    return value is None or value is False or value in ("", "false", "None")


def _parsed(value: Any) -> Any:
    """Return the object that a text stands for; what is wrong with that of another flag is said there."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(json.JSONDecodeError):
            return json.loads(value)
    return value


def _number(value: Any) -> float:
    """Return a number that may be written as text, as vLLM takes it. No number compares as neither more nor less."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _numbers(flag: str, args: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    longest, batch, requests = (own[f"max-{it}"] for it in ("model-len", "num-batched-tokens", "num-seqs"))
    match flag:
        case "max-cudagraph-capture-size" if _number(args[flag]) < 1 and _off(args.get("enforce-eager")):
            # these may say that there are no graphs at all
            if "compilation-config" not in args and "optimization-level" not in args:
                yield "expected >= 1; no graphs at all: enforce-eager: true"
        case "max-num-active-seqs" if _number(args[flag]) > requests:
            yield f"expected <= engine.maxNumSeqs {requests}"
        case "enable-chunked-prefill" if _off(args[flag]) and longest > batch:
            yield f"engine.maxModelLen {longest} > engine.maxNumBatchedTokens {batch}: no batch holds such a prompt"
        case "max-cpu-loras" if not _off(args.get("enable-lora")):
            # 0 and less: vLLM chooses
            if 0 < _number(args[flag]) < _number(most := args.get("max-loras", 1)):
                yield f"expected >= max-loras {most}"


def _speculative(flag: str, args: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong of a method that several flags may name: said of the first of them."""
    given = config if isinstance(config := _parsed(args.get("speculative-config")), Mapping) else {}
    beside = {key: args[name] for name, key in _SPECULATIVE.items() if not _off(args.get(name))}
    if (key := _SPECULATIVE.get(flag)) in given:
        yield f"speculative-config says {key} already"
    whole = {**given, **beside}
    if flag != next(name for name in ("speculative-config", *_SPECULATIVE) if name in args):
        return
    model = whole.get("model")
    # this model is the name of a method
    method = str(whole.get("method") or (model if model in ("ngram", "[ngram]") else "draft_model")).strip("[]")
    if method not in _NO_DRAFT_MODEL and not method.endswith("mtp"):
        if not model:
            yield f"{method} needs a model; methods without one: {', '.join(_NO_DRAFT_MODEL)}, or one of mtp"
    elif method != "suffix" and model in (None, "ngram", "[ngram]") and whole.get("num_speculative_tokens") is None:
        yield f"{method} needs num_speculative_tokens"


def _object(engine: str, flag: str, value: Mapping[str, Any], args: Mapping[str, Any]) -> Iterator[str]:
    if flag == "model-loader-extra-config":
        keys = LOADER_KEYS.get(str(args.get("load-format", "auto")))
        yield from (
            f"{key}: no such key; {nearest(key, keys)}" for key in value if keys is not None and key not in keys
        )
    if flag == "kv-transfer-config":
        yield from (f"{key}: missing" for key in ("kv_connector", "kv_role") if value.get(key) is None)
    known = {key: names for (of, key), names in _NAMES.items() if of == flag}
    if flag == "attention-config":
        known = {"backend": ("AUTO", *table(engine)["attention-backend"].registered)}
    for key, names in known.items():
        inner = value.get(key)
        named = isinstance(inner, str) and inner.upper() in names
        # true is 1 to pydantic, and 2.0 is 2
        if inner is not None and not named and inner not in range(_NUMBERED.get(key, 0)):
            yield f"{key}: {nearest(str(inner).upper(), names)}"
