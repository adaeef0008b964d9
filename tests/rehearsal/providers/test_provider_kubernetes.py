"""The offline kubernetes provider over a real gRPC connection."""

import uuid

import pytest

from rehearsal.providers.values import UNKNOWN

NAMESPACE = "kubernetes:core/v1:Namespace"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


@pytest.fixture
def api(connect):
    return connect("kubernetes", kubeconfig="{}")


def test_a_name_is_the_logical_name_and_eight_hex_digits(api):
    metadata = api.check(CONFIG_MAP, "conf", {})["metadata"]
    prefix, _, digits = metadata["name"].rpartition("-")
    assert (prefix, len(digits)) == ("conf", 8)
    assert metadata["annotations"] == {"pulumi.com/autonamed": "true"}


def test_a_generated_name_survives_updates_and_a_given_one_replaces_it(api):
    olds = api.check(CONFIG_MAP, "conf", {}, seed=b"one")
    kept = api.check(CONFIG_MAP, "conf", {"data": {"a": "b"}}, olds=olds, seed=b"two")
    assert kept["metadata"] == olds["metadata"]
    given = api.check(CONFIG_MAP, "conf", {"metadata": {"name": "mine"}}, olds=olds)
    assert given["metadata"]["name"] == "mine"


def test_a_name_that_the_user_gave_is_not_kept_when_it_is_removed(api):
    olds = {"metadata": {"name": "mine"}}
    assert api.check(CONFIG_MAP, "conf", {}, olds=olds)["metadata"]["name"] != "mine"


def test_namespaced_objects_get_the_default_namespace_of_the_provider_instance(connect, api):
    other = connect("kubernetes", kubeconfig="{}", namespace="team")
    assert api.check(CONFIG_MAP, "c", {})["metadata"]["namespace"] == "default"
    assert other.check(CONFIG_MAP, "c", {})["metadata"]["namespace"] == "team"
    assert "namespace" not in api.check(NAMESPACE, "n", {})["metadata"]


def test_unknown_metadata_passes(api):
    assert api.check(CONFIG_MAP, "c", {"metadata": UNKNOWN}) == {"metadata": UNKNOWN}


def test_create_gives_an_object_as_the_api_server_returns_it(api):
    identifier, outputs = api.make(DEPLOYMENT, "d", metadata={"name": "web", "namespace": "x"}, spec={"replicas": 2})
    assert identifier == "x/web"
    assert uuid.UUID(outputs["metadata"]["uid"])
    assert outputs["metadata"]["name"] == "web"
    assert outputs["status"]["readyReplicas"] == 2
    assert api.read(DEPLOYMENT, identifier)[1] == outputs


def test_a_cluster_scoped_object_has_its_name_as_id(api):
    assert api.make(NAMESPACE, "n", metadata={"name": "serving"})[0] == "serving"


def test_karpenters_pools_and_node_classes_belong_to_no_namespace(api):
    for token in ("kubernetes:karpenter.sh/v1:NodePool", "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"):
        identifier, outputs = api.make(token, "gpu", metadata={"name": "gpu"}, spec={})
        assert identifier == "gpu"
        assert "namespace" not in outputs["metadata"]


def test_an_unknown_kind_is_refused_with_the_table_to_extend(api, refused):
    assert refused(lambda: api.check("kubernetes:coordination.k8s.io/v1:Lease", "n", {})) == (
        "the offline kubernetes provider does not know the kind `kubernetes:coordination.k8s.io/v1:Lease`: "
        "add it to OBJECTS in rehearsal/providers/kubernetes/objects.py"
    )


def test_every_known_kind_exists_in_the_sdk():
    import importlib

    from rehearsal.providers.kubernetes.objects import OBJECTS

    for token in (token for token in OBJECTS if "karpenter" not in token):
        _, group, kind = token.split(":")
        name, _, version = group.partition("/")
        module = name.split(".")[0]
        found = getattr(importlib.import_module(f"pulumi_kubernetes.{module}.{version}"), kind)
        assert found.__name__ == kind
