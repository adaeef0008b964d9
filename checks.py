"""What must fit between the sections of the stack file. A check yields complaints over the sections that it names."""

import math
from collections.abc import Iterator, Mapping

from infra.cluster.cluster import ClusterSettings
from infra.gpu_pools import GpuPool
from infra.gpu_pools.checks import address_problems, demand_problems
from infra.gpu_pools.device_plugin import node_images
from infra.gpu_pools.updates import minutes
from infra.gpu_pools.warm_nodes import pause_deployment
from infra.iam import foreign
from infra.image_cache.rewrite import image_cache_facts, image_problems
from infra.image_cache.settings import ImageCacheSettings, region_problems
from infra.karpenter.controller import KarpenterSettings, kubernetes_problems
from infra.model_bucket import ModelBucketSettings
from infra.model_bucket.checks import BUCKET_RULES, policy_problems
from infra.model_bucket.documents import Owner
from infra.naming import FORBIDDEN_SERVICE_NAMES, Place, partition_of
from infra.network import NetworkSettings, subnets
from infra.node_boot import boot_problems
from infra.providers import AccountSettings
from infra.section import Complaint, nearest, readable, shown
from serving.server import ServerSettings
from serving.server.demand import booting, engine_images, node_technique_problems, pool_demand, slowest_return
from serving.server.fit import PLACEMENT_RULES, SERVER_RULES
from serving.techniques import asked_of_nodes


def _zones_in_the_region(region: str, network: NetworkSettings) -> Iterator[Complaint]:
    for zone in network.zones:
        if zone[:-1] != region:
            yield Complaint(("network", "zones"), f"{shown(zone)} is not a zone of {region}; expected {region}a, ...")


def _cache_in_the_region(region: str, image_cache: ImageCacheSettings) -> Iterator[Complaint]:
    for path, problem in region_problems(image_cache, region):
        yield Complaint(("imageCache", *path), problem)


def _engine_images(
    place: Place, image_cache: ImageCacheSettings, servers: Mapping[str, ServerSettings]
) -> Iterator[Complaint]:
    facts = image_cache_facts(image_cache, place)

    def one(name: str, server: ServerSettings) -> Iterator[Complaint]:
        yield from spelled(("servers", name, "engine", "image"), server.engine.image_reference)
        if promoted := server.promoted:
            yield from spelled(("servers", name, "candidate", "image"), promoted.engine.image_reference)

    def spelled(path: tuple[str, ...], reference: str) -> Iterator[Complaint]:
        for problem in image_problems(reference, facts):
            yield Complaint(path, f"{shown(reference)}; {problem}")

    for name, server in servers.items():
        yield from readable(one(name, server))


def _cluster_zones(network: NetworkSettings, cluster: ClusterSettings) -> Iterator[Complaint]:
    for zone in cluster.zones:
        if zone not in network.zones:
            yield Complaint(("cluster", "zones"), f"{shown(zone)}; {nearest(zone, network.zones)}")


def _services_beside_the_vpc(network: NetworkSettings, cluster: ClusterSettings) -> Iterator[Complaint]:
    if network.cidr.overlaps(cluster.service_cidr):
        yield Complaint(
            ("cluster", "serviceCidr"), f'"{cluster.service_cidr}" overlaps with network.cidr {network.cidr}'
        )


def _access_entries(account: AccountSettings, cluster: ClusterSettings) -> Iterator[Complaint]:
    """EKS makes the deployer's entry itself and answers a second one of any principal with 409."""
    seen = {account.deployer: "account.deployer, which is cluster admin without an entry"}
    for name, entry in cluster.access.items():
        path = ("cluster", "access", name, "principal")
        if entry.principal in seen:
            yield Complaint(path, f"{shown(entry.principal)} is already {seen[entry.principal]}")
        seen.setdefault(entry.principal, f"cluster.access.{name}")


def _arns_in_the_partition(region: str, account: AccountSettings, cluster: ClusterSettings) -> Iterator[Complaint]:
    partition = partition_of(region).name
    arns = {("account", "deployer"): account.deployer} | {
        ("cluster", "access", name, "principal"): entry.principal for name, entry in cluster.access.items()
    }
    if cluster.secrets_key.startswith("arn:"):
        arns["cluster", "secretsKey"] = cluster.secrets_key
    for path, arn in arns.items():
        _, of, service, where, *_ = arn.split(":")
        if of != partition:
            yield Complaint(path, foreign(arn, partition, region))
        elif service == "kms" and where != region:
            yield Complaint(path, f"{shown(arn)} is a key of {where}; expected one of {region}")


def _deployer_of_the_account(account: AccountSettings) -> Iterator[Complaint]:
    if account.deployer.split(":")[4] != account.id:
        yield Complaint(("account", "deployer"), f"{shown(account.deployer)} is not of account.id {account.id}")


def _bucket_of_the_account(place: Place, model_bucket: ModelBucketSettings) -> Iterator[Complaint]:
    for rule in BUCKET_RULES:
        for path, problem in readable(rule(model_bucket, place)):
            yield Complaint(("modelBucket", *path), problem)


def _bucket_policy(
    place: Place, name: str, account: AccountSettings, model_bucket: ModelBucketSettings
) -> Iterator[Complaint]:
    owner = Owner(place=place, cluster=name, deployer=account.deployer)
    for path, problem in policy_problems(model_bucket, owner):
        yield Complaint(("modelBucket", *path), problem)


def _models_in_the_bucket(
    model_bucket: ModelBucketSettings, servers: Mapping[str, ServerSettings]
) -> Iterator[Complaint]:
    def one(name: str, server: ServerSettings) -> Iterator[Complaint]:
        if server.model.uri.bucket != model_bucket.name:
            path = ("servers", name, "model", "uri")
            yield Complaint(path, f"{shown(server.model.uri.bucket)} is not modelBucket.name {model_bucket.name}")

    for name, server in servers.items():
        yield from readable(one(name, server))


def _servers_by_themselves(servers: Mapping[str, ServerSettings]) -> Iterator[Complaint]:
    for name, server in servers.items():
        if FORBIDDEN_SERVICE_NAMES.match(name):
            yield Complaint(("servers", name), "a Service called so sets VLLM_* variables in pods and kills vLLM there")
        for rule in SERVER_RULES:
            for path, problem in readable(rule(server)):
                yield Complaint(("servers", name, *path), problem)


def _servers_beside_pause_pods(
    gpu_pools: Mapping[str, GpuPool], servers: Mapping[str, ServerSettings]
) -> Iterator[Complaint]:
    """Both are Deployments of one namespace, and the provider takes over what exists."""
    for pool in gpu_pools:
        if (name := pause_deployment(pool)) in servers:
            yield Complaint(
                ("servers", name), f"is the name of the pause pods of gpuPools.{pool}; expected another one"
            )


def _servers_on_their_pools(
    region: str, pool_names: list[str], gpu_pools: Mapping[str, GpuPool], servers: Mapping[str, ServerSettings]
) -> Iterator[Complaint]:
    def one(name: str, server: ServerSettings) -> Iterator[Complaint]:
        if server.pool not in pool_names:
            yield Complaint(("servers", name, "pool"), f"{shown(server.pool)}; {nearest(server.pool, pool_names)}")
        elif server.pool in gpu_pools:
            for rule in PLACEMENT_RULES:
                for path, problem in readable(rule(server, gpu_pools[server.pool], region)):
                    yield Complaint(("servers", name, *path), problem)

    for name, server in servers.items():
        yield from readable(one(name, server))


def _pools_large_enough(gpu_pools: Mapping[str, GpuPool], servers: Mapping[str, ServerSettings]) -> Iterator[Complaint]:
    for name, pool in gpu_pools.items():
        for path, problem in readable(demand_problems(name, pool, pool_demand(name, servers))):
            yield Complaint(("gpuPools", name, *path), problem)


def _nodes_stay_for_a_return(
    region: str, gpu_pools: Mapping[str, GpuPool], servers: Mapping[str, ServerSettings]
) -> Iterator[Complaint]:
    """A node that goes sooner costs more starts than it saves; the time limit of a start has nothing to do with it."""

    def one(name: str, pool: GpuPool) -> Iterator[Complaint]:
        seconds, whose = slowest_return(name, pool, servers, region)
        least = math.ceil(seconds / 60)
        if minutes(pool.consolidate_after) < least:
            yield Complaint(
                ("gpuPools", name, "consolidateAfter"),
                f"{shown(pool.consolidate_after)}; a return costs {seconds:.0f} s ({whose}); expected never, or"
                f" {least}m and more",
            )

    for name, pool in gpu_pools.items():
        yield from readable(one(name, pool))


def _addresses_for_nodes(
    network: NetworkSettings, cluster: ClusterSettings, gpu_pools: Mapping[str, GpuPool]
) -> Iterator[Complaint]:
    private = [pair.private.num_addresses for pair in subnets(network.cidr, network.zones).values()]
    yield from address_problems(gpu_pools, cluster.system_nodes.count, private, str(network.cidr))


def _whence(name: str, pool: GpuPool, servers: Mapping[str, ServerSettings]) -> str:
    """Return who asked for what the pool does not have by itself."""
    whose = {
        f"servers.{key}": asked
        for key, server in servers.items()
        if server.pool == name and (asked := {*asked_of_nodes(server.chosen)} - {*pool.techniques})
    }
    return "".join(f" ({', '.join(sorted(asked))} asked for by {key})" for key, asked in whose.items())


def _boots(
    place: Place,
    image_cache: ImageCacheSettings,
    gpu_pools: Mapping[str, GpuPool],
    servers: Mapping[str, ServerSettings],
) -> Iterator[Complaint]:
    facts = image_cache_facts(image_cache, place)
    for server, problem in readable(node_technique_problems(gpu_pools, servers)):
        yield Complaint(("servers", server, "techniques"), problem)
    for name, own in gpu_pools.items():
        pool = booting(name, own, servers)
        boot = pool.boot(node_images(engine_images(name, servers), facts))
        for problem in boot_problems(boot, pool.os_image, pool.types):
            yield Complaint(("gpuPools", name, "techniques"), f"{problem}{_whence(name, own, servers)}")


def _karpenter_of_the_cluster(karpenter: KarpenterSettings, cluster: ClusterSettings) -> Iterator[Complaint]:
    for problem in kubernetes_problems(karpenter, cluster.version):
        yield Complaint(("karpenter", "version"), problem)


CHECKS = (
    _zones_in_the_region,
    _cluster_zones,
    _cache_in_the_region,
    _engine_images,
    _services_beside_the_vpc,
    _access_entries,
    _arns_in_the_partition,
    _deployer_of_the_account,
    _bucket_of_the_account,
    _bucket_policy,
    _models_in_the_bucket,
    _servers_by_themselves,
    _servers_beside_pause_pods,
    _servers_on_their_pools,
    _pools_large_enough,
    _nodes_stay_for_a_return,
    _addresses_for_nodes,
    _boots,
    _karpenter_of_the_cluster,
)
"""What spans sections. A check runs on what is right of the sections that it names as parameters."""
