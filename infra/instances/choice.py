"""Which instance types a pool takes: a list of names, or a rule over the catalogue."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PlainValidator

from infra.instances import InstanceType, catalogue, types_with
from infra.section import Section, Whole, nearest, validated


class InstanceRule(Section):
    """`gpuPools.<name>.instanceTypes` as a rule. A newer catalogue may make another list of it."""

    gpus: Annotated[Whole, Field(ge=1, le=16)] = Field(description="a whole number of GPUs of one instance, 1 to 16")
    min_vcpus: Annotated[Whole, Field(ge=1)] = Field(default=1, description="a whole number of vCPUs")
    max_vcpus: Annotated[Whole, Field(ge=1)] = Field(default=1000, description="a whole number of vCPUs")
    min_memory_gib: Annotated[Whole, Field(ge=1)] = Field(default=1, description="a whole number of GiB of host memory")
    min_network_gbps: Annotated[Whole, Field(ge=1)] = Field(
        default=1, description="a whole number of Gbit/s, sustained: what the weights arrive with"
    )

    def admits(self, kind: InstanceType) -> bool:
        """Whether the rule holds for a type, whatever its GPU is."""
        return (
            kind.gpus == self.gpus
            and self.min_vcpus <= kind.vcpus <= self.max_vcpus
            and kind.memory >= self.min_memory_gib * 1024
            and kind.network >= self.min_network_gbps * 1000
        )


def _choice(value: object) -> tuple[str, ...] | InstanceRule:
    if isinstance(value, Mapping):
        rule, complaints = validated(InstanceRule, value, "rule")
        if rule is None:
            raise ValueError("; ".join(str(complaint) for complaint in complaints))
        return rule
    if not isinstance(value, list | tuple) or not value or not all(isinstance(name, str) for name in value):
        raise ValueError
    for name in value:
        if value.count(name) > 1:
            raise ValueError(f"{name} stands there twice")
    return tuple(value)


Choice = Annotated[tuple[str, ...] | InstanceRule, PlainValidator(_choice)]


def resolved(choice: tuple[str, ...] | InstanceRule, product: str) -> tuple[str, ...]:
    """Return the names of the types that are meant, of one GPU product.

    Raises:
        ValueError: the second half of a settings message: a name that does not carry the product, a rule that none
            fits.
    """
    usable = types_with(product)
    if isinstance(choice, InstanceRule):
        if names := tuple(name for name in usable if choice.admits(catalogue()[name])):
            return names
        there = ", ".join(_described(name) for name in usable)
        raise ValueError(f"no type with the GPU {product} fits; there are {there}")
    _refuse_strangers(choice, usable, f"whole {product} GPU")
    return choice


def known(choice: tuple[str, ...] | InstanceRule) -> None:
    """Check a choice whose product is not known (it is refused already).

    Raises:
        ValueError: names without a row in the catalogue. Other checks read their rows.
    """
    if not isinstance(choice, InstanceRule):
        _refuse_strangers(choice, tuple(catalogue()), "row in the catalogue")


def _refuse_strangers(names: tuple[str, ...], usable: tuple[str, ...], lacking: str) -> None:
    if wrong := [f"{name} has no {lacking}, {nearest(name, usable)}" for name in names if name not in usable]:
        raise ValueError("; ".join(wrong))


def _described(name: str) -> str:
    kind = catalogue()[name]
    return (
        f"{name} ({kind.gpus} GPU{'s' if kind.gpus > 1 else ''}, {kind.vcpus} vCPUs, {kind.memory // 1024} GiB,"
        f" {kind.network / 1000:g} Gbit/s)"
    )
