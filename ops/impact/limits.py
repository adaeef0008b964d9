"""`--fail-on RULE[=LIMIT]`: what a change may not do."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ops.failures import UsageError
from ops.impact.compare import Impact
from ops.terminal import echo
from serving.budget.timeline import STARTS, Start

RULES: dict[str, str] = {
    **{start.replace(" ", "-"): "+10s, +5% or 200s" for start in STARTS},
    "cold-compile": "no limit",
    "downtime": "60s",
    "drift": "0 nodes, or another number",
    "replacements": "0, or another number",
    "deletions": "0, or another number",
    "usd-per-hour": "+1.0",
}
"""Every rule, with what its limit looks like."""

_COUNTS = frozenset({"drift", "replacements", "deletions"})
_SLOWER = re.compile(r"(\+?)([0-9]{1,6}(?:\.[0-9]{1,3})?)(s|%)")
_MORE = re.compile(r"\+([0-9]{1,6}(?:\.[0-9]{1,4})?)")
_SECONDS = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)s")
_COUNT = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One `--fail-on`."""

    asked: str
    """As it was written."""
    rule: str
    number: float
    more: bool = False
    """The limit is on what comes on top, not on the whole."""
    percent: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Of one limit. Passing is bad here: the change is beyond it."""

    asked: str
    passed: tuple[str, ...]
    """What is beyond it, a line each."""
    unclear: tuple[str, ...]
    """What cannot be told, a line each."""


def parse(asked: str) -> Limit:
    """Return a limit as it was written.

    Raises:
        UsageError: no such rule, or a limit that it does not take.
    """
    rule, equals, limit = asked.partition("=")
    if rule not in RULES:
        raise UsageError(f"--fail-on {echo(asked)}: no such rule; expected one of {', '.join(RULES)}")
    made = _made(asked, rule, limit, given=bool(equals))
    if made is None:
        raise UsageError(f"--fail-on {echo(asked)}: {rule} takes {RULES[rule]}")
    return made


def _made(asked: str, rule: str, limit: str, *, given: bool) -> Limit | None:
    if rule == "cold-compile":
        return None if given else Limit(asked=asked, rule=rule, number=0)
    if rule in _COUNTS:
        limit = limit if given else "0"
        return Limit(asked=asked, rule=rule, number=int(limit)) if _COUNT.fullmatch(limit) else None
    if rule == "usd-per-hour":
        found = _MORE.fullmatch(limit)
        return Limit(asked=asked, rule=rule, number=float(found[1]), more=True) if found else None
    if rule == "downtime":
        found = _SECONDS.fullmatch(limit)
        return Limit(asked=asked, rule=rule, number=float(found[1])) if found else None
    found = _SLOWER.fullmatch(limit)
    # a start of 5 % means nothing
    if found is None or (found[3] == "%" and not found[1]):
        return None
    return Limit(asked=asked, rule=rule, number=float(found[2]), more=bool(found[1]), percent=found[3] == "%")


def verdicts(impact: Impact, limits: Sequence[Limit]) -> tuple[Verdict, ...]:
    """Return what each limit says of a change, in their order."""
    return tuple(_verdict(impact, limit) for limit in limits)


def _verdict(impact: Impact, limit: Limit) -> Verdict:
    said = list(_OF.get(limit.rule, _starts)(impact, limit))
    lines = [(f"--fail-on {limit.asked}: {text}", certain) for text, certain in said]
    return Verdict(
        asked=limit.asked,
        passed=tuple(text for text, certain in lines if certain),
        unclear=tuple(text for text, certain in lines if not certain),
    )


_Said = Iterator[tuple[str, bool]]
"""A line, and whether the limit is passed for certain: else it cannot be told."""


def _starts(impact: Impact, limit: Limit) -> _Said:
    start: Start = next(it for it in STARTS if it.replace(" ", "-") == limit.rule)
    for server in impact.servers:
        # a new server is no slower than anything; a removed one does not start
        if server.state == "removed" or (server.state == "new" and limit.more):
            continue
        if server.after is None or (limit.more and server.before is None):
            yield f"cannot tell: one of the revisions predicts nothing of server {server.name}", False
            continue
        now = server.after.seconds.get(start)
        was = server.before.seconds.get(start) if server.before else None
        if now is None or (limit.more and was is None):
            # it did not sleep, or will not
            continue
        most = limit.number if not limit.more or was is None else was + _allowed(was, limit)
        if now > most + 1e-6:
            before = "" if was is None else f"{was:g} s -> "
            told = f"{now:g} s as before" if was == now else f"{before}{now:g} s"
            yield f"server {server.name}: {start} {told}, more than {most:g} s", True


def _allowed(was: float, limit: Limit) -> float:
    return was * limit.number / 100 if limit.percent else limit.number


def _cold(impact: Impact, _: Limit) -> _Said:
    for server in impact.servers:
        if server.cache and server.cache.cold:
            moves = f"its cache key moves: {', '.join(server.cache.moved)}"
            yield f"server {server.name}: {'it keeps no cache' if server.cache.outcome == 'given up' else moves}", True


def _downtime(impact: Impact, limit: Limit) -> _Said:
    for server in impact.servers:
        for it in server.interruptions:
            # without the time of a compile it is no less than the predicted start
            least = it.predicted + it.ending if it.seconds is None and it.predicted is not None else it.seconds
            if least is not None and least > limit.number:
                when = "at the rollout" if it.when == "rollout" else "when its node is replaced"
                more = "at least " if it.seconds is None else ""
                yield f"server {server.name}: nothing serves for {more}{least:g} s {when}", True
            elif it.seconds is None:
                yield f"cannot tell: nobody knows how long server {server.name} takes for this start: {it.start}", False


def _drift(impact: Impact, limit: Limit) -> _Said:
    going = [it for it in impact.drifts if not it.stays]
    nodes = sum(it.at_most for it in going)
    if nodes > limit.number:
        yield f"up to {nodes} nodes are replaced, in pools {', '.join(it.pool for it in going)}", True


def _ended(action: str) -> Callable[[Impact, Limit], _Said]:
    word = {"replace": "replaced", "delete": "deleted"}[action]

    def said(impact: Impact, limit: Limit) -> _Said:
        found = impact.resources.of(action)
        if len(found) > limit.number:
            names = ", ".join(it.name for it in found[:3])
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            yield f"{len(found)} resources are {word}: {names}{more}", True

    return said


def _usd(impact: Impact, limit: Limit) -> _Said:
    delta = impact.cost.delta
    if delta is None:
        whose = [it.what for it in impact.cost.standing if it.delta is None]
        yield f"cannot tell: no price is known of {', '.join(whose)}", False
    elif delta > limit.number:
        yield f"USD {delta:+g} an hour that run all the time", True


_OF: dict[str, Callable[[Impact, Limit], _Said]] = {
    "cold-compile": _cold,
    "downtime": _downtime,
    "drift": _drift,
    "replacements": _ended("replace"),
    "deletions": _ended("delete"),
    "usd-per-hour": _usd,
}
