"""References of an application become what the platform's own become: one table for both."""

import pytest

from images import cached
from tests.infra.image_cache.test_rewrite import REGISTRY, ROWS, facts

PREFIXES = {"docker.io": "1.dkr.ecr.us-west-2.amazonaws.com/p/docker-hub", "ghcr.io": "1.dkr.example/p/ghcr"}


@pytest.mark.parametrize(("known", "row"), ROWS, ids=[f"{row['of']:.60}|{len(known)}" for known, row in ROWS])
def test_a_reference_becomes_what_nodes_of_the_platform_pull(known: list[str], row: dict[str, str]) -> None:
    expected = row.get("to", row["of"]).replace("~", f"{REGISTRY}/a-stack", 1)
    prefixes = facts(*known).published
    assert cached(row["of"], prefixes) == expected
    assert cached(expected, prefixes) == expected


@pytest.mark.parametrize(
    ("image", "pulled"),
    [
        ("nginx:1.29", f"{PREFIXES['docker.io']}/library/nginx:1.29"),
        ("vllm/vllm-openai:v0.33.0", f"{PREFIXES['docker.io']}/vllm/vllm-openai:v0.33.0"),
        ("ghcr.io/a/b:1", f"{PREFIXES['ghcr.io']}/a/b:1"),
        ("public.ecr.aws/a/b:1", "public.ecr.aws/a/b:1"),
        ("registry:5000/a/b:1", "registry:5000/a/b:1"),
        (f"nginx:1.29@sha256:{'0' * 64}", f"nginx:1.29@sha256:{'0' * 64}"),
    ],
)
def test_only_registries_that_the_platform_names_are_replaced(image: str, pulled: str) -> None:
    assert cached(image, PREFIXES) == pulled


def test_a_name_that_ecr_could_not_hold_is_left_alone() -> None:
    room = 256 - len("p/ghcr/")
    assert cached(f"ghcr.io/{'a' * room}:1", PREFIXES) == f"{PREFIXES['ghcr.io']}/{'a' * room}:1"
    assert cached(f"ghcr.io/{'a' * (room + 1)}:1", PREFIXES) == f"ghcr.io/{'a' * (room + 1)}:1"
