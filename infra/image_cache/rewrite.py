"""From an image's own reference to the one that nodes pull. Everything that starts a container asks here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from infra.image_cache.reference import image_reference
from infra.image_cache.settings import REPOSITORY, ImageCacheSettings
from infra.image_cache.upstreams import UPSTREAMS
from infra.naming import Place
from infra.section import nearest

LONGEST_REPOSITORY = 256
"""Characters of an ECR repository's name (API model of ecr)."""


@dataclass(frozen=True, kw_only=True)
class ImageCacheFacts:
    """Where cached and own images lie. Plain values, so a preview shows every reference."""

    registry: str
    """Host of the account's registry in the region."""
    prefix: str
    """Of the stack."""
    upstreams: tuple[str, ...]
    repositories: tuple[str, ...]
    """Names of the stack's own, without the prefix."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Repository prefixes by the host that they cache, the registry left out."""
        return {UPSTREAMS[name].registry: f"{self.prefix}/{name}" for name in self.upstreams}

    @property
    def published(self) -> Mapping[str, str]:
        """Registry and prefix by upstream host: what images of other teams may begin with."""
        return {host: f"{self.registry}/{prefix}" for host, prefix in self.prefixes.items()}

    @property
    def own(self) -> Mapping[str, str]:
        """Reference without a tag by name of an own repository: what to push to."""
        return {name: f"{self.registry}/{self.prefix}/{name}" for name in self.repositories}


def image_cache_facts(settings: ImageCacheSettings, place: Place) -> ImageCacheFacts:
    """Return where the images of a stack lie."""
    return ImageCacheFacts(
        registry=f"{place.account}.dkr.ecr.{place.region}.{place.partition.dns_suffix}",
        prefix=settings.prefix,
        upstreams=settings.upstreams,
        repositories=tuple(settings.repositories),
    )


def rewritten(text: str, facts: ImageCacheFacts) -> str:
    """Return the reference that nodes pull instead of this one; the text itself where nothing is cached.

    Unchanged, letter by letter, are references

    - with a digest: a cold cache answers `repo@sha256:...` and `repo:tag@sha256:...` with "not found", only a pull by
      tag fills it (containers-roadmap#2837), and to pull by the tag alone would drop the pin without a word. A digest
      that must come from ECR is pushed to a repository of one's own.
    - in a registry without a rule: upstreams that are off, nvcr.io (ECR cannot cache it), localhost, other accounts'
      ECR, and this account's own registry, so that rewriting twice is rewriting once;
    - whose repository would have a name that ECR refuses: over 256 characters, or `--` and `__` in it.

    Raises:
        ValueError: not a reference.
    """
    reference = image_reference(text)
    prefix = facts.prefixes.get(reference.registry)
    if prefix is None or reference.digest is not None:
        return text
    repository = f"{prefix}/{reference.path}"
    if len(repository) > LONGEST_REPOSITORY or not REPOSITORY.fullmatch(repository):
        return text
    return f"{facts.registry}/{repository}" + ("" if reference.tag is None else f":{reference.tag}")


def image_problems(text: str, facts: ImageCacheFacts) -> Iterator[str]:
    """Yield why a node could not pull a reference that the stack file spells below the stack's own prefix."""
    reference = image_reference(text)
    below = f"{facts.prefix}/"
    if reference.registry != facts.registry or not reference.path.startswith(below):
        return
    first, _, rest = reference.path.removeprefix(below).partition("/")
    if first in UPSTREAMS and rest:
        if first not in facts.upstreams:
            yield f"{first} is not in imageCache.upstreams, so nothing is cached there"
        elif reference.digest is not None:
            yield (
                "a cache that is cold has no digest to answer with (containers-roadmap#2837); expected the tag alone,"
                f" or the reference in {UPSTREAMS[first].registry}, which is then pulled past the cache"
            )
    elif rest or first not in facts.repositories:
        name = f"{first}/{rest}" if rest else first
        yield f"no repository {name} in imageCache.repositories; {nearest(name, facts.repositories)}"
