"""Registry credentials: asked for before any resource, never repeated."""

import json

import pulumi
import pytest

from infra.image_cache.credentials import credentials
from infra.image_cache.settings import ImageCacheSettings

KEY = "vllm-eks:dockerHubCredentials"
GHCR = "vllm-eks:ghcrCredentials"
FORM = '{"username": "...", "accessToken": "..."}'
USER = "somebody"
TOKEN = "dckr_pat_EXAMPLE"  # noqa: S105 - a made-up one
GOOD = json.dumps({"username": USER, "accessToken": TOKEN})


def asked(
    config: dict[str, str], secrets: list[str], *upstreams: str
) -> tuple[dict[str, pulumi.Output[str]], list[str]]:
    pulumi.runtime.set_mocks(None, "vllm-eks", "test")
    pulumi.runtime.set_all_config(config, secrets)
    settings = ImageCacheSettings.model_validate(
        {"prefix": "a-stack", "upstreams": upstreams, "untaggedDays": 14, "keepTags": 20, "repositories": {}}
    )
    found, complaints = credentials(settings, pulumi.Config("vllm-eks"))
    return dict(found), [str(complaint) for complaint in complaints]


def test_ECR_01_a_registry_that_asks_for_credentials_is_refused_without() -> None:
    """ECR answers the rule with UnsupportedUpstreamRegistry only when it is made (aws-controllers-k8s#2589)."""
    found, complaints = asked({}, [], "quay", "docker-hub", "ghcr")
    assert found == {}
    assert complaints == [
        f"imageCache.upstreams: docker-hub needs the secret {KEY}; set it to {FORM} with"
        f" `pulumi config set --secret {KEY}` (in a rehearsal --secret '{KEY}=...'), or leave docker-hub out",
        f"imageCache.upstreams: ghcr needs the secret {GHCR}; set it to {FORM} with"
        f" `pulumi config set --secret {GHCR}` (in a rehearsal --secret '{GHCR}=...'), or leave ghcr out",
    ]


def test_ECR_01_anonymous_registries_need_none() -> None:
    assert asked({}, [], "ecr-public", "quay", "k8s") == ({}, [])


def test_PUL_02_credentials_of_a_registry_that_is_off_are_not_read() -> None:
    assert asked({KEY: "not JSON"}, [KEY], "quay") == ({}, [])


BROKEN = "holds a line break or another character that is no part of a user or a token"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (TOKEN, "not JSON"),
        ("[]", "not a mapping of exactly two keys"),
        (json.dumps({"username": USER}), "not a mapping of exactly two keys"),
        (json.dumps({"username": USER, "accesstoken": TOKEN}), "not a mapping of exactly two keys"),
        (json.dumps({"username": USER, "accessToken": TOKEN, "x": 1}), "not a mapping of exactly two keys"),
        (json.dumps({"username": USER, "accessToken": ""}), "no text in accessToken"),
        (json.dumps({"username": " ", "accessToken": "\n"}), "no text in username and accessToken"),
        (json.dumps({"username": USER, "accessToken": 3}), "no text in accessToken"),
        (json.dumps({"username": USER, "accessToken": f"{TOKEN}\r\nX: 1"}), BROKEN),
        (json.dumps({"username": f"{USER}\0", "accessToken": TOKEN}), BROKEN),
        (
            json.dumps({"username": USER, "accessToken": TOKEN * 10000}),
            "larger than the 65536 bytes that Secrets Manager takes",
        ),
    ],
)
def test_ECR_01_half_a_credential_is_refused_and_never_repeated(value: str, problem: str) -> None:
    found, complaints = asked({KEY: value}, [KEY], "docker-hub")
    assert found == {}
    assert complaints == [f"{KEY}: {problem}; expected {FORM}"]
    assert TOKEN not in complaints[0]
    assert USER not in complaints[0]


@pytest.mark.parametrize("upstream", ["docker-hub", "quay"])
def test_PUL_02_a_credential_in_plain_text_is_refused_whether_its_registry_is_on_or_off(upstream: str) -> None:
    """The file is in git already."""
    _, complaints = asked({KEY: GOOD}, [], upstream)
    assert complaints == [f"{KEY}: stored as plain text; withdraw that token and set a new one with --secret"]


@pytest.mark.parametrize("value", [GOOD, json.dumps({"accessToken": f" {TOKEN}\n", "username": f"{USER}\r\n"})])
def test_PUL_02_a_credential_is_secret_and_without_white_space(value: str) -> None:
    found, complaints = asked({KEY: value}, [KEY], "docker-hub")
    assert complaints == []
    assert list(found) == ["docker-hub"]
    seen: list[tuple[str, bool]] = []

    @pulumi.runtime.test
    def look() -> pulumi.Output[None]:
        async def both() -> None:
            seen.append((await found["docker-hub"].future() or "", await found["docker-hub"].is_secret()))

        return pulumi.Output.from_input(both())

    look()
    ((text, secret),) = seen
    assert json.loads(text) == {"username": USER, "accessToken": TOKEN}
    assert secret is True
