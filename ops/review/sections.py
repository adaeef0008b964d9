"""The details of a stack, in parts that can be cut one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ops.markdown import code, fenced
from ops.review.points import Weight, of_level
from ops.review.results import Found
from ops.review.written import Finding, Impact, Item, Ran, Server

_MOST = 200
"""Lines of a part, whatever a pull request says."""

_SAID = 6000
"""Characters of a message that are shown."""

_SENTENCE = 400


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part: a title of ours, and lines that are whole Markdown each."""

    title: str
    weight: Weight
    lines: tuple[str, ...]
    folded: bool = False
    """In a fold of its own, with the number of its lines in the title."""


def sections(found: Found) -> tuple[Section, ...]:
    """Return what there is to say, in the order in which it is read; none without lines."""
    return tuple(it for it in _sections(found) if it.lines)


def _sections(found: Found) -> Iterator[Section]:
    yield _part("Refused by a policy", Weight.REFUSED, _findings(of_level(found, "mandatory")))
    impact = found.rehearsed.impact if found.rehearsed else None
    refused = bool(of_level(found, "mandatory"))
    if found.rehearsed and not refused:
        yield _said("The preview's own words", found.rehearsed.preview)
    if impact and impact.told is not None and impact.told.refusal is None:
        yield from _told(impact.told)
    elif impact and not (found.rehearsed and _same(found.rehearsed.preview, impact)):
        why = (impact.told.refusal if impact.told else None) or impact.said
        yield _said("Why it was not compared", impact.model_copy(update={"said": why}))
    if found.aws:
        if not refused:
            yield _said("The words of the preview against AWS", found.aws)
        changes = [
            f"- {code(it.type)} {code(it.name)}: {it.action} {', '.join(code(path) for path in it.paths[:5])}".rstrip()
            for it in found.aws.changes
        ]
        title = (
            "Not as the default branch says" if found.aws.refreshed else "What `pulumi preview` against AWS would do"
        )
        yield _part(title, Weight.STATE if found.aws.refreshed else Weight.COST, changes)
    yield _part("Advice of the policies", Weight.ADVICE, _findings(of_level(found, "advisory")))
    unchecked = [f"- {code(it.rule)}: {_says(it)}" for it in of_level(found, "unchecked")]
    yield _part("Not checked yet", Weight.UNCHECKED, unchecked, folded=True)


def _same(preview: Ran, impact: Ran) -> bool:
    """Whether both were stopped by one mistake, which is told once."""
    return bool(preview.exit_code and preview.said.strip()) and preview.said.strip() in impact.said


def _part(title: str, weight: Weight, lines: Sequence[str], *, folded: bool = False) -> Section:
    rest = len(lines) - _MOST
    more = [f"- and {rest} more"] if rest > 0 else []
    return Section(title=title, weight=weight, lines=(*lines[:_MOST], *more), folded=folded)


def _said(title: str, ran: Ran) -> Section:
    lines = ["\n".join(fenced(ran.said, _SAID))] if ran.exit_code and ran.said.strip() else []
    return Section(title=title, weight=Weight.UNKNOWN, lines=tuple(lines))


def _findings(found: Sequence[Finding]) -> list[str]:
    """Return a line for each rule, with why it is one, and below it a line for each thing that it found."""
    rules: dict[tuple[str, str], list[Finding]] = {}
    for it in found:
        rules.setdefault((it.rule, it.level), []).append(it)
    return [line for (rule, level), its in rules.items() for line in _rule(rule, level, its)]


def _rule(rule: str, level: str, its: Sequence[Finding]) -> Iterator[str]:
    yield f"- {code(rule)} ({level}): {code(its[0].why, _SENTENCE)}"
    for it in sorted(its, key=lambda it: (it.urn or "", it.says)):
        yield f"  - {_says(it)}"


def _says(it: Finding) -> str:
    where = f"{code(_type(it.urn))} {code(it.urn.rpartition('::')[2])}: " if it.urn else ""
    return f"{where}{code(it.says, _SENTENCE)}"


def _type(urn: str) -> str:
    """The type of a resource, without those that it stands below."""
    parts = urn.split("::")
    return parts[-2].rpartition("$")[2] if len(parts) > 1 else ""


def _told(told: Impact) -> Iterator[Section]:
    counts = ", ".join(f"{count} {code(action)}" for action, count in list(told.resources.items())[:5])
    compared = [f"- from {code(told.base)} to {code(told.head)}: {counts}"] if counts else []
    yield _part("Compared", Weight.ADVICE, compared)
    limits = [line for it in told.limits for line in (*it.passed, *it.unclear)]
    yield _part("Beyond a limit, or not to be told", Weight.REFUSED, [f"- {code(it, _SENTENCE)}" for it in limits])
    servers = [line for name, it in told.servers.items() for line in _server(name, it)]
    yield _part("Servers", Weight.COLD, servers)
    pools = [
        f"- pool {code(it.pool)}: at most {it.at_most}, {'with `up`' if it.gone else code(it.window or 'always')}"
        for it in told.drift
    ]
    groups = [f"- system nodes {code(it.group)}: all {it.nodes}, with `up`" for it in told.system_nodes]
    yield _part("Nodes that are replaced", Weight.NODES, [*pools, *groups])
    ended = [
        f"- {code(it.type)} {code(it.name)}: {it.action}d"
        + (f", forced by {', '.join(code(path) for path in it.forced_by[:5])}" if it.forced_by else "")
        + ("; the old one stays in the cloud" if it.retained else "")
        for it in sorted(told.ended, key=lambda it: it.stateful is None)
        if not it.routine
    ]
    yield _part("Replaced and deleted", Weight.ENDED, ended)
    costs = [*map(_item, told.cost.standing), *(f"{_item(it)} as the ceiling" for it in told.cost.ceiling)]
    yield _part("Cost, USD an hour at list prices", Weight.COST, costs)
    starts = [line for name, it in told.servers.items() for line in _starts(name, it)]
    yield _part("Predicted starts, seconds", Weight.ADVICE, starts)
    yield _part("New warnings", Weight.ADVICE, [f"- {code(it, _SENTENCE)}" for it in told.warnings])


def _server(name: str, it: Server) -> Iterator[str]:
    said: list[str] = []
    if it.state != "both":
        said.append(it.state)
    if it.cache and it.cache.cold:
        moved = ", ".join(code(fact) for fact in list(it.cache.moved)[:5])
        said.append(f"compiles from cold{f', for {moved}' if moved else ''}")
    if it.pods and it.pods.restart:
        said.append("pods restart")
    for each in it.interruptions:
        time = "a time that is not known" if each.seconds is None else f"{each.seconds:.0f} s"
        when = "at the rollout" if each.when == "rollout" else "once more for each replacement of its node"
        said.append(f"nothing serves for {time} {when}")
    if it.weights_to_onboard:
        said.append(f"no server had the weights {code(it.weights_to_onboard)} before")
    if it.no_room_to_build:
        said.append(code(it.no_room_to_build, _SENTENCE))
    if said:
        yield f"- {code(name)}: {'; '.join(said)}"


def _item(it: Item) -> str:
    was, now = ("unknown" if usd is None else f"{usd:.2f}" for usd in it.usd)
    return f"- {code(it.what)}: {code(it.before)} -> {code(it.after)} ({was} -> {now})"


def _starts(name: str, it: Server) -> Iterator[str]:
    was = it.predicted.before.seconds if it.predicted.before else {}
    now = it.predicted.after.seconds if it.predicted.after else {}
    if was == now:
        return
    kinds = dict.fromkeys([*was, *now])
    told = ", ".join(f"{code(kind)} {_seconds(was.get(kind))} -> {_seconds(now.get(kind))}" for kind in kinds)
    yield f"- {code(name)}: {told}"


def _seconds(number: float | None) -> str:
    return "-" if number is None else f"{number:.1f}"
