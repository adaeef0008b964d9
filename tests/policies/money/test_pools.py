"""Rules about pools of GPUs: what they may buy, and when Karpenter may take their nodes away."""

from __future__ import annotations

import pytest

from guardrails.pools import NODE_POOL
from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.money.parts import DRIFT_LATER, SPEC, node_class, pool

OF_POOLS = ("gpu-limit", "gpu-consolidation", "gpu-empty-nodes", "spot-min-values", "drift-budget")
REQUIREMENTS = "template|spec|requirements"
PULLS = "#!/bin/bash\nctr -n k8s.io images pull registry.example/vllm:v1\n"


@pytest.mark.parametrize("rule", OF_POOLS)
def test_a_good_pool_passes(rule):
    assert found(rule, pool("disruption|budgets", [DRIFT_LATER]), node_class(PULLS)) == []


@pytest.mark.parametrize("rule", OF_POOLS)
@pytest.mark.parametrize("props", [{}, {"spec": None}, {"spec": {}}, {"spec": {"template": {"spec": None}}}])
def test_TST_03_a_pool_that_says_nothing_is_no_pool_of_gpus(rule, props):
    assert (found(rule, resource(NODE_POOL, props)), unchecked(rule, resource(NODE_POOL, props))) == ([], [])


@pytest.mark.parametrize("rule", OF_POOLS)
def test_TST_03_whether_it_has_gpus_is_not_guessed(rule):
    unknown = resource(NODE_POOL, {"spec": {"template": {"spec": UNKNOWN}}})
    assert (found(rule, unknown), unchecked(rule, unknown)) == ([], ["spec.template.spec"])
    wrong = resource(NODE_POOL, {"spec": {"template": {"spec": {"requirements": "l4"}}}})
    assert found(rule, wrong) == ["spec.template.spec.requirements: expected a list, found a text"]


SIGNS = [
    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "Gt", "values": ["0"]},
    {"key": "karpenter.k8s.aws/instance-gpu-memory", "operator": "Lt", "values": ["50000"]},
    {"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "Exists"},
    {"key": "karpenter.k8s.aws/instance-accelerator-count", "operator": "In", "values": ["1"]},
    {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "g"]},
    {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["g6e"]},
    {"key": "eks.amazonaws.com/instance-gpu-manufacturer", "operator": "In", "values": ["nvidia"]},
    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["p5.48xlarge"]},
]
NO_SIGNS = [
    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "DoesNotExist"},
    {"key": "karpenter.k8s.aws/instance-gpu-count", "operator": "In", "values": ["0"]},
    {"key": "karpenter.k8s.aws/instance-gpu-name", "operator": "NotIn", "values": ["t4"]},
    {"key": "karpenter.k8s.aws/instance-category", "operator": "NotIn", "values": ["g", "p"]},
    {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m7g.large", "c7gn.large"]},
]


@pytest.mark.parametrize(("requirement", "has"), [*((it, True) for it in SIGNS), *((it, False) for it in NO_SIGNS)])
def test_a_pool_of_gpus_is_known_by_each_sign_and_not_by_keeping_them_out(requirement, has):
    spec = {"template": {"spec": {"requirements": [{"key": UNKNOWN, "operator": "Exists"}, requirement]}}}
    it = resource(NODE_POOL, {"spec": spec})
    assert bool(found("gpu-limit", it)) is has
    # what is not known of another requirement decides only where nothing is known
    assert bool(unchecked("gpu-limit", it)) is not has


MEND = "set nvidia.com/gpu (or what its nodes have) to the number that may run at once"


def test_limits_that_count_no_gpus_are_none():
    assert found("gpu-limit", pool("limits")) == [f"spec.limits is missing; {MEND}"]
    assert found("gpu-limit", pool("limits", {"nvidia.com/gpu": None})) == [f"spec.limits is missing; {MEND}"]
    cpu = pool("limits", {"cpu": 1000, "memory": "1Ti"})
    assert found("gpu-limit", cpu) == [f"spec.limits has cpu, memory and no accelerators; {MEND}"]
    assert found("gpu-limit", cpu, config={"counts": ["cpu"]}) == []
    for limits in ({"nodes": 2}, {"nvidia.com/gpu": 0}, {"aws.amazon.com/neuron": "16"}):
        assert found("gpu-limit", pool("limits", limits)) == []


def test_a_fixed_number_of_nodes_is_a_limit_and_never_consolidated():
    static = resource(NODE_POOL, {"spec": {**SPEC, "limits": None, "disruption": None, "replicas": 1}})
    for rule in ("gpu-limit", "gpu-consolidation", "gpu-empty-nodes"):
        assert found(rule, static) == []


def test_TST_03_limits():
    assert unchecked("gpu-limit", pool("limits", UNKNOWN)) == ["spec.limits"]
    assert unchecked("gpu-limit", pool("limits|nvidia.com/gpu", UNKNOWN)) == ["spec.limits.nvidia.com/gpu"]
    assert found("gpu-limit", pool("limits", [2])) == ["spec.limits: expected a mapping, found a list"]
    wrong = ["spec.limits.nvidia.com/gpu: no quantity of Kubernetes: 'True'"]
    assert found("gpu-limit", pool("limits|nvidia.com/gpu", value=True)) == wrong


def test_nodes_with_servers_are_not_moved():
    said = "spec.disruption.consolidationPolicy is"
    balanced = pool("disruption|consolidationPolicy", "Balanced")
    assert found("gpu-consolidation", balanced) == [f"{said} Balanced; set WhenEmpty"]
    default = [f"{said} missing, and Karpenter's default is WhenEmptyOrUnderutilized; set WhenEmpty"]
    assert found("gpu-consolidation", pool("disruption|consolidationPolicy")) == default
    assert found("gpu-consolidation", pool("disruption")) == default
    assert found("gpu-consolidation", balanced, config={"allowed": ["WhenEmpty", "Balanced"]}) == []
    # Never switches consolidation off, whatever the policy
    assert found("gpu-consolidation", pool("disruption", {"consolidateAfter": "Never"})) == []


def test_TST_03_consolidation():
    path = "disruption|consolidationPolicy"
    assert unchecked("gpu-consolidation", pool(path, UNKNOWN)) == ["spec.disruption.consolidationPolicy"]
    moved = {"consolidationPolicy": "Balanced", "consolidateAfter": UNKNOWN}
    assert unchecked("gpu-consolidation", pool("disruption", moved)) == ["spec.disruption.consolidateAfter"]
    assert found("gpu-consolidation", pool(path, value=True)) == [
        "spec.disruption.consolidationPolicy: expected a text, found true or false"
    ]
    assert found("gpu-consolidation", pool("disruption", "WhenEmpty")) == [
        "spec.disruption: expected a mapping, found a text"
    ]


def test_an_empty_node_waits_for_the_time_of_a_start():
    path, said = "disruption|consolidateAfter", "spec.disruption.consolidateAfter"
    mend = "set 120s or more, what a start on a new node takes"
    assert found("gpu-empty-nodes", pool(path, "1m30s")) == [f"{said} is 1m30s; {mend}"]
    assert found("gpu-empty-nodes", pool(path)) == [f"{said} is missing, and Karpenter's default is 0s; {mend}"]
    assert found("gpu-empty-nodes", pool(path, "1m30s"), config={"seconds": 90}) == []
    assert found("gpu-empty-nodes", pool(path, "Never")) == []
    assert found("gpu-empty-nodes", pool(path, "soon")) == [f"{said}: expected a duration such as 10m, found 'soon'"]
    assert found("gpu-empty-nodes", pool(path, 10)) == [f"{said}: expected a text, found a number"]
    assert unchecked("gpu-empty-nodes", pool(path, UNKNOWN)) == [said]


def values(place, least):
    return {**SPEC["template"]["spec"]["requirements"][place], "minValues": least}


def minimum(place, key):
    return (
        f"spec.template.spec.requirements[{place}]: minValues 1 of {key} in a pool that takes spot and on-demand;"
        " take minValues away, or name one karpenter.sh/capacity-type"
    )


@pytest.mark.parametrize("market", [["spot", "on-demand"], ["spot", "on-demand", "reserved"]])
def test_min_values_are_for_pools_of_one_market(market):
    its = {"key": "karpenter.sh/capacity-type", "operator": "In"}
    both = pool(REQUIREMENTS, [values(0, 1), {**its, "values": market}])
    assert found("spot-min-values", both) == [minimum(0, "karpenter.k8s.aws/instance-gpu-name")]
    for one in ({**its, "values": ["spot"]}, {**its, "operator": "NotIn", "values": ["spot"]}):
        assert found("spot-min-values", pool(REQUIREMENTS, [values(0, 1), one])) == []


def test_a_pool_that_names_no_market_takes_all():
    # karpenter#5015
    it = pool(REQUIREMENTS, [values(0, 1)])
    assert found("spot-min-values", it) == [minimum(0, "karpenter.k8s.aws/instance-gpu-name")]


def test_TST_03_min_values():
    it = pool(REQUIREMENTS, [values(0, UNKNOWN), values(1, 1)])
    assert unchecked("spot-min-values", it) == ["spec.template.spec.requirements[0].minValues"]
    assert found("spot-min-values", it) == [minimum(1, "karpenter.sh/capacity-type")]
    assert found("spot-min-values", pool(REQUIREMENTS, [values(0, "5")])) == [
        "spec.template.spec.requirements[0].minValues: expected a number, found a text"
    ]
    markets = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": UNKNOWN}
    assert unchecked("spot-min-values", pool(f"{REQUIREMENTS}|1", markets)) == [
        "spec.template.spec.requirements[1].values"
    ]


OPEN = (
    "the nodes of class class pull images as they boot, and spec.disruption.budgets never holds Drifted back;"
    ' add {nodes: "0", reasons: [Drifted]}, with schedule and duration of the time outside a window'
)


@pytest.mark.parametrize(
    "budgets",
    [
        None,
        [{"nodes": "1"}],
        [{"nodes": "0", "reasons": ["Empty"]}],
        [{"nodes": "10%", "reasons": ["Drifted"]}],
    ],
)
def test_nodes_that_pull_first_drift_in_a_window(budgets):
    it = pool("disruption|budgets", budgets) if budgets else pool()
    assert found("drift-budget", it, node_class(PULLS)) == [OPEN]


@pytest.mark.parametrize("budget", [DRIFT_LATER, {"nodes": "0"}, {"nodes": "0%"}])
def test_one_budget_that_holds_drift_back_is_enough(budget):
    it = pool("disruption|budgets", [{"nodes": UNKNOWN}, budget])
    assert (found("drift-budget", it, node_class(PULLS)), unchecked("drift-budget", it, node_class(PULLS))) == ([], [])


@pytest.mark.parametrize(
    ("user_data", "pulls"),
    [
        ("nerdctl --namespace k8s.io pull --quiet img", True),
        ("crictl \\\n  pull img", True),
        ("docker pull img", True),
        ("ctr version; echo pull", False),
        ("git pull", False),
        (None, False),
    ],
)
def test_what_counts_as_pulling(user_data, pulls):
    assert bool(found("drift-budget", pool(), node_class(user_data))) is pulls


def test_a_class_whose_name_is_not_known_is_found_by_where_it_comes_from():
    mine, other = node_class(PULLS, UNKNOWN), node_class("", UNKNOWN, "other")
    path = "template|spec|nodeClassRef|name"
    assert found("drift-budget", pool(path, UNKNOWN, sources={"spec": [mine]}), mine, other) == [OPEN]
    assert found("drift-budget", pool(path, UNKNOWN, sources={"spec": [other]}), mine, other) == []
    assert unchecked("drift-budget", pool(path, UNKNOWN), mine) == ["class.metadata.name"]
    # another class is not this pool's
    assert found("drift-budget", pool(), node_class(PULLS, "a10g")) == []
    assert found("drift-budget", pool(path), node_class(PULLS, None)) == []


def test_TST_03_drift():
    assert unchecked("drift-budget", pool(), node_class(UNKNOWN)) == ["class.spec.userData"]
    assert found("drift-budget", pool(), node_class(7)) == ["class.spec.userData: expected a text, found a number"]
    for value, path in ((UNKNOWN, "budgets"), ([{"nodes": UNKNOWN}], "budgets[0].nodes")):
        it = pool("disruption|budgets", value)
        assert unchecked("drift-budget", it, node_class(PULLS)) == [f"spec.disruption.{path}"]
    number = pool("disruption|budgets", [{"nodes": 0}])
    assert found("drift-budget", number, node_class(PULLS)) == [
        "spec.disruption.budgets[0].nodes: expected a text, found a number"
    ]
