"""What a folder of weights may hold, and the marker that says it is whole. Pure functions.

Checked before the first byte is copied (from the hub's list), after the last (from the bucket's), and by `verify.py`.
vLLM's streamer reads every top-level `*.safetensors` of the folder, named by the index or not: strays are loaded too.
"""

import json
import re
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

DEFAULT_ENDPOINT = "https://huggingface.co"

MARKER = ".complete.json"
"""The last object of a folder. Starts with a dot, as no file of a checkpoint may."""

INDEX = "model.safetensors.index.json"
FORMAT = 1
FEW = 5
"""Names that a line repeats."""

HEADER_LIMIT = 100 * 1024**2
"""Bytes of a safetensors header: the format's own limit (100 MB), rounded up."""

PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".nemo", ".npy", ".npz")
"""Formats that run code when they are loaded, or may."""

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]*", re.ASCII)
_PLACE = re.compile(r"s3://([a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9])/(.+)", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}", re.ASCII)
_LONGEST = 512
_TOKENIZERS = (
    {"tokenizer.json"},
    {"tokenizer.model"},
    {"tekken.json"},
    {"vocab.json", "merges.txt"},
    {"tiktoken.model"},
    {"vocab.txt"},
)


@dataclass(frozen=True)
class Entry:
    """A file of a folder, as the marker lists it."""

    name: str
    size: int
    sha256: str
    source: str
    """What the commit says of its content: `sha256:...`, or `git:...` for a small file."""


@dataclass(frozen=True)
class Marker:
    """What a whole folder holds, and where it came from. No times: two runs write the same bytes."""

    repository: str
    commit: str
    files: tuple[Entry, ...]

    @property
    def total(self) -> int:
        """Return the size of all files."""
        return sum(entry.size for entry in self.files)

    def encoded(self) -> bytes:
        """Return the object's content."""
        files = [vars(entry) for entry in sorted(self.files, key=lambda entry: entry.name)]
        content = {"format": FORMAT, "repository": self.repository, "commit": self.commit, "files": files}
        return json.dumps(content, indent=1, sort_keys=True).encode() + b"\n"


def marker(content: bytes) -> Marker:
    """Return what a marker says.

    Raises:
        ValueError: it is of another form. One line.
    """
    other = ValueError(f"{MARKER} is not of the form that onboarding writes")
    read = _json(content)
    if not isinstance(read, dict) or "format" not in read:
        raise other
    if read["format"] != FORMAT:
        raise ValueError(f"{MARKER} has format {read['format']!r:.20}; this program reads {FORMAT}")
    try:
        files = tuple(Entry(str(f["name"]), int(f["size"]), str(f["sha256"]), str(f["source"])) for f in read["files"])
        if not _REPOSITORY.fullmatch(read["repository"]) or not _COMMIT.fullmatch(read["commit"]):
            raise other
        return Marker(read["repository"], read["commit"], files)
    except (TypeError, KeyError, ValueError, OverflowError):
        raise other from None


def pinned(endpoint: str, repository: str, revision: str) -> str:
    """Return the revision when it is a commit.

    Raises:
        ValueError: it is a name that moves, or the repository is none; says how to find the commit. One line.
    """
    if not _REPOSITORY.fullmatch(repository) or ".." in repository:
        raise ValueError(f"repository {repository!r}: expected <owner>/<name>")
    if not _COMMIT.fullmatch(revision):
        name = urllib.parse.quote(revision, safe="")
        raise ValueError(
            f"revision {revision!r} is no commit of 40 hex digits, and a name moves. Resolve it once:"
            f" curl -s {endpoint.rstrip('/')}/api/models/{repository}/revision/{name} | python3 -c"
            " 'import json, sys; print(json.load(sys.stdin)[\"sha\"])'"
            ' (private or gated: add -H "Authorization: Bearer $HF_TOKEN")'
        )
    return revision


def place(uri: str, commit: str = "") -> tuple[str, str]:
    """Return bucket and prefix of `s3://<bucket>/models/<name>/<revision>/`.

    Raises:
        ValueError: it is not of that form, or its revision is another commit. One line.
    """
    expected = "expected s3://<bucket>/models/<name>/<revision>/"
    found = _PLACE.fullmatch(uri)
    if found is None or len(uri) > _LONGEST:
        raise ValueError(f"{uri!r}: {expected}")
    parts = found[2].removesuffix("/").split("/")
    if wrong := [part for part in parts if not _SEGMENT.fullmatch(part) or ".." in part]:
        raise ValueError(f"{uri!r}: {wrong[0]!r} cannot be a folder of a prefix; {expected}")
    if len(parts) != 3 or parts[0] != "models":
        raise ValueError(f"{uri!r}: {expected}")
    if not _LABEL.fullmatch(parts[1]):
        raise ValueError(f"{uri!r}: model name {parts[1]!r} is no DNS label (a-z, 0-9 and -, at most 63); {expected}")
    if commit and _COMMIT.fullmatch(parts[2]) and parts[2] != commit:
        raise ValueError(f"{uri!r}: the folder is named after another commit than {commit}")
    return found[1], "/".join(parts) + "/"


def name_problems(names: Collection[str], *, pickles: bool) -> Iterator[str]:
    """Yield what is wrong with the names alone."""
    for name in sorted(names):
        parts = name.split("/")
        if len(name) > _LONGEST or not all(_SEGMENT.fullmatch(part) and ".." not in part for part in parts):
            yield f"{name!r}: not a safe file name (letters, digits and _ . + = @ -; no part starts with . or -)"
    risky = sorted(name for name in names if name.lower().endswith(PICKLES))
    if risky and not pickles:
        yield f"{_few(risky)}: may hold pickles, which run code when loaded; --exclude them, or --allow-pickle"


def problems(files: Mapping[str, int], content: Callable[[str], bytes], *, pickles: bool) -> Iterator[str]:
    """Yield what keeps the files from being a checkpoint.

    Args:
        files: size by name.
        content: returns a small file's bytes.
        pickles: whether formats that run code are allowed.
    """
    unsafe = list(name_problems(files, pickles=pickles))
    yield from unsafe
    if unsafe:
        return
    if empty := sorted(name for name, size in files.items() if size == 0 and name.endswith((".safetensors", ".json"))):
        yield f"{_few(empty)}: empty"
    if "config.json" not in files:
        yield "config.json is missing"
    elif not isinstance(_json(content("config.json")), dict):
        yield "config.json is no JSON object"
    if not any(needed <= files.keys() for needed in _TOKENIZERS) and not any(n.endswith(".tiktoken") for n in files):
        yield f"no tokenizer: expected {' or '.join(' + '.join(sorted(needed)) for needed in _TOKENIZERS)}"
    yield from _weights(files, content, pickles=pickles)


def _weights(files: Mapping[str, int], content: Callable[[str], bytes], *, pickles: bool) -> Iterator[str]:
    shards = {name for name in files if name.endswith(".safetensors") and "/" not in name}
    if INDEX not in files:
        if len(shards) > 1:
            yield f"{_few(sorted(shards))}: {len(shards)} files of weights and no {INDEX}"
        elif not shards and not (pickles and any(name.lower().endswith(PICKLES) for name in files)):
            yield "no weights: expected top-level *.safetensors"
        return
    named = index_shards(content(INDEX))
    if not named:
        yield f"{INDEX} has no weight_map from tensors to files"
        return
    if missing := sorted(named - files.keys()):
        yield f"{_few(missing)}: named by {INDEX}, and missing"
    if stray := sorted(shards - named):
        yield f"{_few(stray)}: top-level weights that {INDEX} does not name would be loaded too; --exclude them"


def index_shards(content: bytes) -> set[str]:
    """Return the files that an index names; nothing when it is none."""
    index = _json(content)
    weights = index.get("weight_map") if isinstance(index, dict) else None
    return {str(name) for name in weights.values()} if isinstance(weights, dict) else set()


def shard_problem(size: int, head: bytes, header: Callable[[int], bytes]) -> str | None:
    """Return what is wrong with a safetensors file: its header says how long the whole must be.

    Args:
        size: of the file.
        head: its first 8 bytes.
        header: returns that many bytes after them.
    """
    length = int.from_bytes(head, "little")
    if len(head) < 8 or not 2 <= length <= min(HEADER_LIMIT, size - 8):
        return "not a safetensors file"
    tensors = _json(header(length))
    try:
        ends = [tensor["data_offsets"][1] for name, tensor in tensors.items() if name != "__metadata__"]
        end = 8 + length + max(ends, default=0)
    except (AttributeError, TypeError, KeyError, IndexError):
        return "its safetensors header cannot be read"
    return None if end == size else f"its safetensors header describes {end} bytes, the file has {size}"


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _few(names: list[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more
