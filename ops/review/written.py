"""The files of results: what one job of a workflow writes and another one reads."""

from typing import Annotated, Literal

from pydantic import AliasGenerator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

_Number = Annotated[float, Field(ge=-1e12, le=1e12)]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Code = Annotated[int, Field(ge=0, le=255)]


class _Written(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        # a tool may say more in its next version
        extra="ignore",
        alias_generator=AliasGenerator(alias=to_camel),
        populate_by_name=True,
        allow_inf_nan=False,
        strict=True,
    )


class Finding(_Written):
    """Of the policy pack (`rehearsal/plan/findings.py`)."""

    rule: str
    level: Literal["mandatory", "advisory", "unchecked"]
    urn: str | None = None
    says: str
    why: str = ""


class Interruption(_Written):
    """A time in which a server serves nothing; see `ops/impact/servers/verdict.py`."""

    when: Literal["rollout", "drift"]
    seconds: _Number | None = None


class Cache(_Written):
    """What becomes of a server's start-up cache."""

    cold: bool
    """The next start compiles."""
    moved: dict[str, object] = {}


class Pods(_Written):
    """Of a server."""

    restart: bool = False


class Starts(_Written):
    """Predicted, in seconds by kind of start."""

    seconds: dict[str, _Number] = {}


class Predicted(_Written):
    """Of both revisions."""

    before: Starts | None = None
    after: Starts | None = None


class Server(_Written):
    """Of the stack file."""

    state: Literal["new", "removed", "both"]
    cache: Cache | None = None
    pods: Pods | None = None
    interruptions: tuple[Interruption, ...] = ()
    weights_to_onboard: str | None = None
    no_room_to_build: str | None = None
    predicted: Predicted = Predicted()


class Drift(_Written):
    """Nodes of a pool that are replaced."""

    pool: str
    at_most: _Count
    gone: bool = False
    window: str = ""


class SystemNodes(_Written):
    """A node group that is replaced."""

    group: str
    nodes: _Count


class Ended(_Written):
    """A resource that is replaced or deleted."""

    type: str
    name: str
    action: Literal["replace", "delete"]
    forced_by: tuple[str, ...] = ()
    stateful: str | None = None
    retained: bool = False
    routine: bool = False


class Item(_Written):
    """Of the cost; `usd` an hour, before and after."""

    what: str
    before: str
    after: str
    usd: tuple[_Number | None, _Number | None]


class Cost(_Written):
    """Of what runs all the time, and of what may run."""

    usd_per_hour: _Number | None = None
    standing: tuple[Item, ...] = ()
    ceiling: tuple[Item, ...] = ()


class Verdict(_Written):
    """Of one `--fail-on`."""

    passed: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


class Impact(_Written):
    """What `ops impact --json` says."""

    refusal: str | None = None
    base: str = ""
    head: str = ""
    resources: dict[str, _Count] = {}
    servers: dict[str, Server] = {}
    drift: tuple[Drift, ...] = ()
    system_nodes: tuple[SystemNodes, ...] = ()
    ended: tuple[Ended, ...] = ()
    cost: Cost = Cost()
    warnings: tuple[str, ...] = ()
    limits: tuple[Verdict, ...] = ()


class Ran(_Written):
    """How a command ended."""

    exit_code: _Code
    said: str = ""
    """Its standard error."""


class Preview(Ran):
    """A rehearsal's preview with the policy pack."""

    findings: tuple[Finding, ...] | None = None
    """None: it did not get as far."""
    counts: dict[str, _Count] = {}
    """Resources by what becomes of them, from nothing."""


class Compared(Ran):
    """`ops impact`."""

    told: Impact | None = None


class Rehearsed(_Written):
    """`<stack>.rehearsed.json`."""

    preview: Preview
    impact: Compared | None
    """None: the base has no such stack."""


class Changed(_Written):
    """A resource that `pulumi preview` would not leave as it is."""

    type: str
    name: str
    action: Literal["create", "update", "replace", "delete"]
    paths: tuple[str, ...] = ()
    """Of what differs; the values stay where they are."""


class Cloud(Ran):
    """`<stack>.aws.json`: `pulumi preview` over the real cloud."""

    refreshed: bool = False
    """What stands was looked at first: the changes are those of somebody else."""
    counts: dict[str, _Count] = {}
    changes: tuple[Changed, ...] = ()
    findings: tuple[Finding, ...] | None = None
