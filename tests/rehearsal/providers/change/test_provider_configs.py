"""What a change of a provider's own arguments does to it, and so to everything that it owns."""

import json

import pytest

from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN


def _kubeconfig(server="https://one", user="aws", **command):
    return {
        "clusters": [
            {"name": "c", "cluster": {"server": server, "certificate-authority-data": "x"}},
            {"name": "other", "cluster": {"server": "https://other"}},
        ],
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": user}}],
        "current-context": "a",
        "users": [{"name": user, "user": {"exec": {"command": "aws", **command}}}],
    }


ONE = json.dumps(_kubeconfig())


def test_another_region_updates_the_aws_provider(configured):
    answer = configured("aws", {"region": "eu-west-1"}, {"region": "us-east-1"})
    assert (answer.changes, answer.detail, answer.replaces) == (True, {"region": "UPDATE"}, [])


def test_other_default_tags_and_accounts_update_the_aws_provider(configured):
    olds = {"defaultTags": '{"tags": {"a": "b"}}', "allowedAccountIds": '["1"]'}
    news = {"defaultTags": '{"tags": {"a": "c"}}', "allowedAccountIds": UNKNOWN}
    answer = configured("aws", olds, news)
    assert (answer.detail, answer.replaces) == ({"allowedAccountIds": "UPDATE", "defaultTags": "UPDATE"}, [])


@pytest.mark.parametrize("package", ["aws", "eks", "kubernetes"])
def test_the_same_arguments_change_nothing(configured, package):
    assert not configured(package, {"kubeconfig": ONE}, {"kubeconfig": ONE}).changes


def test_PUL_07_a_kubeconfig_of_the_same_cluster_updates(configured):
    """Another user, command or formatting replaced everything in the cluster (pulumi-kubernetes#4019)."""
    for other in (
        json.dumps(_kubeconfig(args=["--profile", "x"])),
        json.dumps(_kubeconfig(user="someone")),
        json.dumps(_kubeconfig(), indent=2),
    ):
        answer = configured("kubernetes", {"kubeconfig": ONE}, {"kubeconfig": other})
        assert (answer.detail, answer.replaces) == ({"kubeconfig": "UPDATE"}, [])


@pytest.mark.parametrize("secret", [False, True])
def test_a_kubeconfig_of_another_cluster_replaces(configured, secret):
    other = json.dumps(_kubeconfig(server="https://two"))
    news = {"kubeconfig": {SIGNATURE: SECRET, "value": other} if secret else other}
    answer = configured("kubernetes", {"kubeconfig": ONE}, news)
    assert (answer.detail, answer.replaces) == ({"kubeconfig": "UPDATE_REPLACE"}, ["kubeconfig"])


def test_a_kubeconfig_may_be_yaml(configured):
    import yaml

    same, other = (yaml.safe_dump(_kubeconfig(server=server)) for server in ("https://one", "https://two"))
    assert configured("kubernetes", {"kubeconfig": ONE}, {"kubeconfig": same}).replaces == []
    assert configured("kubernetes", {"kubeconfig": ONE}, {"kubeconfig": other}).replaces == ["kubeconfig"]


def test_a_context_or_cluster_argument_points_elsewhere(configured):
    olds = {"kubeconfig": ONE}
    assert configured("kubernetes", olds, {**olds, "cluster": "other"}).replaces == ["cluster"]
    assert configured("kubernetes", olds, {**olds, "cluster": "nowhere"}).replaces == []
    assert configured("kubernetes", olds, {**olds, "context": "nowhere"}).replaces == []


@pytest.mark.parametrize("key", ["kubeconfig", "context", "cluster"])
def test_an_unknown_pointer_replaces(configured, key):
    olds = {"kubeconfig": ONE, "context": "a", "cluster": "c"}
    answer = configured("kubernetes", olds, {**olds, key: UNKNOWN})
    assert (answer.detail, answer.replaces) == ({key: "UPDATE_REPLACE"}, [key])


def test_an_identifier_that_stays_keeps_the_provider_whatever_the_kubeconfig_says(configured):
    olds = {"kubeconfig": ONE, "clusterIdentifier": "id"}
    for other in (json.dumps(_kubeconfig(server="https://two")), UNKNOWN):
        answer = configured("kubernetes", olds, {**olds, "kubeconfig": other})
        assert (answer.detail, answer.replaces) == ({"kubeconfig": "UPDATE"}, [])


@pytest.mark.parametrize("other", ["else", UNKNOWN])
def test_another_identifier_replaces(configured, other):
    answer = configured("kubernetes", {"clusterIdentifier": "id"}, {"clusterIdentifier": other})
    assert (answer.detail, answer.replaces) == ({"clusterIdentifier": "UPDATE_REPLACE"}, ["clusterIdentifier"])


def test_an_identifier_that_comes_or_goes_does_not_replace(configured):
    with_it = {"kubeconfig": ONE, "clusterIdentifier": "id"}
    assert configured("kubernetes", {"kubeconfig": ONE}, with_it).detail == {"clusterIdentifier": "ADD"}
    assert configured("kubernetes", with_it, {"kubeconfig": ONE}).detail == {"clusterIdentifier": "DELETE"}


def test_a_kubeconfig_that_nobody_can_read_updates(configured):
    for other in ("kubeconfig.yaml", "{", "- a", "contexts: 3"):
        answer = configured("kubernetes", {"kubeconfig": ONE}, {"kubeconfig": other})
        assert (answer.detail, answer.replaces) == ({"kubeconfig": "UPDATE"}, [])
