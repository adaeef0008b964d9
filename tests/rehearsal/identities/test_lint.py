"""No document of a stack has a finding, apart from those that are listed with their reason."""

import json
from collections.abc import Callable

import pytest

from rehearsal.identities.extract import extract
from tests.infra.linter import findings
from tests.rehearsal.identities.conftest import CHINA, EVERY, Resources

NODES = ("cluster-system", "karpenter-nodes")
KARPENTER = "karpenter-controller"
KEPT = {
    # One launch needs right to several kinds of resource. Several statements give it together: the linter looks at one.
    (f"{KARPENTER}-node-lifecycle", "RESOURCE_MISMATCH", "ec2:RunInstances"),
    (f"{KARPENTER}-node-lifecycle", "RESOURCE_MISMATCH", "ec2:CreateFleet"),
    # AWS's public parameters have no account in their ARN, and the linter's table has only those of an account.
    (f"{KARPENTER}-resource-discovery", "RESOURCE_MISMATCH", "ssm:GetParameter"),
    # Its table lacks clusters for this action; the condition names the one cluster.
    (f"{KARPENTER}-zonal-shift", "RESOURCE_STAR", "arc-zonal-shift:GetManagedResource"),
    # Whoever starts nodes gives them a role. Which one, and which profiles, the conditions say.
    *(
        (f"{KARPENTER}-iam-integration", "PERMISSIONS_MANAGEMENT_ACTIONS", f"iam:{action}")
        for action in (
            *("passrole", "createinstanceprofile", "deleteinstanceprofile"),
            *("addroletoinstanceprofile", "removerolefrominstanceprofile"),
        )
    ),
}
PULL_THROUGH = {(node, "RESOURCE_MISMATCH", "ecr:BatchImportUpstreamImage") for node in NODES}
"""ECR's own documentation has this right in a repository's policy; the linter's table is older."""


@pytest.mark.parametrize("stack", EVERY)
def test_no_document_has_a_finding_without_a_reason(stack: str, resources: Callable[[str], Resources]) -> None:
    documents = {it.name: it for role in extract(resources(stack)).roles.values() for it in role.documents}
    found = {each for name, it in documents.items() for each in findings(name, json.loads(it.text)["Statement"])}
    # nothing is cached in China, and its nodes have no right for it
    assert found == KEPT | (set() if stack == CHINA else PULL_THROUGH)
