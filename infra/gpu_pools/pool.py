"""`gpuPools.<name>`: what a pool is."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from infra.gpu_pools.capacity import Capacity, Static
from infra.gpu_pools.updates import Duration, UpdateWindow, minutes
from infra.instances import ARCHITECTURES, InstanceType, Price, catalogue, on_demand_price
from infra.instances.choice import Choice, known, resolved
from infra.node_boot import Ami, NodeBoot, ami_alias, boot_problems
from infra.node_boot.ami import DESCRIPTION as AMI_FORMS
from infra.section import Decimal, EachOnce, Flag, Section, Whole, nearest

NodeTechnique = Literal["image-prepull", "parallel-pull"]
"""Techniques that a node boots with, so that they belong to its pool."""

SLOWEST_RETURN = 428
"""Seconds that the return of a pod costs which is not ours, so that nothing is known of it: the slowest cold start that
was measured (article 000)."""

_TYPES = (
    "a list of EC2 instance types that carry this product, or a rule such as {gpus: 1, minMemoryGib: 64} with the keys"
    " gpus, minVcpus, maxVcpus, minMemoryGib, minNetworkGbps"
)


class GpuPool(Section):
    """`gpuPools.<name>`: nodes with one GPU product, and when they come and go."""

    product: str = Field(description=f"one GPU product: {', '.join(sorted(ARCHITECTURES))}")
    instance_types: Choice = Field(description=_TYPES)
    capacity: Capacity = Field(description="spot-first, on-demand, {reserved: ...} or {static: ...}")
    max_gpus: Annotated[Whole, Field(ge=1, le=1000)] = Field(description="a whole number of GPUs, 1 to 1000")
    allow_latest_ami: Flag = Field(default=False, description="true allows an ami that ends in @latest")
    ami: str = Field(description=f"a pinned AMI alias, {AMI_FORMS}: its family is the nodes' OS")
    root_volume_gib: Annotated[Whole, Field(ge=30, le=1000)] = Field(
        description="a whole number of GiB, 30 to 1000 (images and caches lie on the local NVMe)"
    )
    techniques: Annotated[tuple[NodeTechnique, ...], EachOnce] = Field(
        description="a list out of image-prepull, parallel-pull (may be empty)"
    )
    warm_nodes: Annotated[Whole, Field(ge=0, le=100)] = Field(
        description="a whole number of nodes, 0 to 100, that stay ready without work"
    )
    consolidate_after: Duration = Field(description="how long an empty node stays: never, or a time such as 10m or 2h")
    update_window: UpdateWindow = Field(
        description="always, never or {schedule: cron in UTC, duration: ...}: when changed nodes are replaced"
    )
    expire_after: Duration = Field(
        description="never, or the age at which a node is replaced whatever runs on it, 24h and more"
    )
    prices: Mapping[str, Annotated[Decimal, Field(ge=0.01, le=1000)]] = Field(
        default_factory=dict,
        description="USD an hour, 0.01 to 1000, by type, on-demand, in this region (where the catalogue has none)",
    )

    @field_validator("product")
    @classmethod
    def _product(cls, value: str) -> str:
        if value not in ARCHITECTURES:
            raise ValueError(f"not a GPU product that a pool may have; {nearest(value, list(ARCHITECTURES))}")
        return value

    @field_validator("instance_types")
    @classmethod
    def _types(cls, value: Choice, info: ValidationInfo) -> Choice:
        if product := info.data.get("product"):
            resolved(value, product)
        else:
            known(value)
        return value

    @field_validator("capacity")
    @classmethod
    def _countable(cls, value: Capacity, info: ValidationInfo) -> Capacity:
        sizes = sorted({kind.gpus for kind in _kinds(info)})
        if value.static and len(sizes) > 1:
            raise ValueError(f"static nodes must have the same number of GPUs, and these types have {sizes}")
        return value

    @field_validator("max_gpus")
    @classmethod
    def _room(cls, value: int, info: ValidationInfo) -> int:
        for kind in _kinds(info):
            if kind.gpus > value:
                raise ValueError(f"one {kind.name} has {kind.gpus} GPUs, so the pool could never start it")
            static = _static(info)
            if static and static.nodes * kind.gpus > value:
                gpus = f"{kind.gpus} GPU{'s' if kind.gpus > 1 else ''}"
                raise ValueError(f"less than static.nodes {static.nodes} x {gpus} = {static.nodes * kind.gpus} GPUs")
        return value

    @field_validator("ami")
    @classmethod
    def _alias(cls, value: str, info: ValidationInfo) -> str:
        return str(ami_alias(value, allow_latest=info.data.get("allow_latest_ami", True)))

    @field_validator("techniques")
    @classmethod
    def _bootable(cls, value: tuple[NodeTechnique, ...], info: ValidationInfo) -> tuple[NodeTechnique, ...]:
        if "ami" in info.data:
            image = ami_alias(info.data["ami"], allow_latest=True)
            boot = node_boot(value, image, ["an-image"])
            if problems := list(boot_problems(boot, image, _kinds(info))):
                raise ValueError("; ".join(problems))
        return value

    @field_validator("warm_nodes")
    @classmethod
    def _not_beside_static(cls, value: int, info: ValidationInfo) -> int:
        if value and _static(info):
            raise ValueError("static nodes are always there, and pods make no more of them; expected 0")
        return value

    @field_validator("consolidate_after")
    @classmethod
    def _never_when_static(cls, value: str, info: ValidationInfo) -> str:
        if value != "never" and _static(info):
            raise ValueError("Karpenter never consolidates static nodes; expected never")
        return value

    @field_validator("update_window")
    @classmethod
    def _not_always_with_images(cls, value: UpdateWindow, info: ValidationInfo) -> UpdateWindow:
        if problem := window_problem(value, info.data.get("techniques", ())):
            raise ValueError(problem)
        static = _static(info)
        kinds = _kinds(info)
        if static and kinds and "max_gpus" in info.data and not value.never:
            # Karpenter makes the successor of a static node first, within the limit, else it does nothing, in silence
            # (karpenter v1.14.1, staticdrift.go)
            each, room = kinds[0].gpus, info.data["max_gpus"]
            if (needed := (static.nodes + 1) * each) > room:
                raise ValueError(
                    f"a static node is replaced by one beside it: ({static.nodes} + 1) x {each} = {needed} GPUs >"
                    f" maxGpus {room}; expected never, or a larger maxGpus"
                )
        return value

    @field_validator("expire_after")
    @classmethod
    def _a_day(cls, value: str) -> str:
        if minutes(value) < 24 * 60:
            raise ValueError("expiry heeds neither budgets nor pods; expected never, or 24h and more")
        return value

    @field_validator("prices")
    @classmethod
    def _of_its_types(cls, value: Mapping[str, float], info: ValidationInfo) -> Mapping[str, float]:
        names = [kind.name for kind in _kinds(info)]
        for name in value:
            if names and name not in names:
                raise ValueError(f"{name} is not a type of this pool, {nearest(name, names)}")
        return value

    @property
    def types(self) -> tuple[InstanceType, ...]:
        """The catalogue's rows of this pool's instance types."""
        return tuple(catalogue()[name] for name in resolved(self.instance_types, self.product))

    @property
    def os_image(self) -> Ami:
        """Family and release of its nodes' image."""
        return ami_alias(self.ami, allow_latest=True)

    def boot(self, images: Sequence[str]) -> NodeBoot:
        """Return what `infra.node_boot.user_data` makes userData of.

        Args:
            images: what the pool's pods run, as they spell it, in the order to pull.
        """
        return node_boot(self.techniques, self.os_image, images)

    @property
    def most_nodes(self) -> int:
        """How many nodes its limit allows, when all are of the smallest type."""
        return self.max_gpus // min(kind.gpus for kind in self.types)

    def price(self, name: str, region: str) -> Price | None:
        """Return what an hour of one of its types costs on-demand, or None where nobody says."""
        if name in self.prices:
            return Price(self.prices[name], "stack file")
        return on_demand_price(name, region)

    def standing_usd(self, region: str) -> str:
        """Return what its warm or static nodes cost an hour on-demand, in USD.

        `0`; one figure; two, of the cheapest and the dearest type, because Karpenter chooses; or `unknown`: no price,
        or reservations, which cost whether nodes use them or not. On Spot it is less.
        """
        if self.capacity.reserved:
            return "unknown"
        nodes = self.capacity.static.nodes if self.capacity.static else self.warm_nodes
        prices = [self.price(kind.name, region) for kind in self.types]
        known = sorted({round(nodes * price.usd, 2) for price in prices if price})
        if not nodes:
            return "0"
        if None in prices:
            return "unknown"
        return "-".join(f"{usd:.2f}".rstrip("0").rstrip(".") for usd in dict.fromkeys((known[0], known[-1])))


def window_problem(window: UpdateWindow, techniques: Sequence[NodeTechnique]) -> str | None:
    """Return why nodes with these techniques cannot be replaced whenever they change; None where they can."""
    if window.always and "image-prepull" in techniques:
        return "with image-prepull each new image replaces all nodes; expected never or a window"
    return None


def node_boot(techniques: Sequence[NodeTechnique], image: Ami, images: Sequence[str]) -> NodeBoot:
    """Return the boot that techniques ask for. Images count only where one of them pulls."""
    return NodeBoot(
        os=image.family,
        parallel_pull="parallel-pull" in techniques,
        prepull=tuple(images) if "image-prepull" in techniques else (),
    )


def _kinds(info: ValidationInfo) -> list[InstanceType]:
    """The types of the pool that is being read; none when they are refused already."""
    if "product" not in info.data or "instance_types" not in info.data:
        return []
    return [catalogue()[name] for name in resolved(info.data["instance_types"], info.data["product"])]


def _static(info: ValidationInfo) -> Static | None:
    """The fixed number of nodes of the pool that is being read; None when it has none, or is refused already."""
    return info.data["capacity"].static if "capacity" in info.data else None
