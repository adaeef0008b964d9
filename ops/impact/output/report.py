"""The comparison as a comment on a pull request: what has to be known in a minute, and the rest folded away."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic import JsonValue

from ops.impact.compare import Impact
from ops.impact.cost import Item
from ops.impact.drift import Cause, Drift
from ops.impact.leaves import ORDER, Change
from ops.impact.limits import Verdict
from ops.impact.output.sentences import bullets, headline
from ops.impact.output.words import LINES, changed, seconds
from ops.impact.resources import Ended, grouped
from ops.impact.servers.predicted import Row, differ, rows
from ops.impact.servers.verdict import Server
from ops.markdown import code
from serving.budget.timeline import STARTS

_SHOWN = 5
"""Lines of one kind before the rest is folded away."""

_ALL = 100
"""Lines of a text that differ, in the details."""

_WORDS = {
    "create": "created",
    "update": "updated",
    "replace": "replaced",
    "delete": "deleted",
    "same": "unchanged",
}


def report(impact: Impact, verdicts: Sequence[Verdict] = ()) -> str:
    """Return the comparison as Markdown.

    Args:
        impact: the comparison.
        verdicts: of the limits that were set.
    """
    lines = [
        f"### What this change does to stack {code(impact.stack)}",
        "",
        f"From {code(impact.before)} to {code(impact.after)}: {_counts(impact)}. Compared without a cloud;"
        " components and providers are not counted.",
        "",
        *_limits(verdicts),
        *_servers(impact),
        *_drifts(impact),
        *_ended(impact),
        *_costs(impact),
        *_predictions(impact),
        *_warnings(impact),
        *_details(impact),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _counts(impact: Impact) -> str:
    counts = impact.resources.counts
    if impact.nothing:
        return f"nothing changes ({counts.get('same', 0)} resources)"
    return ", ".join(f"{counts[action]} {word}" for action, word in _WORDS.items() if counts.get(action))


def _limits(verdicts: Sequence[Verdict]) -> Iterator[str]:
    said = [text for it in verdicts for text in (*it.passed, *it.unclear)]
    if said:
        yield from ("**Beyond a limit**", "", *(f"- {text}" for text in said), "")


def _servers(impact: Impact) -> Iterator[str]:
    if not impact.servers:
        return
    yield from ("**Servers**", "")
    for server in impact.servers:
        yield f"- {headline(server)}"
        yield from (f"  - {text}" for text in bullets(server, impact))
    yield ""


def _drifts(impact: Impact) -> Iterator[str]:
    if not impact.drifts and not impact.system_nodes:
        return
    yield from ("**Nodes that are replaced**", "")
    for drift in impact.drifts:
        yield f"- pool {code(drift.pool)}: {_how_many(drift)}, {_when(drift)}: {_causes(drift.causes[:3])}" + (
            f" and {len(drift.causes) - 3} more" if len(drift.causes) > 3 else ""
        )
    for group in impact.system_nodes:
        more = f" and {len(group.causes) - 3} more" if len(group.causes) > 3 else ""
        yield (
            f"- system nodes {code(group.group)}: all {group.nodes}, with `up`, no server runs there:"
            f" {_causes(group.causes[:3])}{more}"
        )
    yield ""


def _how_many(drift: Drift) -> str:
    nodes = f"at most {drift.at_most} node{'s' if drift.at_most != 1 else ''}"
    some = {it.nodes for it in drift.causes}
    return nodes if "all" in some else f"{nodes} ({', '.join(sorted(some))})"


def _when(drift: Drift) -> str:
    if drift.gone:
        return "with `up`, whatever the window says"
    if drift.window == "never":
        return "not by itself (`updateWindow: never`): they stay as they are until they go"
    if drift.window == "always":
        return "one at a time, as soon as `up` is through"
    return f"one at a time, in the window {code(drift.window)}"


def _causes(causes: Iterable[Cause], most: int = LINES) -> str:
    return "; ".join(f"{code(it.field)} {changed(it.change, most)}" if it.change else "the pool goes" for it in causes)


def _ended(impact: Impact) -> Iterator[str]:
    replaced, deleted = impact.resources.of("replace"), impact.resources.of("delete")
    if not replaced and not deleted:
        return
    yield from ("**Replaced and deleted**", "")
    shown = [it for it in replaced if it.stateful or not it.follows]
    yield from _cut([_replaced(it) for it in sorted(shown, key=lambda it: not it.stateful)])
    if rest := len(replaced) - len(shown):
        yield f"- and {rest} more {'is' if rest == 1 else 'are'} replaced because of these"
    yield from (f"- **{it.stateful} {code(it.name)}**: deleted{_kept(it)}" for it in deleted if it.stateful)
    groups = grouped(it for it in deleted if not it.stateful)
    yield from _cut([f"- {code(component)}: {count} deleted" for component, count in groups.items()])
    yield ""


def _replaced(it: Ended) -> str:
    name = f"**{it.stateful} {code(it.name)}**" if it.stateful else f"{code(it.type)} {code(it.name)}"
    return f"- {name}: replaced, forced by {', '.join(map(code, it.forced_by)) or 'its name'}{_kept(it)}"


def _kept(it: Ended) -> str:
    return "; the old one stays in the cloud" if it.retained else ""


def _costs(impact: Impact) -> Iterator[str]:
    moved = [it for it in impact.cost.standing if it.changes]
    limits = [it for it in impact.cost.ceiling if it.changes]
    if not moved and not limits:
        yield from ("**Cost**: the same.", "")
        return
    yield from ("**Cost** (USD an hour, on-demand list price, at most)", "")
    delta = impact.cost.delta
    known = sum(it.delta or 0.0 for it in moved)
    whole = f"{delta:+.2f}" if delta is not None else f"unknown (what is known: {known:+.2f})"
    yield f"- runs all the time: {whole}" + (": " if moved else "") + "; ".join(_item(it) for it in moved)
    yield from (f"- GPU ceiling of {_item(it)}" for it in limits)
    yield ""


def _item(it: Item) -> str:
    was, now = ("unknown" if usd is None else f"{usd:.2f}" for usd in it.usd)
    price = f"{was} -> {now}" if was != now else f"price {was}" if was == "unknown" else was
    amount = "" if it.before == it.after else f" {it.before} -> {it.after}"
    return f"{it.what}{amount} ({price})"


def _predictions(impact: Impact) -> Iterator[str]:
    told = [it for it in impact.servers if it.state == "both"]
    moved = [it for it in told if it.before != it.after]
    new = [it for it in impact.servers if it.state == "new" and it.after]
    if told and not moved:
        whose = f" of {', '.join(code(it.name) for it in told)}" if new else ""
        yield from (f"**Predicted starts{whose}**: the same.", "")
    for server in [*moved, *new]:
        yield from _prediction(server)


def _prediction(server: Server) -> Iterator[str]:
    if server.after is None:
        yield from (f"**Predicted starts of {code(server.name)}**: not told any more.", "")
        return
    kinds = [it.type for it in (server.before, server.after) if it]
    starts = [start for start in STARTS if any(it and start in it.seconds for it in (server.before, server.after))]
    yield f"**Predicted starts of {code(server.name)}** in seconds, on {' -> '.join(dict.fromkeys(kinds))}"
    yield ""
    yield f"| phase | {' | '.join(starts)} |"
    yield f"|---|{'---:|' * len(starts)}"
    found = rows(server.before, server.after) if server.before else rows(server.after, server.after)
    for row in found:
        yield f"| {row.phase} | {' | '.join(_cell(row, start) for start in starts)} |"
    yield ""


def _cell(row: Row, start: str) -> str:
    was, now = next(pair for name, pair in row.pairs.items() if name == start)
    return f"{seconds(was)} -> {seconds(now)}" if differ(was, now) else seconds(now)


def _warnings(impact: Impact) -> Iterator[str]:
    if impact.warnings:
        yield from ("**New warnings**", "", *_cut([f"- {code(it, 300)}" for it in impact.warnings]), "")


def _details(impact: Impact) -> Iterator[str]:
    told = [(title, lines) for title, lines in _sections(impact) if lines]
    if told:
        yield from ("<details><summary>Details</summary>", "")
        for title, lines in told:
            yield from (f"**{title}**", "", *lines, "")
        yield "</details>"


def _sections(impact: Impact) -> Iterator[tuple[str, list[str]]]:
    for server in impact.servers:
        if server.cache:
            yield f"Cache key of {code(server.name)}", [_fact(*fact) for fact in server.cache.moved.items()]
        if server.pods:
            yield f"Pod template of {code(server.name)}", [_leaf(leaf) for leaf in server.pods.changed]
    for drift in impact.drifts:
        yield f"Nodes of {code(drift.pool)}", [f"- {_causes([it], _ALL)} ({it.nodes})" for it in drift.causes]
    for group in impact.system_nodes:
        yield f"System nodes {code(group.group)}", [f"- {_causes([it], _ALL)}" for it in group.causes]
    yield "Replaced and deleted", [_line(it) for it in impact.resources.ended]


def _fact(name: str, pair: tuple[JsonValue, JsonValue]) -> str:
    return f"- {code(name)} {changed(Change(name, *pair))}"


def _leaf(leaf: Change) -> str:
    return f"- {code(leaf.path)}" if leaf.path.endswith(ORDER) else f"- {code(leaf.path)} {changed(leaf, _ALL)}"


def _line(it: Ended) -> str:
    forced = f" by {', '.join(map(code, it.forced_by))}" if it.forced_by else ""
    return f"- {code(it.type)} {code(it.name)}: {it.action}{forced}{_kept(it)}"


def _cut(lines: Sequence[str]) -> list[str]:
    rest = len(lines) - _SHOWN
    return [*lines[:_SHOWN], *([f"- and {rest} more: see the details"] if rest > 0 else [])]
