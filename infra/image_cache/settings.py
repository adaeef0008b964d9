"""`imageCache`: what is cached, and which repositories are the stack's own."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator

from infra.image_cache.upstreams import UPSTREAMS, cached_in
from infra.section import NAME_RULE, EachOnce, Flag, KeyName, Section, Whole, nearest, shown

LONGEST_PREFIX = 30
"""Characters of a rule's repository prefix, slash included (API model of ecr)."""
LONGEST_STACK_PREFIX = LONGEST_PREFIX - len("/") - max(len(name) for name in UPSTREAMS)


_COMPONENT = "[a-z0-9]+(?:[._-][a-z0-9]+)*"
REPOSITORY = re.compile(rf"(?:{_COMPONENT}/)*{_COMPONENT}")
"""ECR's names (API model, RepositoryName). The distribution project allows more: `a--b`, `a__b`."""


class RepositorySettings(Section):
    """`imageCache.repositories.<name>`."""

    keep_on_destroy: Flag = Field(
        description="true (the repository survives `pulumi destroy`) or false (a repository with images stops it)"
    )


class ImageCacheSettings(Section):
    """`imageCache`.

    Rules are of the account and region, not of a stack, and two with one prefix exclude each other. So each stack has
    a prefix of its own, and a destroy of one takes nothing from another. What it costs: an image is stored once a stack
    (10 GB are 1 USD a month), and ECR takes 50 rules, ten stacks with every upstream.
    """

    prefix: Annotated[
        str,
        StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", min_length=2, max_length=LONGEST_STACK_PREFIX),
    ] = Field(
        description=f"2 to {LONGEST_STACK_PREFIX} lower-case letters and digits, single . _ - between them: where this"
        " stack's repositories lie, unlike any other stack's of the account and region"
    )
    upstreams: Annotated[tuple[str, ...], EachOnce] = Field(
        description=f"a list of registries to cache, of {', '.join(UPSTREAMS)} (may be empty: [])"
    )
    untagged_days: Annotated[Whole, Field(ge=1, le=365)] = Field(
        description="a whole number of days, 1 to 365, after which an image without a tag goes"
    )
    keep_tags: Annotated[Whole, Field(ge=1, le=1000)] = Field(
        description="a whole number of tags, 1 to 1000, that a cached repository keeps (a later pull caches again)"
    )
    repositories: Mapping[KeyName, RepositorySettings] = Field(
        description=f"a mapping of repositories for own images by name, {NAME_RULE} (may be empty: {{}})"
    )

    @field_validator("upstreams")
    @classmethod
    def _upstreams(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in UPSTREAMS:
                raise ValueError(f"{shown(name)} is no registry that can be cached; {nearest(name, list(UPSTREAMS))}")
        return value

    @field_validator("repositories")
    @classmethod
    def _repositories(cls, value: Mapping[str, RepositorySettings]) -> Mapping[str, RepositorySettings]:
        for name in value:
            if name in UPSTREAMS:
                raise ValueError(f"{name} is where its upstream's images lie; expected another name")
            if not REPOSITORY.fullmatch(name):
                raise ValueError(f"{name} is no repository name of ECR; expected single dashes in it")
        return value


Problem = tuple[tuple[str, ...], str]
"""Path below `imageCache`, and what is wrong."""


def region_problems(settings: ImageCacheSettings, region: str) -> Iterator[Problem]:
    """Yield what cannot be in the region."""
    if settings.upstreams and not cached_in(region):
        yield ("upstreams",), f"{shown(settings.upstreams)}; ECR has no pull-through rules in {region}; expected []"
