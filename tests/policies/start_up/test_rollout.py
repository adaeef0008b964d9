import pytest

from guardrails.pools import NODE_POOL
from tests.policies.conftest import UNKNOWN, found, resource, unchecked
from tests.policies.start_up.shapes import STATEFUL_SET, container, deployment, env, gpus, pod, pool, workload

ONE_POOL = "; use strategy Recreate, or maxSurge 0 with maxUnavailable 1"
NO_POOL = [f"a rollout needs 1 accelerator more, and no NodePool of this stack takes the pod{ONE_POOL}"]


def rolling(surge=None, unavailable=None):
    given = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": {key: it for key, it in given.items() if it is not None}}


@pytest.mark.parametrize(
    ("strategy", "replicas"),
    [
        ({"type": "Recreate"}, 1),
        (rolling(0), 1),
        (rolling("0%", 1), 1),
        # one pod is ended first: the new one gets its GPU
        (rolling(1, 1), 1),
        (rolling("25%", "25%"), 4),
        (None, 4),
        (None, 0),
    ],
)
def test_a_rollout_that_frees_a_gpu_first_needs_none_beside(strategy, replicas):
    assert found("gpu-rollout", deployment(pod(), strategy=strategy, replicas=replicas), pool(limit="1")) == []


@pytest.mark.parametrize(
    "given",
    [{}, {"strategy": None}, {"strategy": {}}, {"strategy": rolling()}, {"replicas": None}, {"replicas": 3.0}],
)
def test_kubernetes_default_of_less_than_four_replicas_starts_a_pod_before_it_ends_one(given):
    replicas = int(given.get("replicas") or 1)
    full = pool(limit=str(replicas))
    assert found("gpu-rollout", deployment(pod(), **given), full) == [
        f"a rollout needs {replicas} + 1 = {replicas + 1} accelerators, and NodePool l40s may have {replicas}"
        f"{ONE_POOL}, or raise the limit"
    ]
    assert found("gpu-rollout", deployment(pod(), **given), pool(limit=str(replicas + 1))) == []


def test_surge_is_counted_in_pods_rounded_up_and_in_the_gpus_of_a_pod():
    server = deployment(pod(container(count="2")), strategy=rolling("30%", 0), replicas=4)
    assert found("gpu-rollout", server, pool(limit="11", types=("g6e.12xlarge",))) == [
        f"a rollout needs 8 + 4 = 12 accelerators, and NodePool l40s may have 11{ONE_POOL}, or raise the limit"
    ]


def test_gpus_of_a_container_that_runs_first_are_not_counted_twice():
    first = container("warm")
    spec = pod(container(), initContainers=[first])
    assert found("gpu-rollout", deployment(spec), pool(limit="2")) == []
    spec = pod(container(), initContainers=[{**first, "restartPolicy": "Always"}])
    assert found("gpu-rollout", deployment(spec), pool(limit="2")) == [
        f"a rollout needs 2 + 2 = 4 accelerators, and NodePool l40s may have 2{ONE_POOL}, or raise the limit"
    ]


def test_all_deployments_of_the_pool_are_counted_and_no_others():
    mine, other, far = (
        deployment(pod(pool=on), name=on + name) for on, name in (("l40s", ""), ("l40s", "2"), ("l4", ""))
    )
    stack = [mine, other, far, pool(limit="2"), pool("l4", types=("g6.2xlarge",))]
    said = f"a rollout needs 2 + 1 = 3 accelerators, and NodePool l40s may have 2{ONE_POOL}, or raise the limit"
    assert found("gpu-rollout", *stack) == [said, said]


def test_a_pod_without_a_selector_may_run_on_any_gpu_pool_whose_taints_it_tolerates():
    server = deployment(pod(pool=None))
    reserved = pool("own", limit="9", taints=[{"key": "team", "effect": "NoSchedule"}])
    assert found("gpu-rollout", server, pool(limit="2"), reserved) == []
    assert found("gpu-rollout", server, pool(limit="1"), reserved) == [
        f"a rollout needs 1 + 1 = 2 accelerators, and NodePool l40s may have 1{ONE_POOL}, or raise the limit"
    ]
    assert found("gpu-rollout", server, pool(limit="1"), pool("b", limit="1")) == []
    assert found("gpu-rollout", server, pool(limit="1"), pool("b", limit=None)) == []


def test_servers_that_are_no_deployments_hold_their_gpus_too():
    stateful = workload(STATEFUL_SET, pod(), "db", replicas=2)
    assert found("gpu-rollout", deployment(pod()), stateful, pool(limit="4")) == []
    assert found("gpu-rollout", deployment(pod()), stateful, pool(limit="3")) == [
        f"a rollout needs 3 + 1 = 4 accelerators, and NodePool l40s may have 3{ONE_POOL}, or raise the limit"
    ]


def test_nodes_that_are_counted_bound_the_gpus():
    """A pool of a fixed number of nodes starts none for a surge."""
    for given in ({"replicas": 2}, {"limits": {"nodes": "2"}}, {"limits": {"nodes": 2, "nvidia.com/gpu": "9"}}):
        props = pool("l40s", limit=None, types=("g6e.12xlarge",)).props.raw
        fixed = resource(NODE_POOL, {**props, "spec": {**props["spec"], **given}})
        assert found("gpu-rollout", deployment(pod(), replicas=3), fixed) == []
        assert found("gpu-rollout", deployment(pod(container(count=4)), replicas=2), fixed) == [
            f"a rollout needs 8 + 4 = 12 accelerators, and NodePool l40s may have 8{ONE_POOL}, or raise the limit"
        ]


def test_without_a_pool_nobody_says_that_there_is_room():
    assert found("gpu-rollout", deployment(pod())) == NO_POOL
    assert found("gpu-rollout", deployment(pod(pool="typo")), pool()) == NO_POOL
    assert found("gpu-rollout", deployment(pod()), config={"poolsElsewhere": True}) == []


def test_only_deployments_with_an_accelerator_are_looked_at():
    plain = {"containers": [{"name": "web", "image": "nginx:1"}]}
    assert found("gpu-rollout", deployment(plain), workload(STATEFUL_SET, pod())) == []
    for empty in ({}, {"spec": None}, {"spec": {"template": None}}, {"spec": {"template": {"spec": None}}}):
        assert found("gpu-rollout", resource("kubernetes:apps/v1:Deployment", empty)) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"strategy": "Recreate"}, "spec.strategy: expected a mapping, found a text"),
        ({"strategy": {"type": True}}, "spec.strategy.type: expected a text, found true or false"),
        ({"replicas": "2"}, "spec.replicas: expected a number, found a text"),
        ({"replicas": 1.5}, "spec.replicas: expected a whole number, found 1.5"),
        (
            {"strategy": rolling("1")},
            "spec.strategy.rollingUpdate.maxSurge: expected a whole number or a share such as 25%, found '1'",
        ),
        ({"strategy": rolling(True)}, "spec.strategy.rollingUpdate.maxSurge: expected a number, found true or false"),
    ],
)
def test_wrong_types_are_named_by_their_path(given, said):
    assert found("gpu-rollout", deployment(pod(), **given), pool()) == [said]


def test_what_is_not_known_is_said_and_hides_no_other_deployment():
    server, other = deployment(pod(), replicas=UNKNOWN), deployment(pod(), "other", strategy=rolling(1, 0))
    assert unchecked("gpu-rollout", server, pool()) == ["spec.replicas"]
    stack = [server, other, pool(limit="1")]
    assert found("gpu-rollout", *stack) == [
        f"a rollout needs 1 + 1 = 2 accelerators, and NodePool l40s may have 1{ONE_POOL}, or raise the limit"
    ]
    # there is room, unless the other one takes it
    assert unchecked("gpu-rollout", other, server, pool(limit="2")) == ["it: spec.replicas", "spec.replicas"]


def test_a_pool_of_which_nothing_is_known_is_named():
    assert unchecked("gpu-rollout", deployment(pod()), pool(requirements=UNKNOWN)) == [
        "NodePool pool-l40s: spec.template.spec.requirements"
    ]
    assert found("gpu-rollout", deployment(pod()), pool(requirements="g6e")) == [
        "NodePool pool-l40s: spec.template.spec.requirements: expected a list, found a text"
    ]


def test_a_limit_that_is_not_known_is_said():
    assert unchecked("gpu-rollout", deployment(pod()), pool(limit=UNKNOWN)) == ["spec.limits.nvidia.com/gpu"]


LIMIT = env(VLLM_ENGINE_READY_TIMEOUT_S="1800")
SLOW = container(env=LIMIT)
DEADLINE = (
    "progressDeadlineSeconds is 600, and container vllm may take 1800 s to start (VLLM_ENGINE_READY_TIMEOUT_S);"
    " set it to 1800 or more, with the time for a node and its images"
)


def test_a_deployment_has_as_long_as_its_engine():
    assert found("progress-deadline", deployment(pod())) == []
    assert found("progress-deadline", deployment(pod(SLOW), progressDeadlineSeconds=1800.0)) == []
    assert found("progress-deadline", deployment(pod(SLOW))) == [DEADLINE]
    assert found("progress-deadline", deployment(pod(SLOW), progressDeadlineSeconds=None)) == [DEADLINE]
    assert found("progress-deadline", deployment(pod()), config={"seconds": 601}) == [DEADLINE.replace("1800", "601")]


def test_the_deadline_of_a_container_is_checked_where_another_is_not_known():
    strange = container("strange", env=env(VLLM_ENGINE_READY_TIMEOUT_S=UNKNOWN))
    server = deployment(pod(strange, SLOW))
    assert found("progress-deadline", server) == [DEADLINE]
    assert unchecked("progress-deadline", server) == ["spec.template.spec.containers[0].env[0].value"]
    assert unchecked("progress-deadline", deployment(pod(), progressDeadlineSeconds=UNKNOWN)) == [
        "spec.progressDeadlineSeconds"
    ]
    assert found("progress-deadline", deployment(pod(), progressDeadlineSeconds="600")) == [
        "spec.progressDeadlineSeconds: expected a number, found a text"
    ]


def test_a_gpu_that_is_known_tells_although_another_container_is_not():
    unknown = {"name": "x", "resources": UNKNOWN}
    assert found("progress-deadline", deployment(pod(unknown, SLOW))) == [DEADLINE]
    assert unchecked("progress-deadline", deployment(pod(unknown))) == ["spec.template.spec.containers[0].resources"]
    assert found("progress-deadline", deployment(pod({"name": "x", "resources": gpus("many")}))) == [
        "spec.template.spec.containers[0].resources.requests.nvidia.com/gpu: no quantity of Kubernetes: 'many'"
    ]
