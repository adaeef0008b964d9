"""One vLLM server: its identity's pods, the model's mount, and the Service that clients reach."""

from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import PersistentVolume, PersistentVolumeClaim, Service, ServiceAccount

from infra.gpu_pools import GpuPool, node_selector
from infra.gpu_pools.gpu_pools import GpuPools
from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.mountpoint import Mountpoint
from infra.naming import TECHNIQUES_ANNOTATION
from infra.pod_identity import PodIdentity
from serving.cache_key.server import server_key
from serving.engine import PORT, PROGRESS_DEADLINE, PULUMI_TIMEOUT
from serving.front import IMAGE as PROXY_IMAGE
from serving.namespace import ServingNamespace
from serving.pod import baseline
from serving.pod.template import template
from serving.programs import PodPrograms
from serving.server import ServerSettings, situation
from serving.techniques import applied
from serving.techniques.technique import Provided

CSI_DRIVER = "s3.csi.aws.com"


@dataclass(frozen=True, kw_only=True)
class VllmServerArgs:
    """Settings as plain values; identity, mount, namespace and pools whole, because pods come after all of each."""

    name: str
    """Of the server: its Deployment and Service are called so."""
    settings: ServerSettings
    pool: GpuPool
    region: str
    images: ImageCacheFacts
    bucket: pulumi.Input[str]
    identity: PodIdentity
    mountpoint: Mountpoint
    namespace: ServingNamespace
    pools: GpuPools
    programs: PodPrograms
    priority: pulumi.Input[str]
    """Priority class of the pod."""


class VllmServer(pulumi.ComponentResource):
    """A Deployment of one pod that holds its GPU until it is gone, and its Service."""

    url: pulumi.Output[str]
    """Base URL of the OpenAI API inside the cluster."""
    cache_prefix: pulumi.Output[str]
    """Of its start-up cache in the bucket."""
    claim: pulumi.Output[str]
    """Of the volume that shows the model's folder."""

    def __init__(self, name: str, args: VllmServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:VllmServer", name, None, opts)
        server, settings, namespace = args.name, args.settings, args.identity.namespace
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.namespace])
        labels = {"app.kubernetes.io/name": "vllm", "app.kubernetes.io/instance": server}
        about = situation(settings, args.pool, args.region)

        account = ServiceAccount(
            name,
            metadata={"name": args.identity.service_account, "namespace": namespace, "labels": labels},
            automount_service_account_token=False,
            opts=child,
        )
        claim = self._model_mount(name, args, labels)
        key = server_key(about, settings.techniques)
        provided = Provided(
            server=server,
            bucket=args.bucket,
            programs=args.programs.start,
            key=key,
            proxy_image=rewritten(PROXY_IMAGE, args.images),
            front_programs=args.programs.front,
            tokens=None,
        )
        pod = applied(baseline(about, claim.metadata.name), settings.techniques, about, provided)
        deployment = Deployment(
            name,
            metadata={
                "name": server,
                "namespace": namespace,
                "labels": labels,
                "annotations": {TECHNIQUES_ANNOTATION: ",".join(settings.techniques) or "none"},
            },
            spec={
                "replicas": 1,
                "selector": {"match_labels": labels},
                # a surge would wait for a GPU that the old pod holds (VLM-03)
                "strategy": {"type": "Recreate"},
                "progress_deadline_seconds": PROGRESS_DEADLINE,
                "template": template(
                    pod,
                    about,
                    server=server,
                    image=rewritten(settings.engine.image_reference, args.images),
                    priority=args.priority,
                    service_account=account.metadata.name,
                    labels=labels,
                    node_selector=node_selector(settings.pool, args.pool),
                ),
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                # the driver that mounts, and the pools: a pod that outlived its own would hold a node of nobody's. The
                # identity comes first by its namespace, which is the association's.
                depends_on=[args.mountpoint, args.pools],
                custom_timeouts=pulumi.CustomTimeouts(create=f"{PULUMI_TIMEOUT}s", update=f"{PULUMI_TIMEOUT}s"),
            ),
        )
        service = Service(
            name,
            metadata={"name": server, "namespace": namespace, "labels": labels},
            spec={
                "type": "ClusterIP",
                "selector": labels,
                "ports": [{"name": "http", "port": PORT, "target_port": "http", "protocol": "TCP"}],
            },
            # its wait for endpoints ends only when a pod is there
            opts=pulumi.ResourceOptions(parent=self, depends_on=[deployment]),
        )

        self.url = pulumi.Output.concat(
            "http://", service.metadata.name, ".", service.metadata.namespace, f".svc.cluster.local:{PORT}/v1"
        )
        self.cache_prefix = pulumi.Output.from_input(key.exact)
        self.claim = claim.metadata.name
        self.register_outputs({"url": self.url, "cachePrefix": self.cache_prefix, "claim": self.claim})

    def _model_mount(self, name: str, args: VllmServerArgs, labels: dict[str, str]) -> PersistentVolumeClaim:
        """Show the model's folder and nothing beside it, read-only (the driver knows static volumes only)."""
        prefix = args.settings.model.uri.prefix
        # unique, and another one (so another volume) when the claim must be another: volumes never change their claim
        handle = pulumi.Output.concat(args.identity.namespace, "-", args.name, "-", prefix.strip("/").replace("/", "-"))
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
                    f"region {args.region}",
                    # the file system is the driver's, who is root
                    *(["allow-other"] if args.settings.engine.user else []),
                ],
                "csi": {
                    "driver": CSI_DRIVER,
                    "volume_handle": handle,
                    "volume_attributes": {"bucketName": args.bucket, "authenticationSource": "driver"},
                },
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.namespace]),
        )
        return PersistentVolumeClaim(
            f"{name}-models",
            metadata={"namespace": args.identity.namespace, "labels": labels},
            spec={
                "access_modes": ["ReadOnlyMany"],
                "storage_class_name": "",
                "volume_name": volume.metadata.name,
                "resources": {"requests": size},
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=[args.namespace]),
        )
