"""Image references: the one grammar of the project, and their parts.

The grammar is the distribution project's (reference/regexp.go), and short names mean what Docker and containerd take
them for (reference/normalize.go). Narrower in three points: registry hosts are in lower case, no IPv6 hosts, and a
digest is SHA-256 (the only one that registries use).
"""

import re
from dataclasses import dataclass

DOCKER_HUB = "docker.io"

LONGEST_PATH = 255
"""Characters of a repository's path (reference.RepositoryNameTotalLengthMax)."""

_EXPECTED = "expected an image reference, [registry/]path[:tag][@sha256:digest]"
_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_IDENTIFIER = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class ImageReference:
    """An image's place, every part in full: `nginx` is docker.io, library/nginx, no tag, no digest."""

    registry: str
    """Host, with its port when it has one."""
    path: str
    tag: str | None
    digest: str | None

    def __str__(self) -> str:
        """Return the full spelling. Reading it again gives the same reference."""
        tag = "" if self.tag is None else f":{self.tag}"
        digest = "" if self.digest is None else f"@{self.digest}"
        return f"{self.registry}/{self.path}{tag}{digest}"


def image_reference(text: str) -> ImageReference:
    """Return the parts of a reference, short names in full.

    Raises:
        ValueError: the second half of a settings message, one line.
    """
    name, at, digest = text.partition("@")
    # a colon before the last slash is a port
    colon = name.rfind(":", name.rfind("/") + 1)
    tagged = colon >= 0
    name, tag = (name[:colon], name[colon + 1 :]) if tagged else (name, "")
    registry, path = _parts(name)
    for wrong, problem in (
        ("://" in text, "starts with a scheme"),
        (any(sign.isspace() for sign in text), "holds white space"),
        (path != path.lower() or registry != registry.lower(), "has capital letters before the tag"),
        (not _HOST.fullmatch(registry), "has no host name before its first slash"),
        (not _PATH.fullmatch(path), "has no repository path"),
        (len(path) > LONGEST_PATH, f"has a path of {len(path)} characters > {LONGEST_PATH}"),
        (tagged and not _TAG.fullmatch(tag), "has a malformed tag"),
        (bool(at) and not _DIGEST.fullmatch(digest), "has a malformed digest"),
        (bool(_IDENTIFIER.fullmatch(name)), "is a bare image ID"),
    ):
        if wrong:
            raise ValueError(f"{problem}; {_EXPECTED}")
    return ImageReference(registry=registry, path=path, tag=tag if tagged else None, digest=digest if at else None)


def _parts(name: str) -> tuple[str, str]:
    """Return registry and path. Without a host it is Docker Hub, whose official images lie below `library/`."""
    head, slash, rest = name.partition("/")
    if not slash or not ("." in head or ":" in head or head == "localhost"):
        registry, path = DOCKER_HUB, name
    else:
        registry, path = (DOCKER_HUB if head == "index.docker.io" else head), rest
    return registry, f"library/{path}" if registry == DOCKER_HUB and "/" not in path else path
