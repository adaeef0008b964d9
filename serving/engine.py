"""The engine: its settings, its time limits, and its command line."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue

from infra.image_cache.reference import image_reference
from infra.section import Decimal, Section, Whole, shown
from serving.arguments import ENGINES, BadArgumentError, MeantError, written
from serving.arguments.confidential import confidential
from serving.arguments.together import HEADLESS, engine_problems

START_LIMIT = 1800
"""Seconds that an engine may take from start to serving, on the worst path: every cache missed.

The one constant behind VLLM_ENGINE_READY_TIMEOUT_S, the startup probe, the progress deadline and Pulumi's time-out. It
is part of vLLM's compile-cache key (gpu.md 5), so it must never differ between servers, environments or ladder steps.
"""

STARTUP_SLACK = 120
"""Seconds beyond START_LIMIT for what runs before the engine's own clock: imports, arguments, the model's config."""

NODE_LIMIT, PULL_LIMIT, RESTORE_LIMIT = 900, 600, 120
"""Seconds: Karpenter gives a node 15 minutes to register; 10 GB of image over a slow path; what a restore of the cache
may take, which saves 125 to 160 s (gpu.md 2)."""

PROGRESS_DEADLINE = NODE_LIMIT + PULL_LIMIT + RESTORE_LIMIT + START_LIMIT + STARTUP_SLACK
PULUMI_SLACK = 300
"""Seconds that Pulumi waits for a Deployment beyond its deadline, so that it can say what Kubernetes said."""

TEARDOWN = 5
"""Seconds from the last request to the end of the process (3.8 s measured, gpu.md 10)."""

PORT = 8000
ROOT = "/vllm-cache"
"""Everything that vLLM writes lies below it."""
HOME = f"{ROOT}/home"
"""Part of the compile-cache key: the same for every server, for ever."""

REPOSITORY = "vllm/vllm-openai"
ENTRY_POINT = ("vllm", "serve")
"""Of its images. A pod whose engine has a parent names it; all others leave it to the image."""

ONE_NODE = "one server runs on one node: a model over several nodes is a later capability, not built yet"
_TENSOR_PARALLEL = "the pod asks for engine.tensorParallel GPUs, and the pool's limit counts only those"

REFUSED = {
    "api-key": "a key on the command line is in the pod spec and in the log; check tokens in front of the engine",
    "config": "a second source of arguments would escape these checks",
    "uds": "probes and Services need the TCP port",
    "headless": HEADLESS,
    "grpc": "probes and clients speak HTTP",
    "grpc-port": "probes and clients speak HTTP",
    "ssl-keyfile": "probes and clients speak plain HTTP inside the cluster",
    "ssl-certfile": "probes and clients speak plain HTTP inside the cluster",
    "model": "the model is the server's model.uri",
    "hf-token": "a token on the command line is in the pod spec and in the log",
    "nnodes": ONE_NODE,
    "node-rank": ONE_NODE,
    "master-addr": ONE_NODE,
    "master-port": ONE_NODE,
    "distributed-executor-backend": ONE_NODE,
    "data-parallel-address": ONE_NODE,
    "data-parallel-backend": ONE_NODE,
    "data-parallel-external-lb": ONE_NODE,
    "data-parallel-hybrid-lb": ONE_NODE,
    "data-parallel-multi-port-external-lb": ONE_NODE,
    "data-parallel-rank": ONE_NODE,
    "data-parallel-rpc-port": ONE_NODE,
    "data-parallel-start-rank": ONE_NODE,
    "pipeline-parallel-size": _TENSOR_PARALLEL,
    "data-parallel-size": _TENSOR_PARALLEL,
    "data-parallel-size-local": _TENSOR_PARALLEL,
    "prefill-context-parallel-size": _TENSOR_PARALLEL,
    "enable-sleep-mode": "opens endpoints without authentication; it comes as a technique of its own",
}
"""Flags that no stack file may set, and why."""

_ALREADY_SO: Mapping[str, bool | int] = {
    "headless": False,
    "grpc": False,
    "enable-sleep-mode": False,
    "nnodes": 1,
    "node-rank": 0,
    "data-parallel-size": 1,
    "data-parallel-external-lb": False,
    "data-parallel-hybrid-lb": False,
    "pipeline-parallel-size": 1,
    "prefill-context-parallel-size": 1,
}
"""What vLLM makes of those that are left out."""

_EXECUTORS = ("uni", "mp")
"""Of one node: for one GPU, and for several (vllm/config/parallel.py)."""


def _version(value: str) -> str:
    if value not in ENGINES:
        raise ValueError(
            f"no argument table for it; expected one of {', '.join(ENGINES)}, or a table made by"
            " serving/arguments/dump.py"
        )
    return value


def _image(value: str) -> str:
    reference = image_reference(value)
    if reference.digest is None and reference.tag in (None, "latest", "nightly"):
        raise ValueError("moves under a running server; expected a fixed tag or a digest")
    return value


Version = Annotated[
    Annotated[str, AfterValidator(_version)],
    Field(description=f"an engine version in quotes, one of {', '.join(ENGINES)}"),
]
Image = Annotated[
    Annotated[str, AfterValidator(_image)] | None,
    Field(description=f"an image reference with a fixed tag (left out: {REPOSITORY}:v<version>)"),
]
Args = Annotated[
    Mapping[str, JsonValue],
    Field(description="further `vllm serve` flags without dashes, each with its value (may be empty: {})"),
]


class CandidateSettings(Section):
    """`servers.<name>.candidate`: what `engine` is to become. Its start-up cache can be built before it is."""

    version: Version
    image: Image = None
    args: Args


class EngineSettings(Section):
    """`servers.<name>.engine`.

    What vLLM would choose by GPU memory is pinned: a default that moves with the GPU is another compile cache.
    """

    version: Version
    image: Image = None
    max_model_len: Annotated[Whole, Field(ge=256, le=10_000_000)] = Field(
        description="a whole number of tokens, 256 to 10000000"
    )
    max_num_batched_tokens: Annotated[Whole, Field(ge=256, le=1_000_000)] = Field(
        description="a whole number of tokens, 256 to 1000000"
    )
    max_num_seqs: Annotated[Whole, Field(ge=1, le=8192)] = Field(description="a whole number of requests, 1 to 8192")
    gpu_memory_utilization: Annotated[Decimal, Field(ge=0.1, le=0.98)] = Field(
        description="a share of GPU memory, 0.1 to 0.98"
    )
    tensor_parallel: Annotated[Whole, Field(ge=1, le=16)] = Field(description="a whole number of GPUs, 1 to 16")
    user: Annotated[Whole, Field(ge=0, le=65535)] = Field(
        default=0, description="the uid that the image runs as, 0 to 65535 (vLLM's own images: 0)"
    )
    args: Args

    def released(self, candidate: CandidateSettings) -> "EngineSettings":
        """Return the engine that the candidate makes of this one."""
        return self.model_copy(update={"version": candidate.version, "image": candidate.image, "args": candidate.args})

    @property
    def image_reference(self) -> str:
        """The upstream image. Nodes pull what `infra.image_cache.rewrite.rewritten` makes of it."""
        return self.image or f"{REPOSITORY}:v{self.version}"


OWN_FLAGS = {
    "served-model-name": "model.servedName",
    "max-model-len": "engine.maxModelLen",
    "max-num-batched-tokens": "engine.maxNumBatchedTokens",
    "max-num-seqs": "engine.maxNumSeqs",
    "gpu-memory-utilization": "engine.gpuMemoryUtilization",
    "tensor-parallel-size": "engine.tensorParallel",
    "shutdown-timeout": "shutdown.requestSeconds",
    "host": None,
    "port": None,
    "disable-access-log-for-endpoints": None,
}
"""Flags that the program sets, and the key of the server that decides them."""


def own_flags(engine: EngineSettings, served_name: str, request_seconds: int) -> dict[str, Any]:
    """Return the flags of every server, whatever its techniques."""
    return {
        "served-model-name": [served_name],
        "max-model-len": engine.max_model_len,
        "max-num-batched-tokens": engine.max_num_batched_tokens,
        "max-num-seqs": engine.max_num_seqs,
        "gpu-memory-utilization": engine.gpu_memory_utilization,
        "tensor-parallel-size": engine.tensor_parallel,
        # 0, vLLM's default, cuts running requests on SIGTERM so that they look complete (gpu.md 10)
        "shutdown-timeout": request_seconds,
        "host": "0.0.0.0",  # noqa: S104 - the pod's own address: every pod of the cluster reaches it (docs/proven.md)
        "port": PORT,
        "disable-access-log-for-endpoints": "/health,/metrics,/ping",
    }


def command_line(engine: EngineSettings, flags: Mapping[str, Any]) -> list[str]:
    """Return every argument after the model, the stack file's own last.

    Raises:
        BadArgumentError: a flag that this engine version does not take.
    """
    return [item for flag, value in {**flags, **engine.args}.items() for item in written(engine.version, flag, value)]


def argument_problems(engine: EngineSettings, taken: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (flag, problem) for each entry of `args` that cannot stand.

    Args:
        engine: the server's engine.
        taken: flags that techniques set, with the technique's name.
    """
    for flag, value in engine.args.items():
        bare = flag.lstrip("-")
        if fate := _fate(bare, taken):
            # what a technique sets is not so already
            yield flag, (None if bare in taken else _leave_out(bare, value)) or fate
        elif secret := confidential(bare, value):
            yield flag, f"refused: {secret}"
        else:
            yield from ((flag, f"{shown(value)}; {problem}") for problem in _problems(engine, flag, taken))


def _fate(flag: str, taken: Mapping[str, str]) -> str | None:
    """Return why no value of a flag stands, or None."""
    if flag in REFUSED:
        return f"refused: {REFUSED[flag]}"
    if flag in OWN_FLAGS:
        key = OWN_FLAGS[flag]
        return f"set by the program; {f'change {key} instead' if key else 'it is the same for every server'}"
    return f"set by the technique {taken[flag]}" if flag in taken else None


def _leave_out(flag: str, value: object) -> str | None:
    """Return that a value is right, and need not be said; None for all others."""
    if flag == "distributed-executor-backend" and value in _EXECUTORS:
        return f"{shown(value)}; leave it out: vLLM takes {_EXECUTORS[0]} for one GPU and {_EXECUTORS[1]} for several"
    if flag in _ALREADY_SO and str(value).lower() == str(_ALREADY_SO[flag]).lower():
        return f"{shown(value)}; leave it out: it is so already"
    return None


def _problems(engine: EngineSettings, flag: str, taken: Mapping[str, str]) -> Iterator[str]:
    try:
        written(engine.version, flag, engine.args[flag])
    except MeantError as error:
        # advice to write what is refused in its turn would be none
        fate = _fate(error.meant, taken)
        yield "; ".join(filter(None, (error.wrong, f"{error.meant} is {fate}"))) if fate else str(error)
    except BadArgumentError as error:
        yield str(error)
    else:
        yield from engine_problems(engine.version, flag, engine.args, own_flags(engine, "", 0))
