"""Images through the platform's pull-through cache: near the nodes, past the limits of the registry."""

import re
from collections.abc import Mapping

DOCKER_HUB = "docker.io"

LONGEST = 256
"""Characters of an ECR repository's name."""

_COMPONENT = "[a-z0-9]+(?:[._-][a-z0-9]+)*"
_REPOSITORY = re.compile(rf"(?:{_COMPONENT}/)*{_COMPONENT}")
"""ECR's names. Other registries allow more: `a--b`, `a__b`."""


def cached(image: str, prefixes: Mapping[str, str]) -> str:
    """Return the reference that nodes should pull instead of this one; the image itself where nothing is cached.

    An image with a digest stays as it is: a cold cache answers `repo@sha256:...` and `repo:tag@sha256:...` with "not
    found", and to pull by the tag alone would drop the pin (containers-roadmap#2837).

    Args:
        image: a reference as Docker and containerd read it, `nginx:1.29` or `ghcr.io/a/b:1`.
        prefixes: the platform's `image_prefixes`.
    """
    name, _, digest = image.partition("@")
    # a colon before the last slash is a port
    repository, colon, tag = name[name.rfind("/") + 1 :].partition(":")
    registry, path = _parts(name[: name.rfind("/") + 1] + repository)
    prefix = prefixes.get(registry)
    if prefix is None or digest:
        return image
    below = f"{prefix.partition('/')[2]}/{path}"
    if len(below) > LONGEST or not _REPOSITORY.fullmatch(below):
        return image
    return f"{prefix}/{path}{colon}{tag}"


def _parts(name: str) -> tuple[str, str]:
    """Return registry and path. Without a host it is Docker Hub, whose official images lie below `library/`."""
    head, slash, rest = name.partition("/")
    if not slash or not ("." in head or ":" in head or head == "localhost"):
        registry, path = DOCKER_HUB, name
    else:
        registry, path = (DOCKER_HUB if head == "index.docker.io" else head), rest
    return registry, f"library/{path}" if registry == DOCKER_HUB and "/" not in path else path
