"""Every rule of the theme over values as no test of one rule thinks of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardrails.pods import WORKLOADS
from guardrails.pools import NODE_POOL
from guardrails.rule import Resource, Unchecked, Violation
from guardrails.start_up import RULES
from guardrails.start_up.images import PULL_THROUGH
from tests.policies.conftest import UNKNOWN, judge, resource
from tests.policies.start_up.shapes import container, deployment, env, gpus, pod, pool

IDS = [rule.id for rule in RULES]
GOOD = deployment(
    pod(
        container(
            image="000000000000.dkr.ecr.us-west-2.amazonaws.com/team/hub/vllm/vllm-openai:v0.26.0",
            args=["s3://b/models/a", "--shutdown-timeout=60", "--cache=s3://b/cache"],
            env=env(VLLM_ENGINE_READY_TIMEOUT_S="300", VLLM_CACHE_ROOT="/cache", A_CACHE="/a"),
            startupProbe={"initialDelaySeconds": 1, "periodSeconds": 5, "failureThreshold": 121},
            livenessProbe={"periodSeconds": 10},
            lifecycle={"preStop": {"sleep": {"seconds": 15}}},
            volumeMounts=[{"name": "cache", "mountPath": "/cache", "subPath": "l40s"}],
            resources=gpus("1", cpu="6", memory="50Gi"),
        ),
        volumes=[{"name": "cache", "persistentVolumeClaim": {"claimName": "cache"}}],
        enableServiceLinks=False,
        terminationGracePeriodSeconds=90,
        initContainers=[
            {"name": "first", "image": "quay.io/a/b:1", "args": ["x"], "resources": {"requests": {"cpu": 1}}}
        ],
    ),
    strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
    replicas=1,
    progressDeadlineSeconds=900,
)
AROUND = (pool(), resource(PULL_THROUGH, {"upstreamRegistryUrl": "ghcr.io", "ecrRepositoryPrefix": "gh"}, "rule"))
Path = tuple[Any, ...]


def paths(tree: Any, here: Path = ()) -> Iterator[Path]:
    """Every place below a tree."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield (*here, key)
        yield from paths(tree[key], (*here, key))


def changed(path: Path, value: Any, *, gone: bool = False) -> Resource:
    """The good Deployment with something else at a path."""
    props = copy.deepcopy(GOOD.props.raw)
    at = props
    for key in path[:-1]:
        at = at[key]
    if gone:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return resource(GOOD.kind, props)


def spelled(path: Path) -> str:
    found = ""
    for key in path:
        found += f"[{key}]" if isinstance(key, int) else f".{key}" if found else key
    return found


@pytest.mark.parametrize("rule", IDS)
def test_TST_03_a_value_that_matters_is_never_passed_silently_where_it_is_not_known(rule):
    """If a rule objects to some value at a path, then unknown there it says so; and nothing ends in a traceback."""
    assert judge(rule, GOOD, *AROUND) == []
    mattering = 0
    for path in paths(GOOD.props.raw):
        wrong = [changed(path, it) for it in (5, True, "text", [1], {}, {"a": 1}, None, [], "", 0)]
        said = [it for each in [*wrong, changed(path, None, gone=True)] for it in judge(rule, each, *AROUND)]
        unknown = judge(rule, changed(path, UNKNOWN), *AROUND)
        if any(isinstance(it, Violation) for it in said):
            mattering += 1
            assert [it for it in unknown if isinstance(it, Unchecked)], (rule, spelled(path))
        for it in unknown:
            assert isinstance(it, Unchecked), (rule, spelled(path), it)
            assert spelled(path) in it.path
    assert mattering, rule


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from([UNKNOWN, "vllm", "serve", "--cache", "/a", "25%", "Always", "Gt", "1", "1Gi", "Exists", "In"]),
)
KEYS = st.sampled_from(
    sorted({str(it) for path in paths(GOOD.props.raw) for it in path} | {"template", "jobTemplate", "taints", "limits"})
)
TREES = st.recursive(
    SCALARS,
    lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(KEYS, below, max_size=5)),
    max_leaves=20,
)
PLACES = st.sampled_from([(), *paths(GOOD.props.raw)])
POOL_PLACES = st.sampled_from([(), *paths(AROUND[0].props.raw)])


def spliced(props: Any, path: Path, tree: Any) -> Any:
    if not path:
        return tree
    props = copy.deepcopy(props)
    at = props
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = tree
    return props


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tree=TREES, place=PLACES, pool_tree=TREES, pool_place=POOL_PLACES, kind=st.sampled_from(sorted(WORKLOADS)))
def test_whatever_stands_in_place_of_a_value_ends_in_findings(tree, place, pool_tree, pool_place, kind):
    server = resource(GOOD.kind, spliced(GOOD.props.raw, place, tree))
    stack = [
        server,
        GOOD,
        resource(kind, tree, "any"),
        resource(NODE_POOL, spliced(AROUND[0].props.raw, pool_place, pool_tree), "pool"),
        resource(PULL_THROUGH, pool_tree, "cache"),
    ]
    for rule in IDS:
        for finding in judge(rule, *stack):
            said = finding.says if isinstance(finding, Violation) else finding.path
            assert isinstance(said, str)
