"""What each AWS resource type of the program asks, action by action.

From the handlers of the CloudFormation types (a test compares them) and, where the AWS provider asks otherwise or a
type has no handlers, from memory of the calls in its source: no document here was ever tried on AWS.
"""

from collections.abc import Mapping

from ops.rights.table import cluster, data, identity, network
from ops.rights.table.row import Row

THEMES: Mapping[str, Mapping[str, Row]] = {
    "network": network.ROWS,
    "cluster": cluster.ROWS,
    "identities": identity.ROWS,
    "data": data.ROWS,
}
"""Theme, one document each, to type token to row."""

ANYWHERE = (
    *("ec2:Describe", "ecr:DescribePullThroughCacheRules", "ecr:DescribeRepositoryCreationTemplates"),
    *("eks:CreateCluster", "kms:CreateKey"),
)
"""Beginnings of actions that take no ARN (service authorization reference): given for one, they are given for none.
Their statements are bound to the region, and what makes something to the stack's tags."""


def takes_an_arn(action: str) -> bool:
    """Whether AWS compares the action's resource."""
    return not action.startswith(ANYWHERE)
