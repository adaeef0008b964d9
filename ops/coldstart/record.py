"""One measured start, as a line of JSON: what was started, what was seen, and which seconds went where.

Files of such lines are what `report`, `refit` and `idle plan` read.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ops.failures import UnclearError
from ops.terminal import echo
from serving.budget.timeline import Phase, Start

CLOSE = 0.002
"""Seconds that sums may be apart: they are written in milliseconds."""

Seconds = Annotated[float, Field(ge=0, le=1e9)]
"""How long something took. Thirty years are no start, but a figure of another unit."""

Role = Literal["load", "hit", "none"]
"""`load`: the start filled a cache, so it is expected to gain nothing (article 000, 2.1). `hit`: it took everything
that is cached from caches. `none`: nothing of this server is cached."""

Compile = Literal["hit", "miss", "none", "unknown"]
"""What the engine's log says of torch.compile. `none`: it does not compile. `unknown`: the log does not tell."""

Pull = Literal["pulled", "already present", "unknown"]
"""Of the engine's image. No pull is `already present` only by kubelet's event, not by a short time."""


class _Written(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False
    )


class Span(_Written):
    """When a phase passed: seconds since the start began."""

    begin: Seconds
    end: Seconds

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.end - self.begin

    @model_validator(mode="after")
    def _forwards(self) -> Self:
        if not self.begin <= self.end:
            raise ValueError(f"{self.begin} to {self.end} s is no span of time")
        return self


class Subject(_Written):
    """What was started: all that its seconds hang on."""

    stack: str | None = None
    region: str | None = None
    server: str | None = None
    model: str | None = None
    """URI of the weights."""
    model_gib: float | None = None
    engine_version: str
    image: str | None = None
    instance_type: str | None = None
    capacity: Literal["spot", "on-demand", "reserved"] | None = None
    """What the node was bought as."""
    zone: str | None = None
    preset: str | None = None
    techniques: tuple[str, ...] = ()
    """All that act on it, its pool's too, in the order of the table of techniques."""
    fingerprint: str | None = None
    """Of its start-up cache."""
    tensor_parallel: Annotated[int, Field(ge=1)] = 1
    probe_seconds: Seconds | None = None
    """How often readiness is asked: what `ready` may be wrong by."""


class Record(_Written):
    """One start."""

    format: Literal["vllm-eks/coldstart/1"] = "vllm-eks/coldstart/1"
    """A reader refuses others: figures of another meaning would be compared."""
    began: AwareDatetime | None = None
    """Where the seconds are counted from: the pod's creation; of a restart the old container's end, of a wake the
    order; of a log its first line. None: a log without absolute times."""
    start: Start
    role: Role
    source: Literal["cluster", "logs"]
    subject: Subject
    phases: Mapping[Phase, Span]
    """In the order in which they passed, none over another. One that is not in it was not seen."""
    total: Seconds
    """Seconds until it served: until the first pass of readiness in a cluster, until the server listened in a log."""
    unattributed: Seconds
    """Seconds of `total` in no phase."""
    ready: Seconds | None = None
    """Seconds from the pod's creation to the first pass of readiness, at most one probe period too late."""
    first_token: Seconds | None = None
    """Seconds to the first token of a first request."""
    pull: Pull = "unknown"
    restore: str | None = None
    """The word of the restore's line: hit, base, present, miss ...; None: none was seen."""
    compile: Compile = "unknown"
    said: Mapping[str, Seconds] = Field(default_factory=dict)
    """Seconds that the engine's log says of itself: `weights`, `model loading`, `compile`, `graphs`, `engine init`."""
    restarts: Annotated[int, Field(ge=0)] = 0
    """Of the engine's container before the start that was measured."""
    notes: tuple[str, ...] = ()
    """What a reader must know about how it was measured."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        spans = list(self.phases.items())
        for (one, before), (other, after) in pairwise(spans):
            if after.begin < before.end - CLOSE:
                raise ValueError(f"{other} begins at {after.begin} s, before {one} ends at {before.end} s")
        if spans and spans[-1][1].end > self.total + CLOSE:
            raise ValueError(f"{spans[-1][0]} ends at {spans[-1][1].end} s, after the whole start: {self.total} s")
        known = sum(span.seconds for _, span in spans)
        if abs(known + self.unattributed - self.total) > CLOSE * (len(spans) + 1):
            raise ValueError(
                f"phases {known:.3f} s + unattributed {self.unattributed:.3f} s are not the total of {self.total:.3f} s"
            )
        return self

    def line(self) -> str:
        """Return it as a line of JSON, without its end."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


def read(title: str, lines: Iterable[str]) -> Iterator[Record]:
    """Yield the records of a file.

    Args:
        title: of the file, in messages.
        lines: its lines; empty ones are passed over.

    Raises:
        UnclearError: a line is no record of this format.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield Record.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(it) for it in first["loc"]) or "the line"
            raise UnclearError(f"{title}:{number}: not a measured start: {echo(where)}: {first['msg']}") from None
