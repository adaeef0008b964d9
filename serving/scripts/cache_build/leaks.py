"""Secrets in what is about to be published. Names the file and the kind, never the value.

vLLM writes environment variables into its cache in clear text (VLLM_API_KEY of 0.26: `cache_key_factors.json`), and
every server of the model reads the archive.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ALWAYS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "VLLM_API_KEY")
TOKEN_FILES = ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE")
SHORTEST = 6
"""Characters of a value below which it would be found by chance."""

_PATTERNS = (
    # the marker that must be there at all, checked first; then the whole pattern
    ("an AWS access key", (b"AKIA", b"ASIA"), rb"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("a Hugging Face token", (b"hf_",), rb"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{34,}(?![A-Za-z0-9_])"),
    # with its content: the header alone is a constant in the bytecode of every TLS library
    (
        "a private key",
        (b"PRIVATE KEY-----",),
        rb"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----(?:\\r|\\n|\s)+[A-Za-z0-9+/=:,\-\s\\]{40}",
    ),
)
_EXAMPLE = b"EXAMPLE"
"""AWS's documentation keys end so; they are in docstrings."""


class UnscannableError(ValueError):
    """A secret that cannot be looked for."""


class Scanner:
    """Knows the values to look for, and the patterns."""

    def __init__(self, environment: Mapping[str, str], names: Iterable[str]) -> None:
        self._values: dict[bytes, str] = {}
        for name in names:
            if len(environment.get(name, "")) < SHORTEST:
                raise UnscannableError(f"{name}: shorter than {SHORTEST} characters or not set; cannot be looked for")
        for name in (*names, *ALWAYS):
            self._add(environment.get(name, ""), f"the value of {name}")
        for name in TOKEN_FILES:
            path = Path(environment.get(name) or "/nonexistent")
            if path.is_file():
                self._add(path.read_text(encoding="utf-8").strip(), f"the content of {name}")
        self._patterns = [(kind, marks, re.compile(pattern)) for kind, marks, pattern in _PATTERNS]

    def kinds(self, content: bytes) -> Iterator[str]:
        """Yield the kinds of secret in the content, each once."""
        seen = {kind for value, kind in self._values.items() if value in content}
        for kind, marks, pattern in self._patterns:
            if any(mark in content for mark in marks) and any(
                not found[0].endswith(_EXAMPLE) for found in pattern.finditer(content)
            ):
                seen.add(kind)
        yield from sorted(seen)

    def _add(self, value: str, kind: str) -> None:
        if len(value) < SHORTEST:
            return
        for spelled in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]):
            self._values[spelled.encode()] = kind
