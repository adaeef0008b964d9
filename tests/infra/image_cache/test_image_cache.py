"""The component: rules, templates, credentials, own repositories."""

import json
from typing import Any

import pulumi
import pytest
from pulumi_aws import ecr, secretsmanager

from infra.image_cache.documents import node_statements
from infra.image_cache.image_cache import ImageCache, ImageCacheArgs
from infra.image_cache.settings import ImageCacheSettings
from infra.naming import Place, partition_of
from rehearsal.providers.values import SECRET, SIGNATURE
from tests.harness import Recording, record
from tests.recording import Registration, texts

TOKEN = "dckr_pat_EXAMPLE"  # noqa: S105 - a made-up one
EVERY = ("ecr-public", "quay", "k8s", "docker-hub", "ghcr")


def settings(*upstreams: str, **changed: Any) -> ImageCacheSettings:
    good = {"prefix": "a-stack", "untaggedDays": 14, "keepTags": 20, "repositories": {}}
    return ImageCacheSettings.model_validate({**good, "upstreams": upstreams, **changed})


def made(asked: ImageCacheSettings) -> Recording:
    def program() -> None:
        secrets = {
            name: pulumi.Output.secret(json.dumps({"username": "somebody", "accessToken": TOKEN}))
            for name in ("docker-hub", "ghcr")
        }
        ImageCache("images", ImageCacheArgs(settings=asked, credentials=secrets))

    return record(program)


def inputs(recording: Recording, kind: type) -> dict[str, dict[str, Any]]:
    return {r.name.removeprefix("images-"): r.inputs for r in recording.all(kind)}


def test_ECR_01_each_rule_has_the_upstream_s_url_and_credentials_only_where_asked_for() -> None:
    rules = inputs(made(settings(*EVERY)), ecr.PullThroughCacheRule)
    assert {name: rule["upstreamRegistryUrl"] for name, rule in rules.items()} == {
        "ecr-public": "public.ecr.aws",
        "quay": "quay.io",
        "k8s": "registry.k8s.io",
        "docker-hub": "registry-1.docker.io",
        "ghcr": "ghcr.io",
    }
    assert {name for name, rule in rules.items() if "credentialArn" in rule} == {"docker-hub", "ghcr"}
    assert rules["docker-hub"]["credentialArn"] == "images-docker-hub-id"
    for name, rule in rules.items():
        assert rule["ecrRepositoryPrefix"] == f"a-stack/{name}"
        assert 2 <= len(rule["ecrRepositoryPrefix"]) <= 30


def test_ECR_01_a_secret_has_the_name_that_ecr_reads_and_no_key_of_its_own() -> None:
    secrets = inputs(made(settings(*EVERY)), secretsmanager.Secret)
    assert {name: secret["name"] for name, secret in secrets.items()} == {
        "docker-hub": "ecr-pullthroughcache/a-stack/docker-hub",
        "ghcr": "ecr-pullthroughcache/a-stack/ghcr",
    }
    for secret in secrets.values():
        assert "kmsKeyId" not in secret
        # else AWS keeps the name, and the `up` after a `destroy` fails on it
        assert secret["recoveryWindowInDays"] == 0


def test_ECR_01_the_rule_comes_after_the_value_of_its_secret() -> None:
    """ECR tries the credentials when the rule is made."""
    recording = made(settings("docker-hub"))
    rule = recording.one(ecr.PullThroughCacheRule)
    assert recording.one(secretsmanager.SecretVersion).urn in recording.needs(rule.urn)
    assert recording.one(ecr.RepositoryCreationTemplate).urn in recording.needs(rule.urn)


def test_PUL_02_a_token_reaches_one_value_and_is_secret_there() -> None:
    recording = made(settings("docker-hub"))
    version = recording.one(secretsmanager.SecretVersion)
    value = version.inputs["secretString"]
    assert value[SIGNATURE] == SECRET
    assert json.loads(value["value"]) == {"username": "somebody", "accessToken": TOKEN}
    holders = [(r.urn, text) for r in recording.registered for text in texts(r.inputs) if TOKEN in text]
    assert holders == [(version.urn, value["value"])]
    assert TOKEN not in json.dumps(recording.completed)


def test_ECR_02_nodes_may_import_and_make_repositories_below_the_prefixes_and_nowhere_else() -> None:
    """Without CreateRepository the first pull of every image fails (elastic-ci-stack-for-aws PR#1270)."""
    place = Place(partition_of("us-west-2"), "us-west-2", "000000000000")
    (statement,) = node_statements(settings("quay", "docker-hub"), place)
    assert statement == {
        "Sid": "PullThrough",
        "Effect": "Allow",
        "Action": ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"],
        "Resource": [
            "arn:aws:ecr:us-west-2:000000000000:repository/a-stack/docker-hub/*",
            "arn:aws:ecr:us-west-2:000000000000:repository/a-stack/quay/*",
        ],
    }
    assert node_statements(settings(), place) == ()


def test_ECR_02_a_cached_repository_is_made_from_a_template_with_a_lifecycle() -> None:
    templates = inputs(made(settings("quay", "k8s")), ecr.RepositoryCreationTemplate)
    assert {name: template["prefix"] for name, template in templates.items()} == {
        "quay": "a-stack/quay",
        "k8s": "a-stack/k8s",
    }
    for template in templates.values():
        assert template["appliedFors"] == ["PULL_THROUGH_CACHE"]
        assert template["imageTagMutability"] == "MUTABLE"
        assert template["encryptionConfigurations"] == [{"encryptionType": "AES256"}]
        # either of these needs a role that ECR would have to assume
        assert not {"customRoleArn", "resourceTags"} & template.keys()
        assert 100 <= len(template["lifecyclePolicy"]) <= 30720
        untagged, tagged = json.loads(template["lifecyclePolicy"])["rules"]
        assert untagged["selection"] == {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": 14,
        }
        assert tagged["selection"] == {
            "tagStatus": "tagged",
            "tagPatternList": ["*"],
            "countType": "imageCountMoreThan",
            "countNumber": 20,
        }


def own(keep: bool) -> tuple[Registration, Registration]:
    recording = made(settings(repositories={"engine": {"keepOnDestroy": keep}}))
    return recording.one(ecr.Repository), recording.one(ecr.LifecyclePolicy)


def test_an_own_repository_holds_fixed_tags_that_are_scanned_and_never_expire() -> None:
    repository, lifecycle = own(keep=False)
    assert repository.inputs == {
        "name": "a-stack/engine",
        "imageTagMutability": "IMMUTABLE",
        "imageScanningConfiguration": {"scanOnPush": True},
        "encryptionConfigurations": [{"encryptionType": "AES256"}],
        "forceDelete": False,
    }
    (rule,) = json.loads(lifecycle.inputs["policy"])["rules"]
    assert rule["selection"]["tagStatus"] == "untagged"


@pytest.mark.parametrize("keep", [True, False])
def test_an_own_repository_outlives_its_stack_when_asked(keep: bool) -> None:
    repository, lifecycle = own(keep)
    assert repository.options["retain_on_delete"] is lifecycle.options["retain_on_delete"] is keep


def test_a_changed_lifecycle_is_not_taken_away_by_the_removal_of_the_old_one() -> None:
    """Both have the repository's name as their id."""
    _, lifecycle = own(keep=False)
    assert lifecycle.options["delete_before_replace"] is True


def test_nothing_is_cached_when_no_upstream_is_on() -> None:
    recording = made(settings())
    assert [r.kind for r in recording.registered] == ["vllm-eks:infra:ImageCache"]


def test_two_stacks_share_no_name() -> None:
    """Rules, templates and secrets are of the account and region, whatever the stack."""

    def names(prefix: str) -> set[str]:
        asked = settings(*EVERY, prefix=prefix, repositories={"engine": {"keepOnDestroy": False}})
        keys = ("name", "prefix", "ecrRepositoryPrefix")
        return {str(r.inputs[key]) for r in made(asked).registered for key in keys if key in r.inputs}

    assert len(names("one")) == 8
    assert names("one") & names("two") == set()
