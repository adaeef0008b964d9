"""Karpenter's own CloudFormation template, with everything put in that CloudFormation would put in."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from infra.karpenter.policies import Scope
from tests.harness import beside
from tests.infra.karpenter.scene import ACCOUNT, node_role_arn, queue_arn

RELEASE = "1.14"
TEMPLATE = Path("shared", "crds", "karpenter-extra", f"cloudformation-v{RELEASE}.yaml")
"""Beside the checkout. No package that can be had carries it: the Go module leaves the website out."""


def resources(of: Scope) -> Mapping[str, Any]:
    """The resources of the template, for this cluster. Without the template the test is skipped, which CI refuses."""
    path = beside(TEMPLATE)
    values = {
        "AWS::Partition": of.place.partition.name,
        "AWS::URLSuffix": of.place.partition.dns_suffix,
        "AWS::Region": of.place.region,
        "AWS::AccountId": ACCOUNT,
        "ClusterName": of.cluster,
        "KarpenterNodeRole.Arn": node_role_arn(of),
        "KarpenterInterruptionQueue.Arn": queue_arn(of),
        "KarpenterInterruptionQueue": "the queue's URL",
    }

    class Loader(yaml.SafeLoader):
        """Knows three of CloudFormation's short forms; a fourth is refused."""

    def put_in(_: yaml.SafeLoader, written: yaml.ScalarNode) -> str:
        return re.sub(r"\$\{([^}]+)\}", lambda found: values[found[1]], written.value)

    def looked_up(_: yaml.SafeLoader, written: yaml.ScalarNode) -> str:
        return values[written.value]

    Loader.add_constructor("!Sub", put_in)
    Loader.add_constructor("!Ref", looked_up)
    Loader.add_constructor("!GetAtt", looked_up)
    return yaml.load(path.read_text(), Loader)["Resources"]  # noqa: S506 - a SafeLoader


def policy(template: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A managed policy, which the template writes as text."""
    return json.loads(template[name]["Properties"]["PolicyDocument"])
