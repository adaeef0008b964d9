"""`imageCache`: whole messages, and what its keys are for."""

from typing import Any

import pytest

from infra.image_cache.settings import LONGEST_PREFIX, LONGEST_STACK_PREFIX, ImageCacheSettings, region_problems
from infra.image_cache.upstreams import UPSTREAMS
from infra.section import validated

GOOD: dict[str, Any] = {
    "prefix": "inference-dev",
    "upstreams": ["ecr-public", "quay", "k8s"],
    "untaggedDays": 14,
    "keepTags": 20,
    "repositories": {"engine": {"keepOnDestroy": True}},
}
PREFIX = (
    "2 to 19 lower-case letters and digits, single . _ - between them: where this stack's repositories lie, unlike any"
    " other stack's of the account and region"
)


def parsed(**changed: Any) -> tuple[ImageCacheSettings | None, list[str]]:
    whole, complaints = validated(ImageCacheSettings, GOOD | changed, "imageCache")
    return whole, [str(complaint) for complaint in complaints]


def test_the_longest_prefix_of_a_stack_has_room_for_every_upstream() -> None:
    assert max(len(f"{'a' * LONGEST_STACK_PREFIX}/{name}") for name in UPSTREAMS) == LONGEST_PREFIX
    assert parsed(prefix="a" * LONGEST_STACK_PREFIX)[1] == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"prefix": "a"}, f'prefix: "a"; expected {PREFIX}'),
        ({"prefix": "a" * 20}, f'prefix: "{"a" * 20}"; expected {PREFIX}'),
        ({"prefix": "Dev"}, f'prefix: "Dev"; expected {PREFIX}'),
        ({"prefix": "a/b"}, f'prefix: "a/b"; expected {PREFIX}'),
        ({"prefix": "a--b"}, f'prefix: "a--b"; expected {PREFIX}'),
        ({"prefix": "ROOT"}, f'prefix: "ROOT"; expected {PREFIX}'),
        (
            {"upstreams": ["dockerhub"]},
            'upstreams: ["dockerhub"]; "dockerhub" is no registry that can be cached; did you mean docker-hub?',
        ),
        (
            {"upstreams": ["nvcr.io"]},
            'upstreams: ["nvcr.io"]; "nvcr.io" is no registry that can be cached; allowed: docker-hub, ecr-public,'
            " ghcr, k8s, quay",
        ),
        ({"upstreams": ["quay", "quay"]}, 'upstreams: ["quay", "quay"]; quay stands there twice'),
        (
            {"untaggedDays": 0},
            "untaggedDays: 0; expected a whole number of days, 1 to 365, after which an image without a tag goes",
        ),
        (
            {"keepTags": 0},
            "keepTags: 0; expected a whole number of tags, 1 to 1000, that a cached repository keeps (a later pull"
            " caches again)",
        ),
        (
            {"repositories": {"quay": {"keepOnDestroy": True}}},
            'repositories: {"quay": {"keepOnDestroy": true}}; quay is where its upstream\'s images lie; expected'
            " another name",
        ),
        (
            {"repositories": {"engine": {"keepOnDestroyed": True}}},
            "repositories.engine.keepOnDestroyed: unknown key; did you mean keepOnDestroy?",
        ),
        (
            {"dockerHub": True},
            "dockerHub: unknown key; allowed: keepTags, prefix, repositories, untaggedDays, upstreams",
        ),
    ],
)
def test_a_mistake_is_one_line(changed: dict[str, Any], problem: str) -> None:
    assert parsed(**changed) == (None, [problem])


@pytest.mark.parametrize("region", ["cn-north-1", "cn-northwest-1", "us-gov-west-1"])
def test_IAM_05_an_upstream_where_ECR_caches_none_is_refused(region: str) -> None:
    whole, _ = parsed()
    assert whole is not None
    assert list(region_problems(whole, region)) == [
        (("upstreams",), f'["ecr-public", "quay", "k8s"]; ECR has no pull-through rules in {region}; expected []')
    ]
    assert list(region_problems(whole, "eu-west-1")) == []
    nothing, _ = parsed(upstreams=[])
    assert nothing is not None
    assert list(region_problems(nothing, region)) == []
