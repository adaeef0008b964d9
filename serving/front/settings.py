"""What a stack file says of the front proxy and of sleeping: both sections may be left out."""

from typing import Annotated, Literal

from pydantic import Field

from infra.section import Section, Whole

Wake = Literal["on-request", "external"]


class FrontSettings(Section):
    """`servers.<name>.front`, for the technique front-proxy."""

    max_body_mib: Annotated[Whole, Field(ge=1, le=1024)] = Field(
        default=64, description="a whole number of MiB, 1 to 1024: the largest request body (left out: 64)"
    )
    body_seconds: Annotated[Whole, Field(ge=1, le=600)] = Field(
        default=60, description="a whole number of seconds, 1 to 600, between two pieces of a body (left out: 60)"
    )
    read_seconds: Annotated[Whole, Field(ge=10, le=7200)] = Field(
        default=600,
        description="a whole number of seconds, 10 to 7200, that the engine may be silent in an answer: without"
        " streaming, all of it (left out: 600)",
    )
    send_seconds: Annotated[Whole, Field(ge=1, le=600)] = Field(
        default=60, description="a whole number of seconds, 1 to 600, that a client may take nothing (left out: 60)"
    )
    connections: Annotated[Whole, Field(ge=256, le=65536)] = Field(
        default=4096,
        description="a whole number, 256 to 65536: connections of each of the two workers, of which a request takes up"
        " to five (left out: 4096)",
    )


class SleepSettings(Section):
    """`servers.<name>.sleep`, for the technique sleep-mode. The level is none of it: only level 1 works."""

    wake: Wake | None = Field(
        default=None,
        description="on-request (a request wakes it) or external (an annotation of its pod does); left out: as the"
        " preset has it",
    )
    idle_seconds: Annotated[Whole, Field(ge=10, le=86400)] = Field(
        default=900,
        description="a whole number of seconds, 10 to 86400, without a request before it falls asleep, with on-request"
        " (left out: 900)",
    )
    hold_seconds: Annotated[Whole, Field(ge=1, le=600)] = Field(
        default=30, description="a whole number of seconds, 1 to 600, that a request waits for a wake (left out: 30)"
    )
    drain_seconds: Annotated[Whole, Field(ge=1, le=3600)] = Field(
        default=120,
        description="a whole number of seconds, 1 to 3600, that running requests may take before it stays awake after"
        " all (left out: 120)",
    )
