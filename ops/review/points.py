"""What a reviewer has to know of a stack before he reads on, the worst first; and how a job ends because of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ops.failures import FAILED_CHECK, OK, UNCLEAR
from ops.markdown import code
from ops.review.results import Found
from ops.review.written import Cloud, Finding, Impact, Preview, Ran, Server

_NAMED = 3
"""Names of one kind before the rest is counted."""

_LONGEST = 60
"""Characters of a name."""


class Weight(IntEnum):
    """What is told first, and cut last."""

    UNKNOWN = 0
    REFUSED = 1
    STATE = 2
    COLD = 3
    OUTAGE = 4
    NODES = 5
    ENDED = 6
    COST = 7
    ADVICE = 8
    UNCHECKED = 9
    QUIET = 10


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing, as Markdown in one line."""

    weight: Weight
    text: str
    exit_code: int = OK
    """Of a job that ends because of it: 1 it is bad, 3 it cannot be told."""


def points(found: Found) -> tuple[Point, ...]:
    """Return everything of a stack that has to be known, the worst first."""
    return tuple(sorted(_points(found), key=lambda it: it.weight))


def exit_code(said: Sequence[Point]) -> int:
    """Return 1 when something is bad, else 3 when something cannot be told, else 0."""
    codes = {it.exit_code for it in said}
    return next((it for it in (FAILED_CHECK, UNCLEAR) if it in codes), OK)


def findings(found: Found) -> tuple[Finding, ...]:
    """Return what the policy pack says, of both previews, each thing once."""
    both = (found.rehearsed.preview if found.rehearsed else None, found.aws)
    told = [it for side in both if side is not None for it in side.findings or ()]
    return tuple({(it.rule, it.level, it.urn, it.says): it for it in told}.values())


def of_level(found: Found, level: str) -> tuple[Finding, ...]:
    """Return the findings of one level."""
    return tuple(it for it in findings(found) if it.level == level)


def _points(found: Found) -> Iterator[Point]:
    for why in found.unreadable:
        yield Point(
            weight=Weight.UNKNOWN, text=f"**a result cannot be read**: {code(why, 120)}", exit_code=FAILED_CHECK
        )
    if found.left_out:
        yield Point(
            weight=Weight.ADVICE, text="a preview against AWS is left out: a fork has no credentials, so it is none"
        )
    if found.rehearsed is None and found.aws is None:
        if not found.unreadable:
            yield Point(weight=Weight.UNKNOWN, text="**nothing is known**: no job wrote a result", exit_code=UNCLEAR)
        return
    if mandatory := of_level(found, "mandatory"):
        rules = _named(list(dict.fromkeys(it.rule for it in mandatory)))
        yield Point(
            weight=Weight.REFUSED,
            text=f"**the policies refuse {_things(len(mandatory))}**: {rules}",
            exit_code=FAILED_CHECK,
        )
    if found.rehearsed is not None:
        yield from _rehearsed(found.rehearsed.preview, refused=bool(mandatory))
        if found.rehearsed.impact is None:
            made = sum(found.rehearsed.preview.counts.values())
            yield Point(weight=Weight.QUIET, text=f"a new stack, of {made} resources: nothing stands that could change")
        else:
            yield from _compared(found.rehearsed.impact, found.rehearsed.impact.told)
    if found.aws is not None:
        yield from _cloud(found.aws, refused=bool(mandatory))
    if advisory := of_level(found, "advisory"):
        rules = _named(list(dict.fromkeys(it.rule for it in advisory)))
        yield Point(weight=Weight.ADVICE, text=f"the policies advise against {_things(len(advisory))}: {rules}")
    if unchecked := of_level(found, "unchecked"):
        yield Point(weight=Weight.UNCHECKED, text=f"{_things(len(unchecked))} not checked yet")


def _rehearsed(preview: Preview, *, refused: bool) -> Iterator[Point]:
    if preview.exit_code == OK:
        if preview.findings is None:
            yield Point(weight=Weight.UNKNOWN, text="**no policy was run**", exit_code=UNCLEAR)
    elif not refused:
        yield _failed("its preview fails", preview)


def _failed(what: str, ran: Ran) -> Point:
    told = FAILED_CHECK if ran.exit_code != UNCLEAR else UNCLEAR
    return Point(weight=Weight.UNKNOWN, text=f"**{what}** (exit code {ran.exit_code})", exit_code=told)


def _compared(ran: Ran, told: Impact | None) -> Iterator[Point]:
    if told is None or told.refusal is not None:
        yield _failed("not compared, so nothing is known of what it does", ran)
        return
    passed = [line for it in told.limits for line in it.passed]
    unclear = [line for it in told.limits for line in it.unclear]
    if passed:
        yield Point(weight=Weight.REFUSED, text=f"**beyond a limit**: {_named(passed, 120)}", exit_code=FAILED_CHECK)
    if unclear:
        yield Point(weight=Weight.UNKNOWN, text=f"a limit cannot be told: {_named(unclear, 120)}", exit_code=UNCLEAR)
    if ran.exit_code and not passed and not unclear:
        yield _failed("its comparison fails", ran)
    yield from _stateful(told)
    yield from _servers(told.servers)
    yield from _nodes(told)
    yield from _ended(told)
    yield from _cost(told)
    if not told.resources.keys() - {"same"}:
        yield Point(weight=Weight.QUIET, text=f"nothing changes ({told.resources.get('same', 0)} resources)")


def _stateful(told: Impact) -> Iterator[Point]:
    for action, word in (("replace", "replaced"), ("delete", "deleted")):
        names = [f"{it.stateful} {it.name}" for it in told.ended if it.stateful and it.action == action]
        if names:
            yield Point(weight=Weight.STATE, text=f"**{word}, with what it holds**: {_named(names)}")


def _servers(servers: dict[str, Server]) -> Iterator[Point]:
    if cold := [name for name, it in servers.items() if it.cache and it.cache.cold]:
        yield Point(weight=Weight.COLD, text=f"**cold compile** of {_named(cold)}")
    if removed := [name for name, it in servers.items() if it.state == "removed"]:
        yield Point(weight=Weight.OUTAGE, text=f"**removed**: {_named(removed)}")
    lasting = {name: [each.seconds for each in it.interruptions] for name, it in servers.items() if it.interruptions}
    if lasting:
        known = [it for each in lasting.values() for it in each if it is not None]
        unknown = any(None in each for each in lasting.values())
        time = f"up to {max(known):.0f} s" if known and not unknown else "a time that is not known"
        yield Point(weight=Weight.OUTAGE, text=f"**nothing serves for {time}** ({_named(list(lasting))})")
    elif restarting := [name for name, it in servers.items() if it.pods and it.pods.restart]:
        yield Point(weight=Weight.NODES, text=f"pods of {_named(restarting)} restart, and they serve on")
    if new := [name for name, it in servers.items() if it.state == "new"]:
        yield Point(weight=Weight.ADVICE, text=f"new: {_named(new)}")


def _nodes(told: Impact) -> Iterator[Point]:
    if count := sum(it.at_most for it in told.drift):
        nodes = "1 GPU node goes" if count == 1 else f"{count} GPU nodes go"
        yield Point(weight=Weight.NODES, text=f"up to {nodes}, of {_named([it.pool for it in told.drift])}")
    if groups := [it.group for it in told.system_nodes]:
        yield Point(weight=Weight.NODES, text=f"system nodes go: {_named(groups)}")


def _ended(told: Impact) -> Iterator[Point]:
    for action, word in (("replace", "replaced"), ("delete", "deleted")):
        names = [it.name for it in told.ended if it.action == action and not it.routine and not it.stateful]
        if names:
            yield Point(weight=Weight.ENDED, text=f"{word}: {_named(names)}")


def _cost(told: Impact) -> Iterator[Point]:
    delta = told.cost.usd_per_hour
    if delta is None:
        yield Point(weight=Weight.COST, text="what runs all the time costs more or less, at a price that nobody knows")
    elif abs(delta) >= 0.005:
        yield Point(weight=Weight.COST, text=f"{delta:+.2f} USD an hour that run all the time")


def _cloud(ran: Cloud, *, refused: bool) -> Iterator[Point]:
    if ran.exit_code and not refused and not (ran.refreshed and ran.changes):
        yield _failed("its preview against AWS fails", ran)
    elif ran.refreshed and ran.changes:
        yield Point(
            weight=Weight.STATE,
            text=f"**drifted**: {_named([it.name for it in ran.changes])}",
            exit_code=FAILED_CHECK,
        )
    elif ran.findings is None and not ran.refreshed:
        yield Point(weight=Weight.UNKNOWN, text="**no policy was run against AWS**", exit_code=UNCLEAR)


def _things(count: int) -> str:
    return "1 thing" if count == 1 else f"{count} things"


def _named(names: Sequence[str], longest: int = _LONGEST) -> str:
    rest = len(names) - _NAMED
    return ", ".join(code(it, longest) for it in names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
