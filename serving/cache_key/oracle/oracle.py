"""Ask the real vLLM which facts change its compile-cache key. Prints one JSON document; needs neither GPU nor weights.

Run with the Python of an environment that has that vLLM: `python oracle.py > 0.26.0.json`. Like `arguments/dump.py` it
stands alone and is never imported by the program. What it asks: the factors of `VllmConfig.compute_hash()` and of the
environment (`vllm.envs.compile_factors()`), which both layers of the cache hash, after the engine's own arguments,
defaults and CUDA platform have made the configuration from a command line. What it cannot see: traced code, the
compiler, the device. Only the list of facts is ours, and `tests/serving/cache_key/test_neutral.py` holds the program's
neutral list against the answers.

The environment: `uv pip install torch==2.11.0` (0.33.0: 2.14.0), the packages that its command line imports (vllm.md 2,
einops, xgrammar), `uv pip install --no-deps vllm==0.26.0`. 6 GB and a minute; the run takes two.
"""

import contextlib
import importlib
import importlib.util
import json
import os
import sys
import tempfile
import traceback
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

_CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "head_dim": 64,
    "hidden_act": "silu",
    "hidden_size": 256,
    "intermediate_size": 512,
    "max_position_embeddings": 40960,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 4,
    "vocab_size": 1024,
}
"""The smallest model that every flag below accepts. Its weights are never read."""

_PINNED = ("--max-model-len=8192", "--max-num-batched-tokens=8192", "--max-num-seqs=256")


@dataclass(frozen=True)
class Fact:
    """One change of a server: what it adds, and what must stand beside it (before and after)."""

    flags: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    weights: str | None = None
    moved: bool = False
    """The same model in another folder."""
    beside: Sequence[str] = ()
    before: Sequence[str] = ()
    """Flags that the change replaces."""


_OTHER = "<another-folder>"

# What the program sets, what `engine.args` may hold, and the rest of what vllm.md 1.3 names.
_FLAGS = """
--served-model-name=another --host=127.0.0.1 --port=9000 --shutdown-timeout=7
--disable-access-log-for-endpoints=/health --max-model-len=4096 --max-num-batched-tokens=4096 --max-num-seqs=64
--gpu-memory-utilization=0.8 --tensor-parallel-size=2 --pipeline-parallel-size=2 --load-format=runai_streamer

--tokenizer=<another-folder> --seed=7 --revision=abc --trust-remote-code --dtype=float16 --quantization=fp8
--max-logprobs=5 --generation-config=vllm --override-generation-config={"temperature":0.1} --enable-sleep-mode
--enable-cumem-allocator --language-model-only --limit-mm-per-prompt={"image":0} --mm-processor-kwargs={"num_crops":4}
--kv-cache-dtype=fp8 --kv-cache-memory-bytes=3G --block-size=32 --calculate-kv-scales --kv-offloading-size=4
--cpu-offload-gb=1 --no-enable-prefix-caching --attention-backend=TRITON_ATTN --compilation-config={"mode":0}
--enforce-eager --kernel-config={"enable_flashinfer_autotune":false} --optimization-level=1
--max-cudagraph-capture-size=64 --enable-lora --async-scheduling --no-async-scheduling --no-enable-chunked-prefill
--reasoning-parser=qwen3 --chat-template={{messages}} --tool-call-parser=hermes --enable-auto-tool-choice
"""

# What the program sets, what techniques set, and what vllm.md A8 and 1.3 name.
_ENV = """
AWS_REGION=eu-west-1 AWS_DEFAULT_REGION=eu-west-1 AWS_EC2_METADATA_DISABLED=true RUNAI_STREAMER_S3_TARGET_GBPS=100
HF_HUB_OFFLINE=0 HOME=/somewhere VLLM_ENGINE_READY_TIMEOUT_S=900 VLLM_NO_USAGE_STATS=1

VLLM_CACHE_ROOT=/vllm-cache FLASHINFER_WORKSPACE_BASE=/vllm-cache/flashinfer TRITON_CACHE_DIR=/vllm-cache/triton
CUDA_CACHE_PATH=/vllm-cache/nv PYTHONPYCACHEPREFIX=/vllm-cache/pycache VLLM_WORKER_MULTIPROC_METHOD=fork
VLLM_SERVER_DEV_MODE=1 VLLM_FORCE_AOT_LOAD=1 VLLM_ENABLE_STARTUP_PLAN=1

CUDA_HOME=/somewhere LD_LIBRARY_PATH=/somewhere VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 VLLM_API_KEY=a-key
VLLM_ASSETS_CACHE=/somewhere VLLM_BUILD_COMMIT=another VLLM_CONFIG_ROOT=/somewhere VLLM_DISABLE_COMPILE_CACHE=1
VLLM_DISABLE_LOG_LOGO=1 VLLM_DO_NOT_TRACK=1 VLLM_FLASHINFER_AUTOTUNE_SKIP_OPS=fp4_gemm VLLM_GC_DEBUG=1
VLLM_IMAGE_TAG=another VLLM_KEEP_ALIVE_ON_ENGINE_DEATH=1 VLLM_LOGGING_CONFIG_PATH=/somewhere VLLM_LOGGING_LEVEL=DEBUG
VLLM_LOGGING_PREFIX=p VLLM_LOG_MODEL_INSPECTION=1 VLLM_PLUGINS= VLLM_PROCESS_NAME_PREFIX=p VLLM_USAGE_SOURCE=another
VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_USE_RUST_FRONTEND=1 VLLM_XLA_CACHE_PATH=/somewhere XDG_CACHE_HOME=/somewhere
"""


def _loader(key: str = "", value: object = None) -> list[str]:
    extra = {"concurrency": 16, "memory_limit": 10**10} | ({key: value} if key else {})
    return [f"--model-loader-extra-config={json.dumps(extra)}"]


def _ngram(tokens: int) -> list[str]:
    speculation = {"method": "ngram", "num_speculative_tokens": tokens, "prompt_lookup_max": 4}
    return [f"--speculative-config={json.dumps(speculation)}"]


def _within_loader(key: str, value: object) -> Fact:
    return Fact(flags=_loader(key, value), before=_loader(), beside=["--load-format=runai_streamer"])


FACTS: Mapping[str, Fact] = {
    "model.argument": Fact(moved=True),
    "model.uri": Fact(weights="s3://another-bucket/models/m/r1/"),
    "flag.model-loader-extra-config": Fact(flags=_loader(), beside=["--load-format=runai_streamer"]),
    "flag.model-loader-extra-config.concurrency": _within_loader("concurrency", 64),
    "flag.model-loader-extra-config.memory_limit": _within_loader("memory_limit", 10**11),
    "flag.model-loader-extra-config.distributed": _within_loader("distributed", True),
    "flag.max-lora-rank": Fact(flags=["--max-lora-rank=64"], beside=["--enable-lora"]),
    "flag.speculative-config": Fact(flags=_ngram(3)),
    "flag.speculative-config.num_speculative_tokens": Fact(flags=_ngram(5), before=_ngram(3)),
    **{f"flag.{flag[2:].partition('=')[0]}": Fact(flags=[flag]) for flag in _FLAGS.split()},
    **{f"env.{name}": Fact(env={name: value}) for name, _, value in (item.partition("=") for item in _ENV.split())},
}


def main() -> None:
    """Write the answers to standard output: changes, same, or refused (this vLLM does not take it)."""
    for name in [name for name in os.environ if name.startswith(("VLLM_", "AWS_", "XDG_", "CUDA_", "HF_"))]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(HOME=scratch, VLLM_LOGGING_LEVEL="ERROR", HF_HUB_OFFLINE="1")
        folders = {moved: Path(scratch, f"model-{moved}") for moved in (False, True)}
        for folder in folders.values():
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(_CONFIG))
        with contextlib.redirect_stdout(sys.stderr):
            _cuda()
            _model_class()
            _module("vllm.engine.arg_utils")
            _command_line()
            answers = {name: _answer(fact, folders) for name, fact in FACTS.items()}
            if _apart(Fact(), folders) != _apart(Fact(), folders):
                raise SystemExit("the same server has two keys: no answer means anything")
        versions = {name: str(_module(name).__version__) for name in ("vllm", "torch")}
    lines = [f"  {json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    print(f'{{\n "engine": {json.dumps(versions["vllm"].partition("+")[0])},\n "facts": {{')
    print(",\n".join(lines))
    print(
        f' }},\n "source": "vllm {versions["vllm"]}, torch {versions["torch"]}, serving/cache_key/oracle/oracle.py"\n}}'
    )


def _answer(fact: Fact, folders: Mapping[bool, Path]) -> str:
    before = _apart(Fact(flags=fact.before, beside=fact.beside), folders)
    after = _apart(fact, folders)
    if not before:
        raise SystemExit(f"refused without the change already: {fact}")
    if not after:
        print(f"refused: {fact}", file=sys.stderr)
        return "refused"
    return "same" if before == after else "changes"


def _apart(fact: Fact, folders: Mapping[bool, Path]) -> str:
    """Return the key of a server, from a process of its own: vLLM keeps defaults that it made with an environment.

    Empty: vLLM refuses that server.
    """
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        os.environ.update(fact.env)
        try:
            os.write(sink, _key(fact, folders).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            # this process is a copy: it must not run the rest
            os._exit(0)
    os.close(sink)
    with os.fdopen(source) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


def _key(fact: Fact, folders: Mapping[bool, Path]) -> str:
    empty = _module("vllm.utils.argparse_utils").FlexibleArgumentParser(prog="vllm serve")
    parser = _command_line().make_arg_parser(empty)
    flags = (flag.replace(_OTHER, str(folders[True])) for flag in (*fact.beside, *fact.flags))
    given = parser.parse_args(["--model", str(folders[fact.moved]), *_PINNED, *flags])
    config = _module("vllm.engine.arg_utils").AsyncEngineArgs.from_cli_args(given).create_engine_config()
    if fact.weights:
        # what the streamer does after pulling the small files, for which there is no bucket here
        config.model_config.model_weights = fact.weights
    env = _module("vllm.config.utils").hash_factors(_module("vllm.envs").compile_factors())
    return f"{config.compute_hash()} {env}"


def _cuda() -> None:
    """Pretend an H200: vLLM's own CUDA platform, without its compiled extensions and without NVML."""
    for name in ("vllm._C", "vllm._C_stable_libtorch", "vllm._qutlass_C"):
        sys.modules[name] = types.ModuleType(name)
    platforms, interface = _module("vllm.platforms"), _module("vllm.platforms.interface")
    capability = interface.DeviceCapability(9, 0)
    seen = {
        "device_count": classmethod(lambda _: 8),
        "get_device_capability": classmethod(lambda *_, **__: capability),
        "get_device_name": classmethod(lambda *_, **__: "NVIDIA H200"),
        "get_device_total_memory": classmethod(lambda *_, **__: 150_754_820_096),
        "get_device_uuid": classmethod(lambda *_, **__: "GPU-0"),
        "is_cumem_allocator_available": lambda _: True,
        "is_fully_connected": classmethod(lambda *_: True),
    }
    platforms._current_platform = type("Cuda", (_module("vllm.platforms.cuda").CudaPlatformBase,), seen)()
    # the kernels that an uncompiled model takes; the platform does this when it really starts
    _module("vllm.kernels")


def _model_class() -> None:
    """Tell what vLLM would learn by importing the model's class, whose module needs the compiled extensions."""
    registry = _module("vllm.model_executor.models.registry")
    known = {
        "architecture": "Qwen3ForCausalLM",
        "attn_type": "decoder",
        "default_seq_pooling_type": "LAST",
        "default_tok_pooling_type": "ALL",
        "is_text_generation_model": True,
        "score_type": "bi-encoder",
        "supported_video_pruning_methods": (),
        "supports_lora": True,
        "supports_pp": True,
    }
    row = registry._ModelInfo(**{f.name: known.get(f.name, False) for f in fields(registry._ModelInfo)})
    registry._LazyRegisteredModel.inspect_model_cls = lambda _: row
    # quantized layers need the extensions too; the hash takes only the method's name (config/vllm.py, compute_hash)
    _module("vllm.config").VllmConfig._get_quantization_config = staticmethod(lambda *_: None)


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _command_line() -> Any:
    for name in ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.common.cli_args"):
        if importlib.util.find_spec(name):
            return _module(name)
    raise SystemExit("no command line in this vLLM")


if __name__ == "__main__":
    main()
