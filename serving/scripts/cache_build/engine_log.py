"""What an engine's log says about its start: which layers of the compile cache were hit, and which seconds went where.

The texts are those of vLLM's source, per engine version; a line's prefix (process, level, time, file) is not looked at.
Times are of arrival, not of the line: the engine prints whole seconds without a year.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Lines of one engine version. All are regular expressions, searched in the line."""

    cache_directory: str
    hits: tuple[str, ...]
    """Each must be there for a full hit: the layers load separately, and one may miss in silence."""
    misses: tuple[str, ...]
    """None may be there."""
    failures: tuple[str, ...]
    """Also none; they tell that the cache is bad, or could not be saved."""
    phases: Mapping[str, str]
    """The line that ends each phase, in order."""


V0_26 = Texts(
    cache_directory=r"Using cache directory: (\S+) for vLLM's torch\.compile",
    hits=(
        r"Directly load AOT compilation from path",
        r"Directly load the compiled graph\(s\) for compile range",
    ),
    misses=(
        r"Compiling a graph for compile range",
        r"Cache the graph of compile range",
        r"saved AOT compiled function to",
    ),
    failures=(
        r"Compiling model again due to a load failure from",
        r"unable to save AOT compiled function",
    ),
    phases={
        "import": r"\bversion \d+\.\d+|vLLM server version",
        "resolve": r"Resolved architecture:",
        "engine": r"Initializing a V1 LLM engine",
        "load-start": r"Loading model from scratch|Starting to load model",
        "load": r"Model loading took ([\d.]+) GiB(?: memory)? and ([\d.]+) seconds",
        "compile": r"torch\.compile took ([\d.]+) s in total",
        "kv-cache": r"GPU KV cache size:|CPU KV cache size:",
        "graphs": r"Graph capturing finished in",
        "kernels": r"Kernel JIT monitor activated",
        "init": r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s",
        "listening": r"Application startup complete\.",
    },
)

VERSIONS: Mapping[str, Texts] = {"0.26.0": V0_26, "0.33.0": V0_26}
"""0.33 prefixes its compile lines with `[tag] `. That its one-file artifacts (torch 2.14) print both lines of a hit is
not proven: if they do not, a build is refused, which costs a cache and never a crash."""


class UnknownVersionError(ValueError):
    """No texts for this engine version."""


@dataclass
class Start:
    """One start, read line by line."""

    version: str
    compiles: bool = False
    """It compiles at all: a server with `--enforce-eager` does not."""
    directory: str | None = None
    missed: list[str] = field(default_factory=list)
    """Lines that contradict a full hit."""
    ends: dict[str, float] = field(default_factory=dict)
    """Seconds from the start to the end of each phase."""
    _hit: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise UnknownVersionError(f"engine version {self.version!r}: want one of {', '.join(VERSIONS)}")
        self._texts = VERSIONS[self.version]

    def read(self, line: str, seconds: float = 0.0) -> None:
        """Take the next line, with the time of its arrival."""
        texts = self._texts
        if found := re.search(texts.cache_directory, line):
            self.directory, self.compiles = found[1], True
        # Any line of any layer: the real engine on a CPU has a single layer, and misses without a word on the other
        if hit := {text for text in texts.hits if re.search(text, line)}:
            self._hit |= hit
            self.compiles = True
        if any(re.search(text, line) for text in (*texts.misses, *texts.failures)):
            self.missed.append(line.strip()[:300])
            self.compiles = True
        for phase, text in texts.phases.items():
            if phase not in self.ends and re.search(text, line):
                self.ends[phase] = round(seconds, 3)
        if re.search(texts.phases["compile"], line):
            self.compiles = True

    def why_no_full_hit(self) -> str | None:
        """Return why this start did not take everything from the compile cache; None for a full hit."""
        if self.missed:
            return f"it says: {self.missed[0]}"
        if not self.compiles:
            return "it does not compile"
        for text in self._texts.hits:
            if text not in self._hit:
                return f"it does not say: {text.replace(chr(92), '')}"
        return None
