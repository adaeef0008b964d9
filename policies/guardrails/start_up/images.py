"""Images that move, or come from far away."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails.pods import WORKLOADS, Container, containers
from guardrails.rule import Around, Rule

PULL_THROUGH = "aws:ecr/pullThroughCacheRule:PullThroughCacheRule"
HUB = "docker.io"
_NAMES = {"registry-1.docker.io": HUB, "index.docker.io": HUB}


def registry(image: str) -> str:
    """Return the registry of an image reference; Docker Hub where it names none (distribution/reference)."""
    first, slash, _ = image.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    host = first if named else HUB
    return _NAMES.get(host, host)


def tag(image: str) -> str | None:
    """Return the tag of an image reference; None: it has none."""
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2] or None


def _moves(container: Container, _: Around) -> Iterator[str]:
    image = container.image
    if "@sha256:" in image:
        return
    if tag(image) in (None, "latest"):
        yield f"container {container.name}: {image} moves; name a version"


def _far(container: Container, around: Around) -> Iterator[str]:
    host = registry(container.image)
    for rule in around.of(PULL_THROUGH):
        upstream = rule.props["upstreamRegistryUrl"].text()
        if _NAMES.get(upstream, upstream) == host:
            prefix = rule.props["ecrRepositoryPrefix"].text()
            yield f"container {container.name}: {container.image} comes from {host}; ECR caches that below {prefix}/"


RULES = (
    Rule(
        id="image-tag",
        says="Images name a version.",
        why="A tag that moves changes the engine under a running server, and no start-up cache is made for it.",
        source="Kubernetes documentation, images",
        kinds=WORKLOADS,
        parts=containers,
        check=_moves,
    ),
    Rule(
        id="image-through-cache",
        says="Images of a registry that ECR caches come through that cache.",
        why="Each new node pulls gigabytes through NAT, slowly, and the registry's limits stop it.",
        source="pytorch/ci-infra#1032",
        kinds=WORKLOADS,
        parts=containers,
        check=_far,
        over="stack",
    ),
)
