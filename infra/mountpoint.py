"""The Mountpoint S3 driver with an identity of its own: it reads models, and no pod inherits its rights."""

from dataclasses import dataclass

import pulumi

from infra.cluster.addons import AWS_NAMES, AddonVersions, addon
from infra.cluster.cluster import Cluster
from infra.model_bucket import MODELS
from infra.model_bucket.rights import reader
from infra.naming import MOUNTPOINT_NAMESPACE, MOUNTPOINT_SERVICE_ACCOUNT
from infra.pod_identity import PodIdentity, PodIdentityArgs


@dataclass(frozen=True, kw_only=True)
class MountpointArgs:
    """The cluster is passed whole: the driver's controller needs its nodes, and no id shows that."""

    cluster: Cluster
    versions: AddonVersions
    bucket_arn: pulumi.Input[str]
    key: str | None
    """ARN of the bucket's customer key, if it has one."""


class Mountpoint(pulumi.ComponentResource):
    """Add-on and reader. Pods that mount a bucket depend on this component."""

    role_arn: pulumi.Output[str]

    def __init__(self, name: str, args: MountpointArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:Mountpoint", name, None, opts)

        identity = PodIdentity(
            f"{name}-reader",
            PodIdentityArgs(
                cluster_name=args.cluster.name,
                namespace=MOUNTPOINT_NAMESPACE,
                service_account=MOUNTPOINT_SERVICE_ACCOUNT,
                statements=reader(args.bucket_arn, MODELS, key=args.key),
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        addon(
            "mountpoint_s3",
            args.versions,
            name=f"{name}-{AWS_NAMES['mountpoint_s3']}",
            cluster_name=args.cluster.name,
            # the driver's pods must be admitted after the association, or they have no credentials for ever
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.cluster, identity]),
        )

        self.role_arn = identity.role_arn
        self.register_outputs({"roleArn": self.role_arn})
