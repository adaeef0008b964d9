"""Arguments for each component of `infra` and `serving`, in one place. One that has none here fails the suite."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

import pulumi

import infra
import serving
from infra.cluster.cluster import Cluster, ClusterArgs
from infra.cluster.system_nodes import SystemNodes, SystemNodesArgs
from infra.gpu_pools.device_plugin import DevicePlugin, DevicePluginArgs
from infra.gpu_pools.gpu_pools import GpuPools, GpuPoolsArgs
from infra.gpu_pools.manifests import Surroundings
from infra.gpu_pools.warm_nodes import PodSize, WarmNodes, WarmNodesArgs
from infra.iam import read_prefixes
from infra.image_cache.image_cache import ImageCache, ImageCacheArgs
from infra.image_cache.rewrite import image_cache_facts
from infra.image_cache.settings import ImageCacheSettings
from infra.karpenter.controller import Karpenter, KarpenterArgs
from infra.karpenter.identity import KarpenterIdentity, KarpenterIdentityArgs
from infra.karpenter.interruption import InterruptionQueue, InterruptionQueueArgs
from infra.karpenter.node_identity import NodeIdentity, NodeIdentityArgs
from infra.karpenter.policies import Scope
from infra.model_bucket import ModelBucket, ModelBucketArgs
from infra.model_bucket.documents import Owner
from infra.mountpoint import Mountpoint, MountpointArgs
from infra.naming import Place, partition_of
from infra.network import Network, NetworkArgs
from infra.pod_identity import PodIdentity, PodIdentityArgs
from infra.priorities import Priorities, PrioritiesArgs
from serving.front.agent_rights import AgentRights, AgentRightsArgs
from serving.front.api_tokens import ApiTokens, ApiTokensArgs
from serving.idle import ScheduleSettings
from serving.idle.scheduled import ScheduledIdle, ScheduledIdleArgs
from serving.jobs import Whose
from serving.jobs.cache_build import CacheBuild, CacheBuildArgs, builds
from serving.jobs.onboard import WeightsOnboarding, WeightsOnboardingArgs
from serving.namespace import ServingNamespace, ServingNamespaceArgs
from serving.programs import PodPrograms, PodProgramsArgs
from serving.server.server import VllmServer, VllmServerArgs
from settings import parse
from tests.harness import REGION, stack_settings

DEV = parse(stack_settings("dev"), REGION)
PARTITION = partition_of(REGION)
CACHE = ImageCacheSettings.model_validate(
    {
        "prefix": "a-stack",
        "upstreams": ["ecr-public", "docker-hub"],
        "untaggedDays": 14,
        "keepTags": 20,
        "repositories": {"engine": {"keepOnDestroy": True}},
    }
)
PLACE = Place(PARTITION, REGION, "000000000000")
IMAGES = image_cache_facts(CACHE, PLACE)


def _network(name: str) -> NetworkArgs:
    return NetworkArgs(
        settings=DEV.network, region=REGION, home_zone=DEV.cluster.zones[0], cluster_name=name, protect=False
    )


def _model_bucket(name: str) -> ModelBucketArgs:
    owner = Owner(place=PLACE, cluster="c", deployer=DEV.account.deployer)
    return ModelBucketArgs(settings=DEV.model_bucket, owner=owner, protect=False)


def _cluster(name: str) -> ClusterArgs:
    return ClusterArgs(
        settings=DEV.cluster,
        cluster_name=name,
        network=Network(f"{name}-net", _network(name)),
        partition=PARTITION,
        node_statements=(),
        tags=DEV.tags,
    )


def _system_nodes(name: str) -> SystemNodesArgs:
    return SystemNodesArgs(
        settings=DEV.cluster.system_nodes,
        cluster_name="c",
        kubernetes_version=DEV.cluster.version,
        subnet_ids=["subnet-1", "subnet-2"],
        partition=PARTITION,
        statements=(),
        tags=DEV.tags,
        after=[],
    )


def _pod_identity(name: str) -> PodIdentityArgs:
    return PodIdentityArgs(
        cluster_name="c",
        namespace="inference",
        service_account=name,
        statements=read_prefixes("arn:aws:s3:::b", "models/m/r1/"),
    )


def _mountpoint(name: str) -> MountpointArgs:
    cluster = Cluster(f"{name}-on", _cluster(f"{name}-on"))
    return MountpointArgs(cluster=cluster, versions=DEV.cluster.addons, bucket_arn="arn:aws:s3:::b", key=None)


def _image_cache(_name: str) -> ImageCacheArgs:
    return ImageCacheArgs(settings=CACHE, credentials={"docker-hub": pulumi.Output.secret("{}")})


def _gpu_pools(name: str) -> GpuPoolsArgs:
    return GpuPoolsArgs(
        pools=DEV.gpu_pools,
        surroundings=Surroundings(
            cluster_name=name,
            node_role="node",
            subnet_ids=["subnet-1", "subnet-2"],
            security_group_id="sg-1",
            tags=DEV.tags,
        ),
        images=dict.fromkeys(DEV.gpu_pools, ("nginx:1",)),
        graces={},
        after=[],
    )


def _warm_nodes(name: str) -> WarmNodesArgs:
    return WarmNodesArgs(
        pools={key: pool.model_copy(update={"warm_nodes": 1}) for key, pool in DEV.gpu_pools.items()},
        sizes=dict.fromkeys(DEV.gpu_pools, PodSize(cpu=6000, memory=48 * 1024, gpus=1)),
        namespace=name,
        priority="vllm-warm-nodes",
        images=IMAGES,
        after=[],
    )


def _priorities(name: str) -> PrioritiesArgs:
    return PrioritiesArgs(cluster_name=name)


def _device_plugin(_name: str) -> DevicePluginArgs:
    return DevicePluginArgs(images=IMAGES, after=[])


def _interruption_queue(name: str) -> InterruptionQueueArgs:
    return InterruptionQueueArgs(cluster_name=name, place=PLACE)


def _node_identity(_name: str) -> NodeIdentityArgs:
    return NodeIdentityArgs(cluster_name="c", place=PLACE, statements=())


def _karpenter_identity(name: str) -> KarpenterIdentityArgs:
    scope = Scope(place=PLACE, cluster=name)
    return KarpenterIdentityArgs(scope=scope, release="1.14", cluster_name=name, node_statements=())


def _karpenter(name: str) -> KarpenterArgs:
    return KarpenterArgs(
        settings=DEV.karpenter,
        identity=KarpenterIdentity(f"{name}-id", _karpenter_identity(name)),
        cluster=Cluster(f"{name}-on", _cluster(f"{name}-on")),
        static_capacity=False,
    )


def _namespace(name: str) -> ServingNamespaceArgs:
    return ServingNamespaceArgs(namespace=name)


def _server(name: str) -> VllmServerArgs:
    server = DEV.servers["gemma"]
    return VllmServerArgs(
        name=name,
        settings=server,
        pool=DEV.gpu_pools[server.pool],
        region=REGION,
        images=IMAGES,
        bucket="b",
        identity=PodIdentity(f"{name}-id", _pod_identity(name)),
        mountpoint=Mountpoint(f"{name}-mount", _mountpoint(f"{name}-mount")),
        namespace=ServingNamespace(f"{name}-space", _namespace(name)),
        pools=GpuPools(f"{name}-pools", _gpu_pools(name)),
        programs=PodPrograms(f"{name}-programs", _programs(name)),
        priority="vllm-servers",
        tokens=None,
        beside={},
    )


def _programs(name: str) -> PodProgramsArgs:
    return PodProgramsArgs(namespace=name)


def _cache_build(name: str) -> CacheBuildArgs:
    return CacheBuildArgs(
        server="gemma",
        builds=builds(DEV.servers, DEV.gpu_pools, REGION)["gemma"],
        pool=DEV.servers["gemma"].pool,
        images=IMAGES,
        bucket="b",
        namespace=ServingNamespace(f"{name}-in", _namespace(f"{name}-in")),
        whose=Whose(account="000000000000", cluster="c"),
        publisher=PodIdentity(f"{name}-publisher", _pod_identity(f"{name}-publisher")),
        served=VllmServer(f"{name}-served", _server(f"{name}-served")),
        programs=PodPrograms(f"{name}-programs", _programs(name)),
        priority="vllm-servers",
    )


def _onboarding(name: str) -> WeightsOnboardingArgs:
    return WeightsOnboardingArgs(
        identity=PodIdentity(f"{name}-id", _pod_identity(name)),
        namespace=ServingNamespace(f"{name}-in", _namespace(f"{name}-in")),
        whose=Whose(account="000000000000", cluster="c"),
        region=REGION,
        images=IMAGES,
        programs=PodPrograms(f"{name}-programs", _programs(name)),
        token=pulumi.Output.secret("hf_token"),
    )


def _scheduled_idle(name: str) -> ScheduledIdleArgs:
    schedule = {"stop": "0 20 * * *", "start": "0 8 * * *", "timeZone": "UTC"}
    return ScheduledIdleArgs(
        server=name,
        schedule=ScheduleSettings.model_validate(schedule),
        replicas=2,
        namespace=ServingNamespace(f"{name}-in", _namespace(f"{name}-in")),
        whose=Whose(account="000000000000", cluster="c"),
        images=IMAGES,
        programs=PodPrograms(f"{name}-programs", _programs(name)),
        served=VllmServer(f"{name}-served", _server(f"{name}-served")),
    )


def _api_tokens(name: str) -> ApiTokensArgs:
    return ApiTokensArgs(
        namespace=ServingNamespace(f"{name}-in", _namespace(f"{name}-in")), tokens=pulumi.Output.secret('"~^x$" 1;')
    )


def _agent_rights(name: str) -> AgentRightsArgs:
    return AgentRightsArgs(
        namespace=ServingNamespace(f"{name}-in", _namespace(f"{name}-in")),
        namespace_name=name,
        accounts={name: f"{name}-server"},
    )


ARGS: Mapping[type[pulumi.ComponentResource], Callable[[str], Any]] = {
    Network: _network,
    ModelBucket: _model_bucket,
    Cluster: _cluster,
    SystemNodes: _system_nodes,
    PodIdentity: _pod_identity,
    Mountpoint: _mountpoint,
    ImageCache: _image_cache,
    DevicePlugin: _device_plugin,
    InterruptionQueue: _interruption_queue,
    NodeIdentity: _node_identity,
    KarpenterIdentity: _karpenter_identity,
    Karpenter: _karpenter,
    GpuPools: _gpu_pools,
    Priorities: _priorities,
    WarmNodes: _warm_nodes,
    ServingNamespace: _namespace,
    VllmServer: _server,
    PodPrograms: _programs,
    CacheBuild: _cache_build,
    WeightsOnboarding: _onboarding,
    ScheduledIdle: _scheduled_idle,
    ApiTokens: _api_tokens,
    AgentRights: _agent_rights,
}
"""By component: a function from the name of an instance to its arguments. Other components that they need are made on
the way, each with a name that follows from the instance's."""


def components() -> list[type[pulumi.ComponentResource]]:
    """Every component class in any module of the two packages."""
    found: list[type[pulumi.ComponentResource]] = []
    for package in (infra, serving):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            found += [
                value
                for value in vars(module).values()
                if isinstance(value, type)
                and issubclass(value, pulumi.ComponentResource)
                and value.__module__ == info.name
            ]
    return found
