"""The volume through which a pod sees its model's folder: Mountpoint for Amazon S3, read-only."""

import pulumi
from pulumi_kubernetes.core.v1 import PersistentVolume, PersistentVolumeClaim

from serving.pod import Situation

CSI_DRIVER = "s3.csi.aws.com"


def model_mount(
    name: str,
    about: Situation,
    *,
    bucket: pulumi.Input[str],
    namespace: pulumi.Output[str],
    labels: dict[str, str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """Make a static volume (the driver knows no other) and its claim: the model's folder and nothing beside it.

    Args:
        name: of the server.
        about: the server.
        bucket: name of the bucket.
        namespace: of the claim.
        labels: of both.
        opts: of both.

    Returns:
        The claim's name.
    """
    prefix = about.model.uri.prefix
    # unique, and another one (so another volume) when the claim must be another: volumes never change their claim
    handle = pulumi.Output.concat(namespace, "-", name, "-", prefix.strip("/").replace("/", "-"))
    size = {"storage": "1Ti"}  # asked for by the API, ignored by the driver
    volume = PersistentVolume(
        f"{name}-models",
        metadata={"labels": labels},
        spec={
            "capacity": size,
            "access_modes": ["ReadOnlyMany"],
            "persistent_volume_reclaim_policy": "Retain",
            "storage_class_name": "",
            "mount_options": [
                "read-only",
                f"prefix={prefix}",
                f"region {about.region}",
                # the file system is the driver's, who is root
                *(["allow-other"] if about.engine.user else []),
            ],
            "csi": {
                "driver": CSI_DRIVER,
                "volume_handle": handle,
                "volume_attributes": {"bucketName": bucket, "authenticationSource": "driver"},
            },
        },
        opts=opts,
    )
    claim = PersistentVolumeClaim(
        f"{name}-models",
        metadata={"namespace": namespace, "labels": labels},
        spec={
            "access_modes": ["ReadOnlyMany"],
            "storage_class_name": "",
            "volume_name": volume.metadata.name,
            "resources": {"requests": size},
        },
        opts=opts,
    )
    return claim.metadata.name
