"""One vLLM server: its identity's pods, the model's mount, and the Service that clients reach."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ConfigMap, Service, ServiceAccount
from pulumi_kubernetes.networking.v1 import NetworkPolicy
from pulumi_kubernetes.policy.v1 import PodDisruptionBudget

from infra.gpu_pools import GpuPool, node_selector
from infra.gpu_pools.gpu_pools import GpuPools
from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.mountpoint import Mountpoint
from infra.naming import TECHNIQUES_ANNOTATION, server_labels
from infra.pod_identity import PodIdentity
from serving.budget.disk import Footprint
from serving.budget.report import mapping, report
from serving.cache_key.server import server_key
from serving.engine import PORT, PULUMI_SLACK
from serving.front import IMAGE as PROXY_IMAGE
from serving.front.rights import network_policy
from serving.idle import replicas_owner
from serving.namespace import ServingNamespace
from serving.pod import MODELS, baseline
from serving.pod.template import file_maps, template
from serving.programs import PodPrograms
from serving.server import ServerSettings, situation
from serving.server.fit import warnings, without_effect
from serving.server.model_mount import model_mount
from serving.server.rollout import disruption_budget, spread, strategy
from serving.techniques import applied, doubts, progress_deadline, shaped
from serving.techniques.front.front_proxy import FRONT_PROXY
from serving.techniques.technique import Provided


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
    tokens: pulumi.Output[str] | None
    """Name of the Secret with the tokens that its clients show; None: it asks for none."""
    beside: Mapping[str, Footprint]
    """What the other servers of its pool leave on a node's disk."""


class VllmServer(pulumi.ComponentResource):
    """A Deployment of pods that hold their GPUs until they are gone, and its Service."""

    url: pulumi.Output[str]
    """Base URL of the OpenAI API inside the cluster."""
    cache_prefix: pulumi.Output[str]
    """Of its start-up cache in the bucket."""
    claim: pulumi.Output[str] | None
    """Of the volume that shows the model's folder; None without one."""
    predicted: pulumi.Output[Mapping[str, Any]]
    """Its starts, as `serving.budget.report.mapping` has them."""
    pods: pulumi.Output[Mapping[str, Any]]
    """What a NetworkPolicy of its clients names: labels and port."""
    asks_for_token: pulumi.Output[bool]
    """Whether clients have to show one."""

    def __init__(self, name: str, args: VllmServerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:serving:VllmServer", name, None, opts)
        server, settings, namespace = args.name, args.settings, args.identity.namespace
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.namespace])
        labels = server_labels(server)
        about = situation(settings, args.pool, args.region)

        account = ServiceAccount(
            name,
            metadata={"name": args.identity.service_account, "namespace": namespace, "labels": labels},
            automount_service_account_token=False,
            opts=child,
        )
        claim = (
            model_mount(name, about, bucket=args.bucket, namespace=namespace, labels=labels, opts=child)
            if MODELS in shaped(settings.chosen, about).volumes
            else None
        )
        key = server_key(about, settings.chosen)
        provided = Provided(
            server=server,
            bucket=args.bucket,
            programs=args.programs.start,
            key=key,
            proxy_image=rewritten(PROXY_IMAGE, args.images),
            front_programs=args.programs.front,
            tokens=args.tokens,
        )
        pod = applied(baseline(about, claim), settings.chosen, about, provided)
        files = [
            ConfigMap(
                f"{name}-{volume}",
                metadata={"name": config_map, "namespace": namespace, "labels": labels},
                # its name is its content's: a pod has the files of its own rollout, also when it restarts
                immutable=True,
                data=text,
                opts=child,
            )
            for volume, (config_map, text) in file_maps(pod, server).items()
        ]
        deadline = progress_deadline(settings.chosen)
        patience = f"{deadline + PULUMI_SLACK}s"
        deployment = Deployment(
            name,
            metadata={
                "name": server,
                "namespace": namespace,
                "labels": labels,
                "annotations": {
                    TECHNIQUES_ANNOTATION: ",".join(settings.chosen) or "none",
                    **replicas_owner(settings.idle),
                },
            },
            spec={
                "replicas": settings.replicas,
                "selector": {"match_labels": labels},
                "strategy": strategy(settings),
                "progress_deadline_seconds": deadline,
                "template": template(
                    pod,
                    about,
                    server=server,
                    image=rewritten(settings.engine.image_reference, args.images),
                    priority=args.priority,
                    service_account=account.metadata.name,
                    labels=labels,
                    node_selector=node_selector(settings.pool, args.pool),
                    spread=spread(labels),
                ),
            },
            opts=pulumi.ResourceOptions(
                parent=self,
                # the driver that mounts, and the pools: a pod that outlived its own would hold a node of nobody's. The
                # identity comes first by its namespace, which is the association's.
                depends_on=[args.mountpoint, args.pools, *files],
                custom_timeouts=pulumi.CustomTimeouts(create=patience, update=patience),
                # else the next `up` would wake what sleeps
                ignore_changes=["spec.replicas"] if settings.idle else None,
            ),
        )
        service = Service(
            name,
            metadata={"name": server, "namespace": namespace, "labels": labels},
            spec={
                "type": "ClusterIP",
                "selector": {**labels, **pod.selected},
                "ports": [{"name": "http", "port": PORT, "target_port": "http", "protocol": "TCP"}],
            },
            # its wait for endpoints is over when a pod is there, and after 10 s without (pulumi-kubernetes#3142)
            opts=pulumi.ResourceOptions(parent=self, depends_on=[deployment]),
        )
        if pod.walled:
            wall = network_policy(server, namespace, labels)
            NetworkPolicy(name, metadata=wall["metadata"], spec=wall["spec"], opts=child)
        if budget := disruption_budget(settings, labels):
            PodDisruptionBudget(
                name, metadata={"name": server, "namespace": namespace, "labels": labels}, spec=budget, opts=child
            )

        self.url = pulumi.Output.concat(
            "http://", service.metadata.name, ".", service.metadata.namespace, f".svc.cluster.local:{PORT}/v1"
        )
        self.cache_prefix = pulumi.Output.from_input(key.exact)
        self.claim = claim
        self.predicted = pulumi.Output.from_input(mapping(about, settings.chosen))
        self.pods = pulumi.Output.from_input({"labels": labels, "port": PORT})
        self.asks_for_token = pulumi.Output.from_input(FRONT_PROXY.name in settings.chosen and args.tokens is not None)
        pulumi.log.info(report(server, about, settings.chosen), self)
        for path, doubt in (
            *warnings(about, settings.chosen, args.beside),
            *without_effect(settings, tokens=args.tokens is not None),
        ):
            pulumi.log.warn(f"servers.{server}.{'.'.join(path)}: {doubt}", self)
        for doubt in doubts(settings.chosen, about, provided):
            pulumi.log.warn(f"servers.{server}.techniques: {doubt}", self)
        self.register_outputs(
            {
                "url": self.url,
                "cachePrefix": self.cache_prefix,
                "claim": self.claim,
                "predicted": self.predicted,
                "pods": self.pods,
                "asksForToken": self.asks_for_token,
            }
        )
