"""How much of IAM's 6,144 characters each of Karpenter's policies takes, without white space, as IAM counts."""

import json
import re

from infra.karpenter.controller import FEATURE_GATES
from infra.karpenter.policies import Scope, controller_policies
from infra.naming import Place, interruption_queue, partition_of

LIMIT = 6144
ACCOUNT = "000000000000"


def sizes(region: str, cluster: str, release: str) -> dict[str, int]:
    place = Place(partition_of(region), region, ACCOUNT)
    policies = controller_policies(
        Scope(place=place, cluster=cluster),
        release=release,
        node_role_arn=place.partition.arn("iam", "role/karpenter-nodes-0123456", account=ACCOUNT),
        queue_arn=place.arn("sqs", interruption_queue(cluster)),
    )
    return {
        name: len(re.sub(r"\s", "", json.dumps({"Version": "2012-10-17", "Statement": list(statements)})))
        for name, statements in policies.items()
    }


if __name__ == "__main__":
    for release in FEATURE_GATES:
        for region in ("us-west-2", "cn-north-1", "us-gov-west-1"):
            for letters in (20, 100):
                found = sizes(region, "c" * letters, release)
                parts = ", ".join(f"{name} {size}" for name, size in found.items())
                print(f"{release} {region:<13} name of {letters:>3}: {len(found)} policies of at most {LIMIT}: {parts}")
