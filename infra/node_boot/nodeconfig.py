"""AL2023's NodeConfig, exactly the fields in use.

nodeadm decodes leniently: a field or gate that it does not know does nothing, without a word (aws.md 0.9). What is not
written here cannot be written at all. Karpenter merges its own NodeConfig behind this one: cluster, taints, labels,
`spec.kubelet` of the EC2NodeClass (image garbage collection among it) and the RAID0 of `instanceStorePolicy`.
"""

import json
from dataclasses import dataclass
from typing import Any

MEDIA_TYPE = "application/node.eks.aws"


@dataclass(frozen=True, kw_only=True)
class NodeConfig:
    """`node.eks.aws/v1alpha1`, schema of awslabs/amazon-eks-ami of 2026-07-23."""

    fast_image_pull: bool
    """`spec.featureGates.FastImagePull`: SOCI parallel pull, with its data on the RAID0 array."""
    serialize_image_pulls: bool
    """`spec.kubelet.config.serializeImagePulls`."""

    def document(self) -> dict[str, Any]:
        """Return the object as nodeadm reads it."""
        gates = {"featureGates": {"FastImagePull": True}} if self.fast_image_pull else {}
        return {
            "apiVersion": "node.eks.aws/v1alpha1",
            "kind": "NodeConfig",
            "spec": {**gates, "kubelet": {"config": {"serializeImagePulls": self.serialize_image_pulls}}},
        }

    def __str__(self) -> str:
        """Return the part's body. JSON is YAML that needs no quoting rules."""
        return json.dumps(self.document(), indent=2)
