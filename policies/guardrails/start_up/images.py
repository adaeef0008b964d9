"""Images that move, or come from far away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guardrails.later import Later
from guardrails.pods import WORKLOADS, Container, containers
from guardrails.rule import Around, Resource, Rule
from guardrails.value import NotKnownError

PULL_THROUGH = "aws:ecr/pullThroughCacheRule:PullThroughCacheRule"
HUB = "docker.io"
_NAMES = {"registry-1.docker.io": HUB, "index.docker.io": HUB}
_ECR = re.compile(r"^[0-9]{12}\.dkr[.-]ecr(-fips)?\.[a-z0-9-]+\.(amazonaws\.com(\.cn)?|on\.aws)$")
ROOT = "ROOT"
"""The prefix of a rule that has none (ECR API, CreatePullThroughCacheRule)."""


def split(image: str) -> tuple[str, str]:
    """Return registry and path of an image reference; Docker Hub where it names none (distribution/reference)."""
    first, slash, rest = image.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    host, path = (first, rest) if named else (HUB, image)
    host = _NAMES.get(host, host)
    # official images lie below library/, and are found in a cache by that name alone (containers-roadmap#2354)
    return host, f"library/{path}" if host == HUB and "/" not in path.partition("@")[0] else path


def tag(image: str) -> str | None:
    """Return the tag of an image reference; None: it has none."""
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2] or None


def _moves(container: Container, around: Around) -> Iterator[str]:
    image = container.image
    if not image:
        yield f"container {container.name}: it has no image; name one, with a version"
        return
    if "@" in image:
        return
    found = tag(image)
    if found is None:
        yield f"container {container.name}: {image} has no tag, which is latest; name a version"
    elif found in around.config["moving"] or found.startswith("latest-"):
        yield f"container {container.name}: {image} moves; name a version in place of {found}"


def _below(rule: Resource) -> str:
    """Return the folder of ECR in which a rule caches, with a slash behind it."""
    prefix = rule.props["ecrRepositoryPrefix"].text()
    return f"{prefix}/" if prefix and prefix != ROOT else ""


def _far(container: Container, around: Around) -> Iterator[str]:
    if not container.image:
        return
    host, path = split(container.image)
    later = Later()
    for rule in around.of(PULL_THROUGH):
        with later.of(rule.name):
            upstream = rule.props["upstreamRegistryUrl"].text()
            if _NAMES.get(upstream, upstream) != host:
                continue
            try:
                below = _below(rule)
            except NotKnownError:
                below = f"<prefix of {rule.name}>/"
            yield (
                f"container {container.name}: {container.image} comes from {host}, which ECR caches ({rule.name});"
                f" write <account>.dkr.ecr.<region>.amazonaws.com/{below}{path}"
            )
            return
    yield from later.rest()


def _digest(container: Container, around: Around) -> Iterator[str]:
    image = container.image
    host, path = split(image)
    if "@" not in image or not _ECR.match(host):
        return
    later = Later()
    for rule in around.of(PULL_THROUGH):
        with later.of(rule.name):
            below = _below(rule)
            if below and path.startswith(below):
                yield (
                    f"container {container.name}: {image} is not found until its tag has been pulled through ECR's"
                    f" cache once ({rule.name}); pull the tag first, or copy the image to a repository of your own"
                )
                return
    yield from later.rest()


RULES = (
    Rule(
        id="image-tag",
        says="Images name a version.",
        why="A tag that moves changes the engine under a running server, and no start-up cache is made for it.",
        source="Kubernetes documentation, images; judgement: which names move beside latest",
        kinds=WORKLOADS,
        parts=containers,
        check=_moves,
        config={"moving": ["latest", "nightly", "main", "master", "edge"]},
    ),
    Rule(
        id="image-through-cache",
        says="Images of a registry that ECR caches come through that cache.",
        why="Each new node pulls gigabytes through NAT, slowly, and the registry's limits stop it.",
        source="pytorch/ci-infra#1032, containers-roadmap#2354",
        kinds=WORKLOADS,
        parts=containers,
        check=_far,
        over="stack",
    ),
    Rule(
        id="digest-through-cache",
        says="An image that comes through ECR's cache by its digest was pulled by its tag before.",
        why="Only a tag fills the cache: ECR answers a cold digest with 'not found', and the pod does not start.",
        source="containers-roadmap#2837",
        kinds=WORKLOADS,
        parts=containers,
        check=_digest,
        over="stack",
        level="advisory",
    ),
)
