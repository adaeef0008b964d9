import pytest

from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.start_up.shapes import DAEMON_SET, JOB, TOLERATION, container, deployment, pod, pool, workload

RULE = "gpu-toleration"
KEPT = (
    "it asks for nvidia.com/gpu and does not tolerate nvidia.com/gpu=true:NoSchedule of NodePool l40s;"
    " add a toleration with operator Exists"
)
BY_CUSTOM = (
    "it asks for nvidia.com/gpu and does not tolerate the taint of that name, which GPU nodes have by custom;"
    " add a toleration with operator Exists"
)
HOLDS = "it tolerates nvidia.com/gpu and asks for no accelerator; take the toleration away, or name it in withoutGpu"
ANYWHERE = (
    "it tolerates every taint, asks for no accelerator and may run anywhere; narrow the toleration,"
    " or name it in withoutGpu"
)
WEB = {"name": "web", "image": "nginx:1"}


@pytest.mark.parametrize(
    "tolerations",
    [
        [TOLERATION],
        [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        [{"operator": "Exists"}],
        [{"key": "nvidia.com/gpu", "value": "true"}],
        [{"key": "x"}, {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}],
    ],
)
def test_a_pod_that_its_nodes_take_passes(tolerations):
    assert found(RULE, deployment(pod(tolerations=tolerations)), pool()) == []


@pytest.mark.parametrize(
    "tolerations",
    [
        None,
        [],
        [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}],
        [{"key": "nvidia.com/gpu"}],
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}],
        [{"key": "gpu", "operator": "Exists"}],
        [{}],
    ],
)
def test_a_pod_that_its_nodes_do_not_take_is_told_the_taint(tolerations):
    assert found(RULE, deployment(pod(tolerations=tolerations)), pool()) == [KEPT]


def test_every_taint_of_the_pool_counts_but_those_that_only_ask():
    own = {"key": "workload", "value": "llm", "effect": "NoExecute"}
    asks = {"key": "x", "effect": "PreferNoSchedule"}
    assert found(RULE, deployment(pod()), pool(taints=[asks, own])) == [
        "it asks for nvidia.com/gpu and does not tolerate workload=llm:NoExecute of NodePool l40s;"
        " add a toleration with operator Exists"
    ]


def test_one_pool_that_takes_the_pod_is_enough():
    free = pool("free", taints=[])
    assert found(RULE, deployment(pod(pool=None, tolerations=[])), pool(), free) == []
    assert found(RULE, deployment(pod(pool="free", tolerations=[])), free) == []


def test_nodes_of_another_stack_are_taken_for_tainted():
    server = deployment(pod(tolerations=[]))
    assert found(RULE, server) == [BY_CUSTOM]
    assert found(RULE, server, config={"taintedElsewhere": False}) == []
    assert found(RULE, deployment(pod())) == []


def test_a_pod_without_a_gpu_leaves_gpu_nodes_alone():
    assert found(RULE, deployment(pod(WEB, tolerations=[{"key": "team", "operator": "Exists"}])), pool()) == []
    assert found(RULE, deployment(pod(WEB)), pool()) == [HOLDS]
    assert found(RULE, workload(JOB, pod(WEB))) == [HOLDS]
    own = pool(taints=[{"key": "llm", "effect": "NoSchedule"}])
    assert found(RULE, deployment(pod(WEB, tolerations=[{"key": "llm", "operator": "Exists"}])), own) == [
        HOLDS.replace("nvidia.com/gpu", "llm")
    ]


def test_a_pod_that_tolerates_all_says_where_it_runs():
    every = {"tolerations": [{"operator": "Exists"}]}
    assert found(RULE, deployment(pod(WEB, pool=None, **every))) == [ANYWHERE]
    assert found(RULE, deployment(pod(WEB, pool="system", **every))) == []
    assert found(RULE, deployment(pod(WEB, pool=None, nodeName="a", **every))) == []
    evicted = {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}
    assert found(RULE, deployment(pod(WEB, pool=None, **evicted))) == []


def test_agents_of_nodes_and_pods_that_claim_a_device_may_tolerate():
    assert found(RULE, workload(DAEMON_SET, pod(WEB)), pool()) == []
    assert found(RULE, deployment(pod(WEB, resourceClaims=[{"name": "gpu"}])), pool()) == []
    assert found(RULE, deployment(pod(WEB)), pool(), config={"withoutGpu": ["it"]}) == []
    assert found(RULE, deployment(pod(WEB), "other"), config={"withoutGpu": ["it"]}) == [
        HOLDS.replace("name it", "name other")
    ]


def test_workloads_without_anything_pass():
    for props in ({}, {"spec": None}, {"spec": {"template": {}}}, {"spec": {"template": {"spec": None}}}):
        assert found(RULE, resource(JOB, props), pool()) == []


def test_what_is_not_known_is_said():
    spec = "spec.template.spec"
    assert unchecked(RULE, deployment(pod(tolerations=UNKNOWN)), pool()) == [f"{spec}.tolerations"]
    assert unchecked(RULE, deployment(pod(container(resources=UNKNOWN), WEB)), pool()) == [
        f"{spec}.containers[0].resources"
    ]
    assert unchecked(RULE, deployment(pod()), pool(taints=UNKNOWN)) == [f"{spec}.taints"]
    assert unchecked(RULE, deployment(pod(WEB, tolerations=[])), pool(taints=UNKNOWN)) == [f"pool-l40s: {spec}.taints"]


def test_what_is_not_known_hides_nothing_else():
    asks = deployment(pod(container("a", resources=UNKNOWN), container("b"), tolerations=[]))
    assert found(RULE, asks, pool()) == [KEPT]
    holds = deployment(pod(WEB, tolerations=[{"key": UNKNOWN}, TOLERATION]))
    assert (found(RULE, holds), unchecked(RULE, holds)) == ([HOLDS], ["spec.template.spec.tolerations[0].key"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tolerations": "all"}, "spec.template.spec.tolerations: expected a list, found a text"),
        ({"tolerations": [True]}, "spec.template.spec.tolerations[0]: expected a mapping, found true or false"),
        ({"tolerations": [{"key": 5}]}, "spec.template.spec.tolerations[0].key: expected a text, found a number"),
    ],
)
def test_wrong_types_are_named_by_their_path(given, said):
    assert found(RULE, deployment(pod(**given)), pool()) == [said]
    assert found(RULE, deployment(pod(WEB, **given)), pool()) == [said]
