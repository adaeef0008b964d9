"""The stack file as one typed tree, composed of the sections that live beside each component.

`parse` reports every mistake at once: first what is wrong inside a section, then what does not fit between the keys
that are right.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated

import pulumi
from pydantic import AfterValidator, Field, StringConstraints

from infra.cluster.cluster import ClusterSettings, PrincipalArn
from infra.gpu_pools import GpuPool
from infra.image_cache.credentials import credentials
from infra.image_cache.rewrite import image_cache_facts, image_problems
from infra.image_cache.settings import ImageCacheSettings, region_problems
from infra.model_bucket import ModelBucketSettings
from infra.naming import CLUSTER_NAME, FORBIDDEN_SERVICE_NAMES, partition_of
from infra.network import NetworkSettings
from infra.section import (
    DNS_LABEL,
    NAME_RULE,
    Complaint,
    KeyName,
    Section,
    nearest,
    readable,
    right_part,
    shown,
    validated,
)
from serving.fit import PLACEMENT_RULES, SERVER_RULES, pool_demand
from serving.server import ServerSettings

PROJECT, KEY = "vllm-eks", "settings"
RESERVED_TAGS = re.compile(r"^(aws:|eks:|kubernetes\.io/|k8s\.io/|karpenter\.(sh|k8s\.aws)/|Name$)", re.IGNORECASE)
MOST_TAGS = 40
"""AWS allows 50 on a resource; names, roles and controllers need some."""

DIRECTIONS = "north|south|east|west|central|northeast|northwest|southeast|southwest"
REGION = re.compile(rf"(af|ap|ca|cn|eu|il|me|mx|sa|us|us-gov)-({DIRECTIONS})-[0-9]")
"""The partitions that `infra.naming.partition_of` knows: not the isolated ones, not the European sovereign cloud."""


def _tags(value: Mapping[str, str]) -> Mapping[str, str]:
    # a default tag `kubernetes.io/cluster/<name>` would make every security group claim the cluster
    if reserved := [key for key in value if RESERVED_TAGS.match(key)]:
        raise ValueError(f"{', '.join(reserved)} is reserved; expected keys of your own")
    if len({key.casefold() for key in value}) < len(value):
        raise ValueError("two keys differ only in case, which IAM refuses")
    if len(value) > MOST_TAGS:
        raise ValueError(f"{len(value)} tags > {MOST_TAGS}")
    return value


def _namespace(value: str) -> str:
    if value == "default" or value.startswith("kube-"):
        raise ValueError("belongs to Kubernetes, and a destroy would delete it; expected a name of your own")
    return value


TagKey = Annotated[str, StringConstraints(pattern=r"^[\w .:/=+@-]+$", max_length=128)]
TagValue = Annotated[str, StringConstraints(pattern=r"^[\w .:/=+@-]*$", max_length=256)]


class AccountSettings(Section):
    """`account`."""

    id: Annotated[str, StringConstraints(pattern=r"^[0-9]{12}$")] = Field(
        description="the AWS account's 12 digits in quotes"
    )
    deployer: PrincipalArn = Field(
        # EKS makes the creator admin and never moves that: later deployers need an access entry
        description="the ARN of the IAM role or user that runs the first `pulumi up`"
    )


class Settings(Section):
    """`vllm-eks:settings`."""

    name: Annotated[str, StringConstraints(pattern=CLUSTER_NAME)] = Field(
        description="the EKS cluster's name: 1 to 100 letters, digits, - and _, starting with a letter or digit"
    )
    account: AccountSettings = Field(description="which account")
    tags: Annotated[Mapping[TagKey, TagValue], AfterValidator(_tags)] = Field(
        description="a mapping of tag keys to text (numbers in quotes)"
    )
    network: NetworkSettings = Field(description="the VPC")
    cluster: ClusterSettings = Field(description="the EKS cluster")
    image_cache: ImageCacheSettings = Field(description="images through ECR")
    model_bucket: ModelBucketSettings = Field(description="where the weights lie")
    namespace: Annotated[str, StringConstraints(pattern=DNS_LABEL, max_length=63), AfterValidator(_namespace)] = Field(
        description="a lower-case DNS label of at most 63 characters: the Kubernetes namespace of the servers"
    )
    gpu_pools: Mapping[KeyName, GpuPool] = Field(description=f"a mapping of GPU pools by name, {NAME_RULE}")
    servers: Mapping[KeyName, ServerSettings] = Field(description=f"a mapping of vLLM servers by name, {NAME_RULE}")


def load() -> tuple[str, Settings, Mapping[str, pulumi.Output[str]]]:
    """Return the region, the settings and the registries' credentials of the selected stack.

    Raises:
        pulumi.RunError: one line per mistake.
    """
    config = pulumi.Config(PROJECT)
    text = config.get(KEY)
    name = config.full_key(KEY)
    if text is None:
        raise pulumi.RunError(f"{name}: missing; copy it from Pulumi.dev.yaml into this stack's file")
    if pulumi.runtime.is_config_secret(name):
        raise pulumi.RunError(
            f"{name}: holds a secret; settings are written to plain outputs and manifests, so secrets have config keys"
            " of their own"
        )
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        if text.lstrip().startswith("{"):
            raise pulumi.RunError(f"{name}: not a mapping: {error}") from None
        raw = text
    region = pulumi.Config("aws").get("region") or ""
    stack = parse(raw, region)
    secrets, missing = credentials(stack.image_cache, config)
    _refuse(missing)
    return region, stack, secrets


def parse(raw: object, region: str) -> Settings:
    """Return the settings of a tree as YAML gives it.

    Raises:
        pulumi.RunError: one line per mistake: the path, the value, what is allowed.
    """
    whole, complaints = validated(Settings, raw, f"{PROJECT}:{KEY}")
    right = whole or right_part(Settings, raw, {complaint.path for complaint in complaints})
    pools = raw.get("gpuPools") if isinstance(raw, Mapping) else None
    known = {"pool_names": list(pools) if isinstance(pools, Mapping) else [], **vars(right)}
    if REGION.fullmatch(region):
        known["region"] = region
    else:
        complaints.append(Complaint(("aws:region",), f"{shown(region)}; expected a region, for example us-west-2"))
    for check in CHECKS:
        wanted = inspect.signature(check).parameters
        if known.keys() >= wanted.keys():
            complaints.extend(readable(check(**{name: known[name] for name in wanted})))
    _refuse(complaints)
    assert whole is not None
    return whole


def _refuse(complaints):
    if complaints:
        count = "1 mistake" if len(complaints) == 1 else f"{len(complaints)} mistakes"
        raise pulumi.RunError("\n".join([f"the stack file has {count}:", *(f"  {line}" for line in complaints)]))


def _zones_in_the_region(region: str, network: NetworkSettings) -> Iterator[Complaint]:
    for zone in network.zones:
        if zone[:-1] != region:
            yield Complaint(("network", "zones"), f"{shown(zone)} is not a zone of {region}; expected {region}a, ...")


def _cache_in_the_region(region: str, image_cache: ImageCacheSettings) -> Iterator[Complaint]:
    for path, problem in region_problems(image_cache, region):
        yield Complaint(("imageCache", *path), problem)


def _engine_images(region: str, account: AccountSettings, image_cache: ImageCacheSettings, servers: Mapping[str, ServerSettings]) -> Iterator[Complaint]:
    facts = image_cache_facts(image_cache, account=account.id, region=region, partition=partition_of(region))
    for name, server in servers.items():
        for problem in image_problems(server.engine.image_reference, facts):
            yield Complaint(("servers", name, "engine", "image"), f"{shown(server.engine.image_reference)}; {problem}")


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
            yield Complaint(path, f"{shown(arn)} is not in the partition of {region}; expected arn:{partition}:...")
        elif service == "kms" and where != region:
            yield Complaint(path, f"{shown(arn)} is a key of {where}; expected one of {region}")


def _deployer_of_the_account(account: AccountSettings) -> Iterator[Complaint]:
    if account.deployer.split(":")[4] != account.id:
        yield Complaint(("account", "deployer"), f"{shown(account.deployer)} is not of account.id {account.id}")


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
        demand = pool_demand(name, servers)
        if sum(demand.values()) > pool.max_gpus:
            total = " + ".join(f"{server} {gpus}" for server, gpus in demand.items())
            yield Complaint(("gpuPools", name, "maxGpus"), f"{total} = {sum(demand.values())} GPUs > {pool.max_gpus}")


CHECKS = (
    _zones_in_the_region,
    _cluster_zones,
    _cache_in_the_region,
    _engine_images,
    _services_beside_the_vpc,
    _access_entries,
    _arns_in_the_partition,
    _deployer_of_the_account,
    _models_in_the_bucket,
    _servers_by_themselves,
    _servers_on_their_pools,
    _pools_large_enough,
)
"""What spans sections. A check runs on what is right of the sections that it names as parameters."""
