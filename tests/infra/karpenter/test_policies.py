"""The controller's policies are Karpenter's own, statement for statement, and as long as IAM takes them."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from infra.iam import Statement
from infra.karpenter.interruption import EVENTS, RETENTION_SECONDS
from infra.node_role import NODE_POLICIES
from tests.infra.karpenter import scene, upstream
from tests.infra.karpenter.scene import CLUSTER, LONGEST, REGIONS, RELEASES, controller, document, listed, scope

LARGEST = 6144
"""Characters of a managed policy; white space is not counted (IAM and STS quotas)."""

POLICIES_OF_A_ROLE = 10
"""Managed policies that a role takes, unless the account asked for more."""

TEMPLATES = {
    "node-lifecycle": "NodeLifecyclePolicy",
    "iam-integration": "IAMIntegrationPolicy",
    "eks-integration": "EKSIntegrationPolicy",
    "interruption": "InterruptionPolicy",
    "zonal-shift": "ZonalShiftPolicy",
    "resource-discovery": "ResourceDiscoveryPolicy",
}

ADDED: Mapping[tuple[str, str], set[str]] = {
    # 1.15 can reboot a node that is to be repaired (the gate is off here); the template at hand is of 1.14
    ("1.15", "AllowScopedDeletion"): {"ec2:RebootInstances"},
}
"""By release and statement: actions that the template does not have. Nothing else differs."""

RENAMED = {"EventsDeliver": None, "DenyInsecure": "DenyHTTP"}
"""Statements of the queue's policy, by our Sid: one has none upstream, where ours all have one."""


def normal(statement: Statement) -> dict[str, Any]:
    """Without what means the same to IAM: one or a list of one, and the order of a list."""
    lists = {key: sorted(listed(statement[key])) for key in ("Action", "Resource")}
    return {**json.loads(json.dumps(statement)), **lists}


def characters(statements: Sequence[Statement]) -> int:
    return len(re.sub(r"\s", "", json.dumps(document(statements))))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("region", REGIONS)
def test_IAM_05_every_statement_is_upstreams_in_every_partition(region: str, release: str) -> None:
    ours = controller(scope(region), release)
    template = upstream.resources(scope(region))
    managed = {name for name, resource in template.items() if resource["Type"] == "AWS::IAM::ManagedPolicy"}
    assert set(TEMPLATES.values()) == managed
    assert set(ours) == set(TEMPLATES)
    for name, statements in ours.items():
        theirs = [normal(statement) for statement in upstream.policy(template, TEMPLATES[name])["Statement"]]
        for statement in theirs:
            added = ADDED.get((release, statement["Sid"]), set())
            assert not added & set(statement["Action"])
            statement["Action"] = sorted({*statement["Action"], *added})
        assert [normal(statement) for statement in statements] == theirs


@pytest.mark.parametrize("region", REGIONS)
def test_KRP_07_the_queue_lets_in_whom_upstream_lets_in(region: str) -> None:
    properties = upstream.resources(scope(region))["KarpenterInterruptionQueuePolicy"]["Properties"]
    ours = []
    for statement in scene.queue(scope(region)):
        upstream_sid = RENAMED[statement["Sid"]]
        ours.append({**normal(statement), "Sid": upstream_sid})
    theirs = []
    for statement in properties["PolicyDocument"]["Statement"]:
        theirs.append({"Sid": None, **normal(statement)})
        for operands in theirs[-1].get("Condition", {}).values():
            operands.update({key: str(value).lower() for key, value in operands.items()})  # YAML's false
    assert ours == theirs


def test_KRP_07_what_goes_into_the_queue_is_what_upstream_sends() -> None:
    template = upstream.resources(scope())
    patterns = [r["Properties"]["EventPattern"] for r in template.values() if r["Type"] == "AWS::Events::Rule"]
    assert sorted(EVENTS.values()) == sorted((*pattern["source"], *pattern["detail-type"]) for pattern in patterns)
    assert template["KarpenterInterruptionQueue"]["Properties"]["MessageRetentionPeriod"] == RETENTION_SECONDS


@pytest.mark.parametrize("region", REGIONS)
def test_nodes_have_upstreams_managed_policies(region: str) -> None:
    of = scope(region)
    theirs = upstream.resources(of)["KarpenterNodeRole"]["Properties"]["ManagedPolicyArns"]
    assert sorted(of.place.partition.managed_policy(policy) for policy in NODE_POLICIES) == sorted(theirs)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("region", REGIONS)
def test_PUL_10_every_policy_is_taken_with_the_longest_cluster_name(region: str, release: str) -> None:
    for name, statements in controller(scope(region, LONGEST), release).items():
        assert characters(statements) < LARGEST, name


@pytest.mark.parametrize("region", REGIONS)
def test_one_policy_for_all_would_be_too_long(region: str) -> None:
    """Why there are six. With a name of a few letters it fits, until somebody's cluster has a longer one."""
    together = [statement for of in controller(scope(region, CLUSTER), RELEASES[-1]).values() for statement in of]
    assert characters(together) > LARGEST


def test_a_role_takes_all_policies() -> None:
    assert len(controller(scope(), RELEASES[-1])) <= POLICIES_OF_A_ROLE


@pytest.mark.parametrize("region", REGIONS[1:])
def test_IAM_05_no_document_names_another_partition(region: str) -> None:
    of = scope(region)
    everything = [*controller(of, RELEASES[-1]).values(), scene.node(of), scene.queue(of)]
    text = json.dumps([document(statements) for statements in everything])
    assert set(re.findall(r"arn:([^:]*):", text)) == {of.place.partition.name}


def test_statements_are_told_apart_by_their_sids() -> None:
    """IAM refuses a Sid that occurs twice in one policy, and a finding names it."""
    sids = [statement["Sid"] for of in controller(scope(), RELEASES[-1]).values() for statement in of]
    assert len(sids) == len(set(sids))
    assert all(re.fullmatch(r"[A-Za-z0-9]+", sid) for sid in sids)
