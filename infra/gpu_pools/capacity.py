"""Where a pool's instances come from: one of four shapes."""

from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, ModelWrapValidatorHandler, PrivateAttr, StringConstraints, model_validator

from infra.section import EachOnce, Section, Whole

Market = Literal["spot-first", "on-demand"]

MARKETS: dict[Market, tuple[str, ...]] = {"spot-first": ("on-demand", "spot"), "on-demand": ("on-demand",)}
"""Values of `karpenter.sh/capacity-type`. One pool with both is Spot-first: Karpenter takes Spot while an offering is
available (karpenter-provider-aws v1.14.1, pkg/providers/instance/instance.go, getCapacityType)."""

ReservationId = Annotated[str, StringConstraints(pattern=r"^cr-[0-9a-f]{8,17}$")]


class Reserved(Section):
    """`gpuPools.<name>.capacity.reserved`: capacity reservations or capacity blocks, and nothing beside them."""

    ids: Annotated[tuple[ReservationId, ...], Field(min_length=1, max_length=30), EachOnce] = Field(
        description="a list of 1 to 30 capacity reservations, for example [cr-0123456789abcdef0]"
    )


class Static(Section):
    """`gpuPools.<name>.capacity.static`: a fixed number of nodes, whether pods need them or not."""

    nodes: Annotated[Whole, Field(ge=1, le=1000)] = Field(description="a whole number of nodes, 1 to 1000")
    market: Market = Field(description="spot-first or on-demand")


class Capacity(Section):
    """`gpuPools.<name>.capacity`: one of the words, or one of the keys."""

    words: ClassVar[tuple[str, ...]] = tuple(MARKETS)

    reserved: Reserved | None = Field(default=None, description="capacity reservations: {ids: [cr-...]}")
    static: Static | None = Field(default=None, description="a fixed number of nodes: {nodes: 1, market: on-demand}")
    _word: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _one_shape(cls, value: Any, handler: ModelWrapValidatorHandler["Capacity"]) -> "Capacity":
        if isinstance(value, str) and value in cls.words:
            made = cls.model_construct()
            made._word = value
            return made
        if not isinstance(value, dict) or len(value) != 1 or None in value.values():
            raise ValueError(f"expected {', '.join(cls.words)}, {{reserved: {{...}}}} or {{static: {{...}}}}")
        return handler(value)

    @property
    def shape(self) -> str:
        """Its name: spot-first, on-demand, reserved or static."""
        return self._word or ("static" if self.static else "reserved")

    @property
    def markets(self) -> tuple[str, ...]:
        """What `karpenter.sh/capacity-type` may be on its nodes."""
        if self.reserved:
            return ("reserved",)
        return MARKETS[self.static.market if self.static else cast("Market", self._word)]
