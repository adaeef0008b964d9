"""Rewriting, row by row, and what a stack file may not spell."""

from pathlib import Path

import pytest
import yaml

from infra.image_cache.rewrite import LONGEST_REPOSITORY, ImageCacheFacts, image_cache_facts, image_problems, rewritten
from infra.image_cache.settings import ImageCacheSettings
from infra.naming import Place, partition_of

REGISTRY = "000000000000.dkr.ecr.us-west-2.amazonaws.com"
DIGEST = f"sha256:{'0a' * 32}"
GROUPS = yaml.safe_load(Path(__file__).with_name("rewriting.yaml").read_text())
ROWS = [(group["cached"], row) for group in GROUPS for row in group["rows"]]


def facts(*cached: str, own: tuple[str, ...] = (), region: str = "us-west-2") -> ImageCacheFacts:
    settings = ImageCacheSettings.model_validate(
        {
            "prefix": "a-stack",
            "upstreams": cached,
            "untaggedDays": 14,
            "keepTags": 20,
            "repositories": {name: {"keepOnDestroy": False} for name in own},
        }
    )
    return image_cache_facts(settings, Place(partition_of(region), region, "000000000000"))


@pytest.mark.parametrize(("cached", "row"), ROWS, ids=[f"{row['of']:.60}|{len(cached)}" for cached, row in ROWS])
def test_a_reference_becomes_what_nodes_pull(cached: list[str], row: dict[str, str]) -> None:
    expected = row.get("to", row["of"]).replace("~", f"{REGISTRY}/a-stack", 1)
    assert rewritten(row["of"], facts(*cached)) == expected
    assert rewritten(expected, facts(*cached)) == expected


def test_there_are_at_least_sixty_rows_and_none_stands_there_twice() -> None:
    keys = [(tuple(cached), row["of"]) for cached, row in ROWS]
    assert len(keys) == len(set(keys)) >= 60
    assert len([row for _, row in ROWS if "to" in row]) >= 30


def test_a_name_that_ecr_could_not_hold_is_left_alone() -> None:
    room = LONGEST_REPOSITORY - len("a-stack/quay/")
    assert rewritten(f"quay.io/{'a' * room}:1", facts("quay")).startswith(REGISTRY)
    assert rewritten(f"quay.io/{'a' * (room + 1)}:1", facts("quay")) == f"quay.io/{'a' * (room + 1)}:1"


def test_IAM_05_the_registry_s_host_follows_the_partition() -> None:
    assert facts(region="cn-north-1").registry == "000000000000.dkr.ecr.cn-north-1.amazonaws.com.cn"
    assert facts(region="us-gov-west-1").registry == "000000000000.dkr.ecr.us-gov-west-1.amazonaws.com"


def test_others_are_told_where_images_lie() -> None:
    known = facts("quay", "docker-hub", own=("engine",))
    assert known.published == {"quay.io": f"{REGISTRY}/a-stack/quay", "docker.io": f"{REGISTRY}/a-stack/docker-hub"}
    assert known.own == {"engine": f"{REGISTRY}/a-stack/engine"}


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (f"{REGISTRY}/a-stack/quay/a/b:1", None),
        (f"{REGISTRY}/a-stack/engine:1", None),
        (f"{REGISTRY}/a-stack/engine@{DIGEST}", None),
        (f"{REGISTRY}/somebody/else@{DIGEST}", None),
        (f"quay.io/a/b@{DIGEST}", None),
        ("111111111111.dkr.ecr.us-west-2.amazonaws.com/a-stack/enigne:1", None),
        (
            f"{REGISTRY}/a-stack/quay/a/b:1@{DIGEST}",
            "a cache that is cold has no digest to answer with (containers-roadmap#2837); expected the tag alone, or"
            " the reference in quay.io, which is then pulled past the cache",
        ),
        (
            f"{REGISTRY}/a-stack/docker-hub/library/nginx:1",
            "docker-hub is not in imageCache.upstreams, so nothing is cached there",
        ),
        (f"{REGISTRY}/a-stack/enigne:1", "no repository enigne in imageCache.repositories; did you mean engine?"),
        (f"{REGISTRY}/a-stack/quay:1", "no repository quay in imageCache.repositories; allowed: engine"),
        (f"{REGISTRY}/a-stack/engine/x:1", "no repository engine/x in imageCache.repositories; did you mean engine?"),
    ],
)
def test_what_a_node_could_not_pull_is_said_before(image: str, problem: str | None) -> None:
    assert list(image_problems(image, facts("quay", own=("engine",)))) == ([problem] if problem else [])
