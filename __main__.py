"""vLLM on Amazon EKS: from the stack file to what other stacks may rely on."""

import pulumi

import outputs
import settings
from infra import providers
from infra.cluster.cluster import Cluster, ClusterArgs
from infra.gpu_pools import published
from infra.gpu_pools.device_plugin import DevicePlugin, DevicePluginArgs, node_images
from infra.gpu_pools.gpu_pools import GpuPools, GpuPoolsArgs
from infra.gpu_pools.manifests import Surroundings, needs_static_capacity
from infra.gpu_pools.warm_nodes import WarmNodes, WarmNodesArgs
from infra.image_cache.documents import node_statements
from infra.image_cache.image_cache import ImageCache, ImageCacheArgs
from infra.image_cache.rewrite import image_cache_facts
from infra.karpenter.controller import Karpenter, KarpenterArgs
from infra.karpenter.identity import KarpenterIdentity, KarpenterIdentityArgs
from infra.karpenter.policies import Scope
from infra.model_bucket import CACHES, ModelBucket, ModelBucketArgs
from infra.model_bucket.documents import Owner
from infra.model_bucket.rights import onboarding, publisher, reader
from infra.mountpoint import Mountpoint, MountpointArgs
from infra.naming import (
    ONBOARDING,
    Place,
    onboarding_path,
    partition_of,
    publisher_path,
    publisher_service_account,
    server_service_account,
)
from infra.network import Network, NetworkArgs
from infra.pod_identity import PodIdentity, PodIdentityArgs
from infra.priorities import Priorities, PrioritiesArgs
from serving.front.agent_rights import AgentRights, AgentRightsArgs
from serving.front.api_tokens import ApiTokens, ApiTokensArgs
from serving.idle.scheduled import ScheduledIdle, ScheduledIdleArgs
from serving.jobs import Whose
from serving.jobs.cache_build import CacheBuild, CacheBuildArgs, builds, folders
from serving.jobs.onboard import WeightsOnboarding, WeightsOnboardingArgs
from serving.namespace import ServingNamespace, ServingNamespaceArgs
from serving.programs import PodPrograms, PodProgramsArgs
from serving.server import demand
from serving.server.server import VllmServer, VllmServerArgs

region, stack, secrets = settings.load()
gpu_pools = stack.pools
beside = demand.footprints_beside(stack.servers, gpu_pools, region)
whose = Whose(account=stack.account.id, cluster=stack.name)
place = Place(partition_of(region), region, stack.account.id)
images = image_cache_facts(stack.image_cache, place)

aws = pulumi.ResourceOptions(provider=providers.aws(region, stack.account.id, stack.tags))

network = Network(
    "network",
    NetworkArgs(
        settings=stack.network,
        region=region,
        home_zone=stack.cluster.zones[0],
        cluster_name=stack.name,
        protect=stack.cluster.deletion_protection,
    ),
    aws,
)
image_cache = ImageCache("images", ImageCacheArgs(settings=stack.image_cache, credentials=secrets.registries), aws)
pulls = node_statements(stack.image_cache, place)
bucket = ModelBucket(
    "models",
    ModelBucketArgs(
        settings=stack.model_bucket,
        owner=Owner(place=place, cluster=stack.name, deployer=stack.account.deployer),
        protect=stack.cluster.deletion_protection,
    ),
    aws,
)
cluster = Cluster(
    "cluster",
    ClusterArgs(
        settings=stack.cluster,
        cluster_name=stack.name,
        network=network,
        partition=place.partition,
        node_statements=pulls,
        tags=stack.tags,
    ),
    aws,
)
mountpoint = Mountpoint(
    "mountpoint",
    MountpointArgs(cluster=cluster, versions=stack.cluster.addons, bucket_arn=bucket.arn, key=stack.model_bucket.key),
    aws,
)
identities = {
    name: PodIdentity(
        f"{name}-server",
        PodIdentityArgs(
            cluster_name=cluster.name,
            namespace=stack.namespace,
            service_account=server_service_account(name),
            statements=reader(bucket.arn, server.model.uri.prefix, CACHES, key=stack.model_bucket.key),
        ),
        aws,
    )
    for name, server in stack.servers.items()
}
caches = builds(stack.servers, gpu_pools, region)
crowded = demand.builds_without_room(stack.servers, gpu_pools)
publishers = {
    name: PodIdentity(
        f"{name}-publisher",
        PodIdentityArgs(
            cluster_name=cluster.name,
            namespace=stack.namespace,
            service_account=publisher_service_account(name),
            path=publisher_path(stack.name),
            statements=publisher(
                bucket.arn,
                model=stack.servers[name].model.uri.prefix,
                folders=folders(of_server),
                key=stack.model_bucket.key,
            ),
        ),
        aws,
    )
    for name, of_server in caches.items()
}
onboarder = PodIdentity(
    "onboarding",
    PodIdentityArgs(
        cluster_name=cluster.name,
        namespace=stack.namespace,
        service_account=ONBOARDING,
        path=onboarding_path(stack.name),
        statements=onboarding(bucket.arn, key=stack.model_bucket.key),
    ),
    aws,
)

karpenter_identity = KarpenterIdentity(
    "karpenter",
    KarpenterIdentityArgs(
        scope=Scope(place=place, cluster=stack.name),
        release=stack.karpenter.minor,
        cluster_name=cluster.name,
        node_statements=pulls,
    ),
    aws,
)

kubernetes = pulumi.ResourceOptions(provider=providers.kubernetes(cluster, image_cache))

karpenter = Karpenter(
    "karpenter",
    KarpenterArgs(
        settings=stack.karpenter,
        identity=karpenter_identity,
        cluster=cluster,
        static_capacity=needs_static_capacity(gpu_pools.values()),
    ),
    kubernetes,
)
device_plugin = DevicePlugin("device-plugin", DevicePluginArgs(images=images, after=[cluster]), kubernetes)
pools = GpuPools(
    "gpu-pools",
    GpuPoolsArgs(
        pools=gpu_pools,
        surroundings=Surroundings(
            cluster_name=stack.name,
            node_role=karpenter_identity.node_role_name,
            subnet_ids=list(network.private_subnet_ids.values()),
            security_group_id=cluster.security_group_id,
            tags=stack.tags,
        ),
        images={name: node_images(demand.engine_images(name, stack.servers), images) for name in gpu_pools},
        graces=demand.longest_grace_by_pool(stack.servers),
        after=[karpenter, device_plugin],
    ),
    kubernetes,
)
namespace = ServingNamespace("serving", ServingNamespaceArgs(namespace=stack.namespace), kubernetes)
programs = PodPrograms("programs", PodProgramsArgs(namespace=namespace.name), kubernetes)
priorities = Priorities("priorities", PrioritiesArgs(cluster_name=stack.name), kubernetes)
tokens = ApiTokens("api-tokens", ApiTokensArgs(namespace=namespace, tokens=secrets.api_tokens), kubernetes)
AgentRights(
    "agents",
    AgentRightsArgs(
        namespace=namespace,
        namespace_name=stack.namespace,
        accounts=demand.woken_from_outside(stack.servers, gpu_pools, region),
    ),
    kubernetes,
)
WarmNodes(
    "warm-nodes",
    WarmNodesArgs(
        pools=gpu_pools,
        sizes=demand.largest_by_pool(stack.servers),
        namespace=namespace.name,
        priority=priorities.warm_nodes,
        images=images,
        after=[pools],
    ),
    kubernetes,
)
servers = {
    name: VllmServer(
        name,
        VllmServerArgs(
            name=name,
            settings=server,
            pool=gpu_pools[server.pool],
            region=region,
            images=images,
            bucket=bucket.name,
            identity=identities[name],
            mountpoint=mountpoint,
            namespace=namespace,
            pools=pools,
            programs=programs,
            priority=priorities.servers,
            tokens=tokens.secret,
            beside=beside[name],
        ),
        kubernetes,
    )
    for name, server in stack.servers.items()
}
for name, of_server in caches.items():
    CacheBuild(
        name,
        CacheBuildArgs(
            server=name,
            builds=of_server,
            pool=stack.servers[name].pool,
            images=images,
            bucket=bucket.name,
            namespace=namespace,
            whose=whose,
            publisher=publishers[name],
            served=servers[name],
            programs=programs,
            priority=priorities.builds,
            no_room=crowded.get(name, ""),
        ),
        kubernetes,
    )
for name, server in stack.servers.items():
    if server.idle:
        ScheduledIdle(
            name,
            ScheduledIdleArgs(
                server=name,
                schedule=server.idle.schedule,
                replicas=server.replicas,
                namespace=namespace,
                whose=whose,
                images=images,
                programs=programs,
                served=servers[name],
            ),
            kubernetes,
        )
WeightsOnboarding(
    "weights",
    WeightsOnboardingArgs(
        identity=onboarder,
        namespace=namespace,
        whose=whose,
        region=region,
        images=images,
        programs=programs,
        token=secrets.hugging_face,
    ),
    kubernetes,
)

outputs.export(
    {
        "region": region,
        "cluster_name": cluster.name,
        "cluster_endpoint": cluster.endpoint,
        "kubeconfig": cluster.kubeconfig,
        "namespace": namespace.name,
        "account": stack.account.id,
        "model_bucket": bucket.name,
        "model_bucket_arn": bucket.arn,
        "model_bucket_key": stack.model_bucket.key,
        "s3_addresses": network.s3_addresses,
        "image_prefixes": images.published,
        "image_repositories": images.own,
        "gpu_pools": {name: published(name, pool, region) for name, pool in gpu_pools.items()},
        "servers": {
            name: {
                "url": servers[name].url,
                "model": server.model.served_name,
                "cachePrefix": servers[name].cache_prefix,
                "predicted": servers[name].predicted,
                "modelPrefix": server.model.uri.prefix,
                "pods": servers[name].pods,
                "asksForToken": servers[name].asks_for_token,
            }
            for name, server in stack.servers.items()
        },
    }
)
