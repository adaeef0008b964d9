"""vLLM on Amazon EKS: from the stack file to what other stacks may rely on."""

import pulumi

import outputs
import settings
from infra import gpu_pools, providers
from infra.cluster.cluster import Cluster, ClusterArgs
from infra.iam import read_prefixes
from infra.image_cache.documents import node_statements
from infra.image_cache.image_cache import ImageCache, ImageCacheArgs
from infra.image_cache.rewrite import image_cache_facts
from infra.model_bucket import ModelBucket, ModelBucketArgs
from infra.mountpoint import Mountpoint, MountpointArgs
from infra.naming import partition_of, server_service_account
from infra.network import Network, NetworkArgs
from infra.pod_identity import PodIdentity, PodIdentityArgs
from serving.namespace import ServingNamespace, ServingNamespaceArgs
from serving.server import VllmServer, VllmServerArgs

region, stack, credentials = settings.load()
partition = partition_of(region)

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
place = {"account": stack.account.id, "region": region, "partition": partition}
images = image_cache_facts(stack.image_cache, **place)
image_cache = ImageCache("images", ImageCacheArgs(settings=stack.image_cache, credentials=credentials), aws)
bucket = ModelBucket("models", ModelBucketArgs(settings=stack.model_bucket, partition=partition), aws)
cluster = Cluster(
    "cluster",
    ClusterArgs(
        settings=stack.cluster,
        cluster_name=stack.name,
        network=network,
        partition=partition,
        node_statements=node_statements(stack.image_cache, **place),
        tags=stack.tags,
    ),
    aws,
)
mountpoint = Mountpoint(
    "mountpoint", MountpointArgs(cluster=cluster, versions=stack.cluster.addons, bucket_arn=bucket.arn), aws
)
identities = {
    name: PodIdentity(
        f"{name}-server",
        PodIdentityArgs(
            cluster_name=cluster.name,
            namespace=stack.namespace,
            service_account=server_service_account(name),
            statements=read_prefixes(bucket.arn, server.model.uri.prefix),
        ),
        aws,
    )
    for name, server in stack.servers.items()
}

kubernetes = pulumi.ResourceOptions(provider=providers.kubernetes(cluster))

namespace = ServingNamespace("serving", ServingNamespaceArgs(namespace=stack.namespace), kubernetes)
servers = {
    name: VllmServer(
        name,
        VllmServerArgs(
            name=name,
            settings=server,
            pool=stack.gpu_pools[server.pool],
            region=region,
            images=images,
            bucket=bucket.name,
            identity=identities[name],
            mountpoint=mountpoint,
            namespace=namespace,
        ),
        kubernetes,
    )
    for name, server in stack.servers.items()
}

outputs.export(
    {
        "region": region,
        "cluster_name": cluster.name,
        "cluster_endpoint": cluster.endpoint,
        "kubeconfig": cluster.kubeconfig,
        "namespace": namespace.name,
        "model_bucket": bucket.name,
        "gpu_pools": {name: gpu_pools.published(name, pool) for name, pool in stack.gpu_pools.items()},
        "servers": {
            name: {"url": servers[name].url, "model": server.model.served_name}
            for name, server in stack.servers.items()
        },
    }
)
