"""Update or replace for Kubernetes objects, over gRPC."""

import pytest

from rehearsal.providers.kubernetes.objects import OBJECTS
from rehearsal.providers.values import SECRET, SIGNATURE, UNKNOWN

TOKENS = {token.rpartition(":")[2]: token for token in OBJECTS}
SELECTOR = {"selector": {"matchLabels": {"app": "a"}}}

# Kind, object before, object after (both without metadata), what happens at each place.
CASES = [
    ("Namespace", {}, {"spec": {"finalizers": ["a"]}}, {"spec": "ADD"}),
    ("ServiceAccount", {}, {"automountServiceAccountToken": False}, {"automountServiceAccountToken": "ADD"}),
    ("ConfigMap", {"data": {"a": "b"}}, {"data": {"a": "c"}}, {"data.a": "UPDATE_REPLACE"}),
    ("ConfigMap", {"data": {"a": "b"}}, {}, {"data": "DELETE_REPLACE"}),
    ("ConfigMap", {"immutable": True}, {}, {"immutable": "DELETE"}),
    ("Secret", {"stringData": {"a": "b"}}, {"stringData": {"a": "b", "c": "d"}}, {"stringData.c": "ADD_REPLACE"}),
    ("Secret", {"type": "Opaque"}, {"type": "x/y"}, {"type": "UPDATE_REPLACE"}),
    ("Service", {"spec": {"clusterIP": "None"}}, {"spec": {}}, {"spec.clusterIP": "DELETE_REPLACE"}),
    (
        "Service",
        {"spec": {"ports": [{"port": 80}]}},
        {"spec": {"ports": [{"port": 81}]}},
        {"spec.ports[0].port": "UPDATE"},
    ),
    (
        "PersistentVolume",
        {"spec": {"csi": {"volumeHandle": "a"}}},
        {"spec": {"csi": {"volumeHandle": "b"}}},
        {"spec.csi.volumeHandle": "UPDATE_REPLACE"},
    ),
    (
        "PersistentVolume",
        {"spec": {"mountOptions": ["a"]}},
        {"spec": {"mountOptions": ["b"]}},
        {"spec.mountOptions[0]": "UPDATE"},
    ),
    (
        "PersistentVolumeClaim",
        {"spec": {"accessModes": ["ReadOnlyMany"]}},
        {"spec": {"accessModes": ["ReadWriteMany"], "volumeName": "v"}},
        {"spec.accessModes[0]": "UPDATE_REPLACE", "spec.volumeName": "ADD_REPLACE"},
    ),
    (
        "ResourceQuota",
        {"spec": {"hard": {"pods": "1"}}},
        {"spec": {"hard": {"pods": "2"}}},
        {"spec.hard.pods": "UPDATE"},
    ),
    ("ResourceQuota", {"spec": {}}, {"spec": {"scopes": ["a"]}}, {"spec.scopes": "ADD_REPLACE"}),
    ("LimitRange", {"spec": {"limits": []}}, {"spec": {"limits": [{"type": "Pod"}]}}, {"spec.limits[0]": "ADD"}),
    (
        "Deployment",
        {"spec": {**SELECTOR, "replicas": 1}},
        {"spec": {"selector": {"matchLabels": {"app": "b"}}, "replicas": 2}},
        {"spec.selector.matchLabels.app": "UPDATE_REPLACE", "spec.replicas": "UPDATE"},
    ),
    (
        "Deployment",
        {"spec": {"template": {"spec": {"containers": [{"name": "a", "args": ["x", "y"]}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "a", "args": ["y"]}]}}}},
        {
            "spec.template.spec.containers[0].args[0]": "UPDATE",
            "spec.template.spec.containers[0].args[1]": "DELETE",
        },
    ),
    ("DaemonSet", {"spec": {}}, {"spec": SELECTOR}, {"spec.selector": "ADD_REPLACE"}),
    ("Job", {"spec": {"template": {"a": 1}}}, {"spec": {"template": {"a": 2}}}, {"spec.template.a": "UPDATE_REPLACE"}),
    ("Job", {"spec": {"backoffLimit": 1}}, {"spec": {"backoffLimit": 2}}, {"spec.backoffLimit": "UPDATE"}),
    ("CronJob", {"spec": {"schedule": "a"}}, {"spec": {"schedule": "b"}}, {"spec.schedule": "UPDATE"}),
    ("NetworkPolicy", {"spec": {"podSelector": {}}}, {"spec": {}}, {"spec.podSelector": "DELETE"}),
    (
        "ValidatingAdmissionPolicy",
        {"spec": {"failurePolicy": "Fail"}},
        {"spec": {"failurePolicy": "Ignore"}},
        {"spec.failurePolicy": "UPDATE"},
    ),
    (
        "ValidatingAdmissionPolicyBinding",
        {"spec": {"validationActions": ["Deny"]}},
        {"spec": {"validationActions": ["Warn"]}},
        {"spec.validationActions[0]": "UPDATE"},
    ),
    (
        "PodDisruptionBudget",
        {"spec": {"minAvailable": 1}},
        {"spec": {"minAvailable": 2}},
        {"spec.minAvailable": "UPDATE"},
    ),
    ("Role", {"rules": [{"verbs": ["get"]}]}, {"rules": [{"verbs": ["get", "list"]}]}, {"rules[0].verbs[1]": "ADD"}),
    ("RoleBinding", {"roleRef": {"name": "a"}}, {"roleRef": {"name": "b"}}, {"roleRef.name": "UPDATE_REPLACE"}),
    ("RoleBinding", {"subjects": [{"name": "a"}]}, {"subjects": [{"name": "b"}]}, {"subjects[0].name": "UPDATE"}),
    ("ClusterRole", {"rules": []}, {}, {"rules": "DELETE"}),
    ("ClusterRoleBinding", {"roleRef": {"name": "a"}}, {"roleRef": {"name": "b"}}, {"roleRef.name": "UPDATE_REPLACE"}),
    ("PriorityClass", {"value": 1}, {"value": 2}, {"value": "UPDATE"}),
    ("StorageClass", {"provisioner": "a"}, {"provisioner": "b"}, {"provisioner": "UPDATE_REPLACE"}),
    (
        "StorageClass",
        {"parameters": {"type": "gp2"}},
        {"parameters": {"type": "gp3"}},
        {"parameters.type": "UPDATE_REPLACE"},
    ),
    ("NodePool", {"spec": {"weight": 1}}, {"spec": {"weight": 2}}, {"spec.weight": "UPDATE"}),
    ("EC2NodeClass", {"spec": {"role": "a"}}, {"spec": {"role": "b"}}, {"spec.role": "UPDATE"}),
]


@pytest.fixture
def api(connect):
    return connect("kubernetes", kubeconfig="{}")


def _of(name, content):
    space = {"namespace": "x"} if OBJECTS[TOKENS[name]].namespaced else {}
    return {"metadata": {"name": "a", **space}, **content}


@pytest.mark.parametrize(("name", "old", "new", "detail"), CASES)
def test_a_change_updates_or_replaces_as_pulumi_kubernetes_decides(api, change, name, old, new, detail):
    answer = change(api, TOKENS[name], _of(name, old), _of(name, new)).diff()
    replaces = sorted(path for path, kind in detail.items() if kind.endswith("_REPLACE"))
    assert (answer.changes, answer.detail, answer.replaces) == (True, detail, replaces)
    # Named by the program, so that the new one would be in the way of the old one.
    assert answer.delete_first is bool(replaces)


def test_every_kind_is_changed_by_a_case():
    assert {case[0] for case in CASES} == TOKENS.keys()


@pytest.mark.parametrize("token", OBJECTS)
def test_what_the_cluster_adds_is_no_change(api, change, token):
    spec = {"metadata": {"name": "a"}, "spec": {"replicas": 1}}
    made = change(api, token, spec, spec)
    assert made.outputs["metadata"]["uid"]
    answer = made.diff()
    assert (answer.changes, answer.detail) == (False, {})


@pytest.mark.parametrize("key", ["name", "namespace"])
def test_another_name_or_namespace_is_another_object_made_before_the_old_one_goes(api, change, key):
    metadata = {"name": "a", "namespace": "x"}
    answer = change(api, TOKENS["ServiceAccount"], {"metadata": metadata}, {"metadata": {**metadata, key: "b"}}).diff()
    assert (answer.detail, answer.replaces) == ({f"metadata.{key}": "UPDATE_REPLACE"}, [f"metadata.{key}"])
    assert answer.delete_first is False


def test_an_object_with_a_generated_name_is_made_before_the_old_one_goes(api, change):
    answer = change(api, TOKENS["ConfigMap"], {"data": {"a": "b"}}, {"data": {"a": "c"}}).diff()
    assert (answer.replaces, answer.delete_first) == (["data.a"], False)


@pytest.mark.parametrize(
    ("name", "flag", "content"),
    [
        ("ConfigMap", "enableConfigMapMutable", "data"),
        ("ConfigMap", "enableConfigMapMutable", "binaryData"),
        ("Secret", "enableSecretMutable", "data"),
        ("Secret", "enableSecretMutable", "stringData"),
    ],
)
def test_contents_update_when_the_provider_is_told_so_and_the_object_is_not_immutable(
    connect, change, name, flag, content
):
    mutable = connect("kubernetes", kubeconfig="{}", **{flag: "true"})
    old, new = ({content: {"a": value}} for value in "bc")
    assert change(mutable, TOKENS[name], old, new, name="one").diff().detail == {f"{content}.a": "UPDATE"}
    fixed = {"immutable": True}
    answer = change(mutable, TOKENS[name], {**old, **fixed}, {**new, **fixed}, name="two").diff()
    assert answer.detail == {f"{content}.a": "UPDATE_REPLACE"}
    assert change(mutable, TOKENS[name], {"type": "a"}, {"type": "b"}, name="three").diff().replaces == (
        ["type"] if name == "Secret" else []
    )


def test_an_unknown_value_counts_as_another_one(api, change):
    old = {"spec": {"selector": {"matchLabels": {"app": "a"}}, "replicas": 1}}
    new = {"spec": {"selector": {"matchLabels": {"app": UNKNOWN}}, "replicas": UNKNOWN, "paused": UNKNOWN}}
    assert change(api, TOKENS["Deployment"], old, new).diff().detail == {
        "spec.selector.matchLabels.app": "UPDATE_REPLACE",
        "spec.replicas": "UPDATE",
        "spec.paused": "ADD",
    }
    # Nobody can tell what an unknown object has inside.
    assert change(api, TOKENS["Deployment"], old, {"spec": UNKNOWN}, name="b").diff().detail == {"spec": "UPDATE"}


def test_ignored_changes_are_none(api, change):
    old, new = ({"spec": {"replicas": count, "paused": count == 0}} for count in (1, 0))
    made = change(api, TOKENS["Deployment"], old, new)
    assert made.diff("spec.replicas").detail == {"spec.paused": "UPDATE"}
    assert not made.diff("spec").changes


def test_an_annotation_with_dots_is_one_key(api, change):
    old, new = ({"metadata": {"name": "a", "annotations": {"a.b/c": value}}} for value in "xy")
    assert change(api, TOKENS["ConfigMap"], old, new).diff().detail == {'metadata.annotations["a.b/c"]': "UPDATE"}


def test_a_secret_is_compared_by_its_value_and_shows_only_its_place(api, change):
    one, other = ({"stringData": {SIGNATURE: SECRET, "value": {"token": text}}} for text in ("hunter2", "hunter3"))
    assert not change(api, TOKENS["Secret"], one, one, name="a").diff().changes
    answer = change(api, TOKENS["Secret"], one, other, name="b").diff()
    assert answer.detail == {"stringData.token": "UPDATE_REPLACE"}
    assert "hunter" not in str(answer)
