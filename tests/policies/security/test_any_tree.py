"""Whatever stands in place of a resource's properties, rules end in findings."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails.rule import Unchecked, Violation
from guardrails.security import RULES
from tests.policies.conftest import UNKNOWN, judge, resource

KINDS = sorted({kind for rule in RULES for kind in rule.kinds})
KEYS = (
    *("policy", "assumeRolePolicy", "inlinePolicies", "managedPolicyArns", "policyArn", "role", "roleArn", "name"),
    *("Statement", "Effect", "Action", "NotAction", "Resource", "Principal", "Condition", "AWS", "Sid", "StringEquals"),
    *("vpcConfig", "publicAccessCidrs", "ingress", "cidrBlocks", "cidrIpv4", "type", "serviceName", "vpcEndpointType"),
    *("acl", "grants", "uri", "bucket", "metadata", "annotations", "namespace", "labels", "spec", "template", "data"),
    *("jobTemplate", "containers", "initContainers", "env", "value", "args", "securityContext", "capabilities", "add"),
    *("volumes", "hostPath", "path", "serviceAccountName", "resources", "limits", "privileged", "HF_TOKEN"),
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        (UNKNOWN, "*", "Allow", "Deny", "LoadBalancer", "0.0.0.0/0", "com.amazonaws.x.s3", '{"Statement":')
    )
)


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    mapping = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=6)
    return st.lists(inner, max_size=3) | mapping | mapping.map(json.dumps)


TREES = st.recursive(LEAVES, _grown, max_leaves=25)


def _within(tree: Any, shape: int) -> Any:
    """Where rules look, with a tree in place of what they look at."""
    words = {"env": [tree, {"name": "HF_TOKEN", "value": tree}], "args": [tree, "--api-key", tree], "command": tree}
    security = {"privileged": tree, "capabilities": {"add": [tree]}}
    container = {**words, "securityContext": security, "resources": {"limits": {"nvidia.com/gpu": 1}}}
    pod = {"containers": [tree, container], "volumes": [tree, {"hostPath": {"path": tree}}]}
    statement = {"Effect": "Allow", "Action": tree, "Resource": tree, "Principal": tree, "Condition": {"Bool": tree}}
    document = {"Statement": [tree, statement, {**statement, "Effect": "Deny", "Principal": "*", "Action": "s3:*"}]}
    return (
        tree,
        {"spec": {**pod, "template": {"spec": pod}, "jobTemplate": {"spec": {"template": {"spec": pod}}}}},
        {"policy": document, "assumeRolePolicy": json.dumps(document), "inlinePolicies": [tree, {"policy": document}]},
        {"serviceName": "x.s3", "policy": document, "policyArn": tree, "namespace": tree, "serviceAccount": tree},
        {"vpcConfig": {"publicAccessCidrs": [tree], "endpointPublicAccess": tree}, "ingress": [{"cidrBlocks": [tree]}]},
        {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": [tree]}, "metadata": {"annotations": tree}},
        {"acl": tree, "grants": [{"uri": tree}], "bucket": tree, "cidrIpv4": tree, "data": {"TOKEN": tree}},
    )[shape]


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_any_tree_ends_in_findings(data):
    chosen = data.draw(st.lists(st.tuples(st.sampled_from(KINDS), TREES, st.integers(0, 6)), min_size=1, max_size=4))
    stack = [resource(kind, _within(tree, shape), f"it-{n}") for n, (kind, tree, shape) in enumerate(chosen)]
    others = data.draw(st.lists(st.sampled_from(stack), max_size=3))
    keys = ("role", "roleArn", "policyArn", "spec", "metadata", "bucket", "vpcEndpointId", "serviceAccount")
    for it in stack:
        object.__setattr__(it, "sources", dict.fromkeys(keys, tuple(others)))
    for rule in RULES:
        for finding in judge(rule.id, *stack):
            assert isinstance(finding, (Violation, Unchecked))
