"""What comes before, and so goes after, something else; and the theme's rules over whatever they may be handed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails import operations
from guardrails.accounts import ASSOCIATION
from guardrails.money import NAT, ROUTE, ROUTE_TABLES
from guardrails.operations.order import ADDON, NODES, needed
from guardrails.operations.pins import CHARTS, RELEASE
from guardrails.pods import WORKLOADS
from guardrails.pools import NODE_CLASS, NODE_POOL
from guardrails.rule import Unchecked, Violation, judged
from tests.policies.conftest import UNKNOWN, found, resource, unchecked


def karpenter(kind=RELEASE, chart="oci://public.ecr.aws/karpenter/karpenter", **options):
    return resource(kind, {"chart": chart}, "controller", **options)


def test_a_resource_needs_what_its_parents_need_and_what_that_needs():
    far, near, parent = resource("a", {}), resource("b", {}), resource("c", {})
    object.__setattr__(near, "needs", (far,))
    object.__setattr__(parent, "needs", (near,))
    assert needed(resource("d", {}, parent=parent)) == {far, near, parent}
    # two that name each other end all the same
    object.__setattr__(far, "needs", (near,))
    assert needed(far) == {far, near}


@pytest.mark.parametrize("kind", [NODE_POOL, NODE_CLASS])
@pytest.mark.parametrize("chart", sorted(CHARTS))
def test_karpenter_outlives_its_nodes(kind, chart):
    controller = karpenter(chart)
    component = resource("team:index:Nodes", {}, needs=[controller])
    other = karpenter(chart="karpenter-crd")
    assert found("destroy-order", controller, resource(kind, {}, needs=[controller])) == []
    assert found("destroy-order", controller, resource(kind, {}, parent=component)) == []
    assert found("destroy-order", resource(kind, {}), other) == []
    assert found("destroy-order", controller, resource(kind, {}, needs=[other])) == [
        "it does not depend on chart controller, so a destroy may stop Karpenter first; add depends_on"
    ]


def test_TST_03_destroy_order():
    pool, unknown = resource(NODE_POOL, {}), karpenter(chart=UNKNOWN)
    assert unchecked("destroy-order", pool, unknown) == ["controller.chart"]
    assert unchecked("destroy-order", resource(NODE_POOL, {}, needs=[unknown]), unknown) == []
    # a chart that is not known hides no controller that is
    assert len(found("destroy-order", pool, unknown, karpenter())) == 1
    assert found("destroy-order", pool, karpenter(chart=7)) == ["controller.chart: expected a text, found a number"]
    assert found("destroy-order", pool, karpenter(chart=None)) == []


def test_the_way_to_ec2_outlives_karpenters_nodes():
    nat = resource(NAT, {}, "nat")
    way = resource(ROUTE, {}, "way", sources={"natGatewayId": [nat]})
    inline = resource(ROUTE_TABLES[0], {}, "inline", sources={"routes": [nat]})
    other = resource(ROUTE, {}, "peering")
    network = [nat, way, inline, other]
    cluster = resource("aws:eks/cluster:Cluster", {}, needs=network)
    assert found("network-order", *network, resource(NODE_POOL, {}, needs=[cluster])) == []
    assert found("network-order", resource(NODE_POOL, {}), other) == []
    assert found("network-order", *network, resource(NODE_CLASS, {}, needs=[way])) == [
        "it does not depend on route inline, so a destroy may cut Karpenter off from EC2 first; let the cluster depend"
        " on the network, and this on the cluster"
    ]


def identity(title="identity", **props):
    return resource(ASSOCIATION, {"namespace": "team", "serviceAccount": "chat", **props}, title)


def workload(account="chat", namespace="team", kind="kubernetes:apps/v1:Deployment", **options):
    props = {
        "metadata": {"namespace": namespace},
        "spec": {"template": {"spec": {"serviceAccountName": account}}},
    }
    return resource(kind, props, "web", **options)


def late(title="identity", account="team/chat"):
    return (
        f"it does not depend on association {title} of its account {account}, so its pod may have no credentials; add"
        " depends_on"
    )


def test_a_pod_comes_after_its_identity():
    first = identity()
    assert found("association-order", first, workload(needs=[first])) == []
    assert found("association-order", first, workload()) == [late()]
    assert found("association-order", first, workload("other"), workload(namespace="other")) == []
    assert found("association-order", workload()) == []


def test_the_account_of_a_pod_that_names_none_is_default():
    it = identity(namespace="default", serviceAccount="default")
    bare = resource("kubernetes:core/v1:Pod", {"spec": {}}, "bare")
    assert found("association-order", it, bare) == [late(account="default/default")]
    for kind in sorted(WORKLOADS):
        for props in ({}, {"spec": None}, {"metadata": None, "spec": {"template": None, "jobTemplate": None}}):
            assert set(found("association-order", it, resource(kind, props))) == {late(account="default/default")}


def test_an_account_that_a_preview_does_not_know_is_that_of_its_object():
    metadata = {"name": "chat", "namespace": "team"}
    account = resource("kubernetes:core/v1:ServiceAccount", {"metadata": metadata}, "account")
    place = resource("kubernetes:core/v1:Namespace", {"metadata": {"name": "team"}}, "place")
    sources = {"spec": [resource("kubernetes:core/v1:ConfigMap", {}), account], "metadata": [place]}
    it = workload(UNKNOWN, UNKNOWN, sources=sources)
    assert found("association-order", identity(), it) == [late()]
    # not where two objects could be it
    assert unchecked("association-order", identity(), workload(UNKNOWN, sources={"spec": [account] * 2})) == [
        "spec.template.spec.serviceAccountName"
    ]


def test_TST_03_association_order():
    path = "spec.template.spec.serviceAccountName"
    assert unchecked("association-order", identity(), workload(UNKNOWN)) == [path]
    assert unchecked("association-order", identity(), workload(namespace=UNKNOWN)) == ["metadata.namespace"]
    # an association that is not known hides none that is, and one that comes first need not be
    unknown = identity("unknown", serviceAccount=UNKNOWN)
    assert found("association-order", unknown, identity(), workload()) == [late()]
    assert unchecked("association-order", unknown, identity(), workload()) == ["unknown.serviceAccount"]
    assert unchecked("association-order", unknown, workload(needs=[unknown])) == []
    assert found("association-order", identity(), workload(7)) == [f"{path}: expected a text, found a number"]
    assert found("association-order", identity(namespace=[]), workload()) == [
        "identity.namespace: expected a text, found a list"
    ]


@pytest.mark.parametrize("kind", NODES)
@pytest.mark.parametrize("name", ["coredns", "metrics-server"])
def test_an_addon_comes_after_the_nodes_that_run_it(kind, name):
    nodes = resource(kind, {}, "nodes")
    assert found("coredns-order", nodes, resource(ADDON, {"addonName": name}, needs=[nodes])) == []
    assert found("coredns-order", resource(ADDON, {"addonName": name})) == []
    assert found("coredns-order", nodes, resource(ADDON, {"addonName": "vpc-cni"}), resource(ADDON, {})) == []
    late = resource(ADDON, {"addonName": name})
    assert found("coredns-order", nodes, late) == [
        f"{name} does not depend on nodes such as nodes, so it waits for them in vain; add depends_on"
    ]
    assert found("coredns-order", nodes, late, config={"addons": ["kube-state-metrics"]}) == []


def test_TST_03_addons():
    nodes = resource(NODES[0], {}, "nodes")
    assert unchecked("coredns-order", nodes, resource(ADDON, {"addonName": UNKNOWN})) == ["addonName"]
    assert found("coredns-order", nodes, resource(ADDON, {"addonName": ["coredns"]})) == [
        "addonName: expected a text, found a list"
    ]


WORDS = st.sampled_from([UNKNOWN, "", "true", "karpenter", "coredns", "al2023@latest", "*", "/aws/service/x/latest"])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | WORDS | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)
KEYS = ["chart", "version", "addonName", "tags", "tagsAll", "forceDestroy", "deletionProtection", "deleteUnreachable"]
KINDS = sorted(set().union(*(it.kinds for it in operations.RULES)) | {ASSOCIATION})


@settings(max_examples=150, deadline=None)
@given(tree=TREES, below=st.sampled_from([*KEYS, "spec", "metadata", "namespace", "serviceAccount", ""]))
def test_TST_03_no_tree_ends_in_a_traceback(tree, below):
    props = {below: tree} if below else tree
    stack = [resource(kind, props, "odd") for kind in KINDS]
    stack += [resource(NODE_CLASS, {"spec": {"amiSelectorTerms": tree}}), karpenter(), identity()]
    for rule in operations.RULES:
        for finding in judged(rule, stack, {"tags": ["team"]} if rule.id == "required-tags" else None, stack):
            assert isinstance(finding, (Violation, Unchecked))
