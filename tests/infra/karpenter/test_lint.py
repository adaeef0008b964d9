"""No policy has a finding, apart from those that are listed with their reason."""

from typing import Any

import pytest

from tests.infra.karpenter import scene
from tests.infra.karpenter.scene import REGIONS, RELEASES, scope
from tests.infra.linter import findings

KEPT = {
    # One launch needs right to several kinds of resource. Several statements give it together, each on its own terms
    # (with tags, without): the linter looks at one at a time.
    ("node-lifecycle", "RESOURCE_MISMATCH", "ec2:RunInstances"),
    ("node-lifecycle", "RESOURCE_MISMATCH", "ec2:CreateFleet"),
    # AWS's public parameters have no account in their ARN, and the linter's table has only those of an account.
    ("resource-discovery", "RESOURCE_MISMATCH", "ssm:GetParameter"),
    # ECR's own documentation has this right in a repository's policy; the linter's table is older.
    ("nodes", "RESOURCE_MISMATCH", "ecr:BatchImportUpstreamImage"),
    # Its table lacks clusters for this action; the condition names the one cluster.
    ("zonal-shift", "RESOURCE_STAR", "arc-zonal-shift:GetManagedResource"),
    # Whoever starts nodes gives them a role. Which one, and which profiles, the conditions say.
    *(
        ("iam-integration", "PERMISSIONS_MANAGEMENT_ACTIONS", f"iam:{action}")
        for action in (
            "passrole",
            "createinstanceprofile",
            "deleteinstanceprofile",
            "addroletoinstanceprofile",
            "removerolefrominstanceprofile",
        )
    ),
}
"""Policy, finding, action."""


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("region", REGIONS)
def test_no_policy_has_a_finding_without_a_reason(region: str, release: str) -> None:
    of = scope(region)
    policies = {**scene.controller(of, release), "nodes": scene.node(of), "queue": scene.queue(of)}
    found = {each for name, statements in policies.items() for each in findings(name, statements)}
    assert found == KEPT


@pytest.mark.parametrize(
    ("change", "issue"),
    [
        ({"Action": ["ecr:BatchImportUpstreamImages"]}, "UNKNOWN_ACTION"),
        ({"Resource": ["arn:aws:s3:::a-bucket"]}, "RESOURCE_MISMATCH"),
        ({"Condition": {"StringEquals": {"ecr:Region": "us-west-2"}}}, "UNKNOWN_CONDITION_FOR_ACTION"),
        ({"Condition": {"StringsEqual": {"aws:RequestedRegion": "us-west-2"}}}, "UNKNOWN_OPERATOR"),
    ],
)
def test_the_linter_finds_what_is_wrong(change: dict[str, Any], issue: str) -> None:
    (statement,) = scene.node(scope())
    assert issue in {found for _, found, _ in findings("nodes", [{**statement, **change}])}
