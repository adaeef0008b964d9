"""The key of a server's start-up cache: where the bucket holds it, and which facts another one would be needed for.

    vllm-cache/<engine>/<gpu product>/<model>/<fingerprint>/   everything
    vllm-cache/<engine>/<gpu product>/<model>/base/            without what torch.compile made: for another fingerprint

vLLM's own keys cannot name the archive: they leave out facts that change the compiled code (GPU, multimodal limits,
speculative tokens: vllm.md A6, A7), and they are known only inside an engine. So the fingerprint covers everything that
is not on a short list of facts known to be neutral (`neutral.py`): one fact too many costs half a minute of compiling,
one too few a crash. Pure functions of plain values: the same key is computed by the program, by `ops` and by tests.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from infra.gpu_pools import GpuPool
from infra.image_cache.reference import image_reference
from infra.model_bucket import CACHES, MODELS
from serving.cache_key.neutral import neutral
from serving.cache_key.segments import segment
from serving.cache_key.spelling import canonical_flags
from serving.engine import EngineSettings
from serving.model import ModelSettings

BASE = "base"
"""In the place of a fingerprint, which is hexadecimal and longer."""

FINGERPRINT = 32
"""Hexadecimal digits: it is the name of a folder on nodes too, and fits a label value."""


@dataclass(frozen=True, kw_only=True)
class KeyedServer:
    """What decides over a server's cache. `serving.cache_key.server.keyed` makes it from settings."""

    engine: EngineSettings
    model: ModelSettings
    pool: GpuPool
    argument: str
    """First argument of `vllm serve`: a folder or an s3:// URI. vLLM hashes it."""
    flags: Mapping[str, object]
    """Flags of the pod after all techniques, without those of `engine.args`, which win."""
    env: Mapping[str, str]
    """Of the engine's container after all techniques. Nothing in it may be made from the key."""


@dataclass(frozen=True, kw_only=True)
class CacheKey:
    """Key prefixes of one server. Every part is one safe segment (`segments.py`)."""

    engine: str
    gpu: str
    model: str
    fingerprint: str

    @property
    def folder(self) -> str:
        """Prefix of all caches of this engine, GPU product and model; ends with a slash, as all prefixes here do."""
        return f"{CACHES}{self.engine}/{self.gpu}/{self.model}/"

    @property
    def exact(self) -> str:
        """Prefix of the archive that only servers with this fingerprint restore."""
        return f"{self.folder}{self.fingerprint}/"

    @property
    def base(self) -> str:
        """Prefix of the archive to fall back to."""
        return f"{self.folder}{BASE}/"

    @property
    def arguments(self) -> list[str]:
        """How the programs in pods are told of it."""
        return [
            f"--engine={self.engine}",
            f"--gpu={self.gpu}",
            f"--model={self.model}",
            f"--fingerprint={self.fingerprint}",
        ]

    @property
    def prefixes(self) -> tuple[str, str]:
        """The two folders in the order of a restore: all that a server's publisher may write."""
        return self.exact, self.base


def cache_key(server: KeyedServer) -> CacheKey:
    """Return the server's key.

    Raises:
        BadArgumentError: a flag that the engine version does not take.
    """
    return CacheKey(
        engine=segment(_pulled(server.engine)),
        gpu=segment(server.pool.product),
        model=segment(server.model.uri.prefix.removeprefix(MODELS).rstrip("/")),
        fingerprint=fingerprint(explained(server)),
    )


def explained(server: KeyedServer) -> Mapping[str, JsonValue]:
    """Return every fact that the fingerprint covers, by name, in the order in which people read them.

    Names are `engine.image`, `gpu.product`, `model.uri`, `flag.<name>`, `env.<NAME>` and the like. A value has one
    spelling: `0.90` is 0.9, `8k` is 8000, a switch is a boolean and left out when that is what leaving it out means.

    Raises:
        BadArgumentError: a flag that the engine version does not take.
    """
    engine = server.engine
    facts: dict[str, JsonValue] = {
        "engine.image": _pulled(engine),
        "engine.version": engine.version,
        # another user cannot write into the folder that this one filled on a node
        "engine.user": engine.user,
        "gpu.product": server.pool.product,
        # one product can come in two sizes, with two names in CUDA, which torch compares: a100 of p4d and p4de
        "gpu.memoryMib": [*sorted({kind.gpu_memory for kind in server.pool.types})],
        "gpu.count": engine.tensor_parallel,
        "model.uri": str(server.model.uri),
        "model.argument": server.argument,
    }
    flags = canonical_flags(engine.version, {**server.flags, **engine.args})
    known = neutral(engine.version)
    facts |= {f"flag.{name}": _counted(f"flag.{name}", flags[name], known) for name in sorted(flags)}
    facts |= {f"env.{name}": server.env[name] for name in sorted(server.env)}
    return {name: value for name, value in facts.items() if name not in known}


def fingerprint(facts: Mapping[str, JsonValue]) -> str:
    """Return the hash over explained facts, whatever their order."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT]


def difference(
    before: Mapping[str, JsonValue], after: Mapping[str, JsonValue]
) -> Mapping[str, tuple[JsonValue, JsonValue]]:
    """Return the facts that moved between two explanations, before and after; None stands for absent.

    Empty when and only when the fingerprints agree.
    """
    names = [*before, *(name for name in after if name not in before)]
    return {name: (before.get(name), after.get(name)) for name in names if _text(before, name) != _text(after, name)}


def _text(facts: Mapping[str, JsonValue], name: str) -> str | None:
    """In the fingerprint's eyes: for Python 1, 1.0 and true are equal."""
    return json.dumps(facts[name], sort_keys=True) if name in facts else None


def _pulled(engine: EngineSettings) -> str:
    """Return the image in full, by digest where it has one: then a runtime ignores the tag."""
    image = image_reference(engine.image_reference)
    reference = f"@{image.digest}" if image.digest else f":{image.tag}"
    return f"{image.registry}/{image.path}{reference}"


def _counted(name: str, value: JsonValue, known: Mapping[str, str]) -> JsonValue:
    if isinstance(value, dict):
        return {key: inner for key, inner in value.items() if f"{name}.{key}" not in known}
    return value
