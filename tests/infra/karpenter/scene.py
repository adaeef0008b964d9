"""One cluster's Karpenter, and everything that it writes into IAM, as plain values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from infra.iam import Statement
from infra.image_cache.documents import node_statements
from infra.image_cache.settings import ImageCacheSettings
from infra.karpenter.controller import FEATURE_GATES
from infra.karpenter.interruption import queue_statements
from infra.karpenter.policies import Scope, controller_policies
from infra.naming import Place, interruption_queue, partition_of

ACCOUNT = "123456789012"
CLUSTER = "my-inference-cluster"
LONGEST = "c" * 100
REGION = "us-west-2"
REGIONS = (REGION, "cn-north-1", "us-gov-west-1")
"""One of each partition."""
RELEASES = tuple(FEATURE_GATES)
NODE_ROLE = "karpenter-nodes"


def scope(region: str = REGION, cluster: str = CLUSTER) -> Scope:
    return Scope(place=Place(partition_of(region), region, ACCOUNT), cluster=cluster)


def node_role_arn(of: Scope) -> str:
    return of.place.partition.arn("iam", f"role/{NODE_ROLE}", account=ACCOUNT)


def queue_arn(of: Scope) -> str:
    return of.place.arn("sqs", interruption_queue(of.cluster))


def controller(of: Scope, release: str) -> Mapping[str, Sequence[Statement]]:
    return controller_policies(of, release=release, node_role_arn=node_role_arn(of), queue_arn=queue_arn(of))


def node(of: Scope) -> Sequence[Statement]:
    """Rights of nodes that fill the caches of two registries."""
    settings = ImageCacheSettings.model_validate(
        {
            "prefix": "a-stack",
            "upstreams": ["quay", "docker-hub"],
            "untaggedDays": 14,
            "keepTags": 20,
            "repositories": {},
        }
    )
    return node_statements(settings, of.place)


def queue(of: Scope) -> Sequence[Statement]:
    return queue_statements(queue_arn(of))


def document(statements: Sequence[Statement]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": json.loads(json.dumps(list(statements)))}


def listed(value: Any) -> list[Any]:
    """Where IAM takes one or several."""
    return value if isinstance(value, list) else [value]
