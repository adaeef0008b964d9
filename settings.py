"""The stack file as one typed tree, composed of the sections that live beside each component.

`parse` reports every mistake at once: first what is wrong inside a section, then what does not fit between the keys
that are right.
"""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import pulumi
from pydantic import AfterValidator, Field, StringConstraints

from checks import CHECKS
from infra.cluster.cluster import ClusterSettings
from infra.gpu_pools import GpuPool
from infra.image_cache.credentials import credentials
from infra.image_cache.settings import ImageCacheSettings
from infra.karpenter.controller import KarpenterSettings
from infra.model_bucket import ModelBucketSettings
from infra.naming import CLUSTER_NAME, Place, partition_of
from infra.network import NetworkSettings
from infra.providers import AccountSettings
from infra.section import (
    DNS_LABEL,
    NAME_RULE,
    Complaint,
    KeyName,
    Section,
    UnreadableError,
    readable,
    right_part,
    shown,
    validated,
)
from serving.front.api_tokens import api_tokens
from serving.jobs.onboard import hugging_face_token
from serving.server import ServerSettings
from serving.server.demand import booting

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
    karpenter: KarpenterSettings = Field(description="what starts and ends GPU nodes")
    gpu_pools: Mapping[KeyName, GpuPool] = Field(description=f"a mapping of GPU pools by name, {NAME_RULE}")
    servers: Mapping[KeyName, ServerSettings] = Field(description=f"a mapping of vLLM servers by name, {NAME_RULE}")

    @property
    def pools(self) -> Mapping[str, GpuPool]:
        """The pools as they are made: with what their servers ask of their nodes."""
        return {name: booting(name, pool, self.servers) for name, pool in self.gpu_pools.items()}


@dataclass(frozen=True)
class Secrets:
    """What a stack keeps in encrypted configuration keys of their own."""

    registries: Mapping[str, pulumi.Output[str]]
    """Credentials of upstream registries, by upstream."""
    hugging_face: pulumi.Output[str] | None
    """Token that opens gated models."""
    api_tokens: pulumi.Output[str] | None
    """The file of tokens that the servers' clients show."""


def load() -> tuple[str, Settings, Secrets]:
    """Return the region, the settings and the secrets of the selected stack.

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
    whole, right, complaints = _read(raw, region)
    registries: Mapping[str, pulumi.Output[str]] = {}
    with suppress(UnreadableError):
        registries, missing = credentials(right.image_cache, config)
        complaints += missing
    hugging_face, wrong = hugging_face_token(config)
    tokens, wrong_too = api_tokens(config)
    return region, _right(whole, [*complaints, *wrong, *wrong_too]), Secrets(registries, hugging_face, tokens)


def parse(raw: object, region: str) -> Settings:
    """Return the settings of a tree as YAML gives it.

    Raises:
        pulumi.RunError: one line per mistake: the path, the value, what is allowed.
    """
    whole, _, complaints = _read(raw, region)
    return _right(whole, complaints)


def _read(raw: object, region: str) -> tuple[Settings | None, Settings, list[Complaint]]:
    """Return the settings, or as much of them as is right, and everything that is wrong."""
    whole, complaints = validated(Settings, raw, f"{PROJECT}:{KEY}")
    right = whole or right_part(Settings, raw, {complaint.path for complaint in complaints})
    pools = raw.get("gpuPools") if isinstance(raw, Mapping) else None
    known = {"pool_names": list(pools) if isinstance(pools, Mapping) else [], **vars(right)}
    if REGION.fullmatch(region):
        known["region"] = region
        with suppress(UnreadableError, KeyError):
            known["place"] = Place(partition_of(region), region, known["account"].id)
    else:
        complaints.append(Complaint(("aws:region",), f"{shown(region)}; expected a region, for example us-west-2"))
    for check in CHECKS:
        wanted = inspect.signature(check).parameters
        if known.keys() >= wanted.keys():
            complaints.extend(readable(check(**{name: known[name] for name in wanted})))
    return whole, right, complaints


def _right(whole: Settings | None, complaints: Sequence[Complaint]) -> Settings:
    if whole is None or complaints:
        count = "1 mistake" if len(complaints) == 1 else f"{len(complaints)} mistakes"
        raise pulumi.RunError("\n".join([f"the stack file has {count}:", *(f"  {line}" for line in complaints)]))
    return whole
