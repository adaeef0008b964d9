"""The plan as a person reads it: components, their resources, counts, outputs."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from rehearsal.plan.findings import advice
from rehearsal.plan.highlights import highlights
from rehearsal.plan.plan import STACK_TYPE, UNKNOWN, Action, Plan, PlannedResource

LATER = "known after up"
_SEPARATOR = " · "
_LONGEST = 160
"""Characters of an output; a kubeconfig has a thousand, which nobody reads here."""
_DEEPEST = 4
"""Levels of an output that have lines of their own."""
_COUNTED: dict[Action, str] = {
    "create": "new",
    "update": "updated",
    "replace": "replaced",
    "delete": "deleted",
    "same": "unchanged",
}


@dataclass(frozen=True)
class _Paint:
    """ANSI styles, or none at all when the output is not a terminal."""

    on: bool

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.on else text

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[0m" if self.on else text

    def yellow(self, text: str) -> str:
        return f"\x1b[33m{text}\x1b[0m" if self.on else text


@dataclass(frozen=True, kw_only=True)
class Deed:
    """How a command words what it has to report."""

    title: str
    title_of_changes: str
    done: str
    note: str


PREVIEWED = Deed(
    title="what `pulumi up` would create from nothing",
    title_of_changes="what `pulumi up` would change",
    done="previewed",
    note="Nothing was created: the cloud is offline.",
)
BROUGHT_UP = Deed(
    title="what `pulumi up` created",
    title_of_changes="what `pulumi up` changed",
    done="brought up",
    note="The cloud is offline.",
)
DESTROYED = Deed(
    title="",
    title_of_changes="what `pulumi destroy` removed",
    done="destroyed",
    note="The cloud is offline.",
)


def report(plan: Plan, stream: TextIO, deed: Deed = PREVIEWED) -> None:
    """Print `plan`: all of it when everything is new, else what changes.

    Colours only when `stream` is a terminal, which also sets the width.
    """
    paint = _Paint(on=stream.isatty())
    width = shutil.get_terminal_size((100, 24)).columns if stream.isatty() else 100
    fresh = all(it.action == "create" for it in plan.resources)
    lines = [
        paint.bold(f"{plan.project} / {plan.stack}")
        + paint.dim(f"   {deed.title if fresh else deed.title_of_changes}"),
        "",
        *_components(plan if fresh else _changes(plan), paint),
        *_messages(plan, paint),
        *(_counts(plan, paint, width) if fresh else ()),
        *_outputs(plan, paint),
        _summary(plan, deed) if fresh else _summary_of_changes(plan, deed),
    ]
    stream.write("\n".join(lines) + "\n")


def _changes(plan: Plan) -> Plan:
    """The plan without what stays as it is, but with the components around what does not."""
    by_urn = {it.urn: it for it in plan.resources}
    shown: set[str] = set()
    for change in plan.changes():
        above: PlannedResource | None = change
        while above is not None:
            shown.add(above.urn)
            above = by_urn.get(above.parent or "")
    return replace(plan, resources=tuple(it for it in plan.resources if it.urn in shown or it.type == STACK_TYPE))


def short_type(token: str) -> str:
    """`aws:ec2/vpc:Vpc` as `ec2.Vpc`, `kubernetes:apps/v1:Deployment` as `k8s.Deployment`."""
    package, module, name = token.split(":", 2)
    if token.startswith("pulumi:providers:"):
        return f"provider {name}"
    if package == "kubernetes":
        return f"k8s.{name}"
    service = module.split("/")[0]
    return f"{package if service == 'index' else service}.{name}"


def _components(plan: Plan, paint: _Paint) -> Iterator[str]:
    by_urn = {it.urn: it for it in plan.resources}
    owned: dict[str, list[PlannedResource]] = {}
    for resource in plan.resources:
        owner = _owner(resource, by_urn)
        if owner is not None:
            owned.setdefault(owner.urn, []).append(resource)
    for urn, inside in owned.items():
        owned[urn] = in_order(inside, owned)
    stack = next((it for it in plan.resources if it.type == STACK_TYPE), None)
    if stack is None:
        return
    yield from _component(stack, owned, paint, plan.project)


def _owner(resource: PlannedResource, by_urn: Mapping[str, PlannedResource]) -> PlannedResource | None:
    """The nearest component above; default providers have no parent and belong to the stack."""
    if resource.type == STACK_TYPE:
        return None
    above = by_urn.get(resource.parent or "")
    while above is not None and above.custom:
        above = by_urn.get(above.parent or "")
    return above or next((it for it in by_urn.values() if it.type == STACK_TYPE), None)


def in_order(
    siblings: Sequence[PlannedResource], owned: Mapping[str, Sequence[PlannedResource]]
) -> list[PlannedResource]:
    """`siblings` with what must exist first in front; equal ones by type and name.

    The engine's own order depends on the timing of threads, so it differs between runs.
    """
    holder = {it.urn: sibling.urn for sibling in siblings for it in _within(sibling, owned)}
    needs = {
        sibling.urn: {
            holder.get(urn) for it in _within(sibling, owned) for urn in (*it.dependencies, it.provider or "")
        }
        - {None, sibling.urn}
        for sibling in siblings
    }
    levels: dict[str, int] = {}

    def level(urn: str) -> int:
        if urn not in levels:
            # Two components may need parts of each other: the one met first counts as first.
            levels[urn] = 0
            levels[urn] = max((level(other) + 1 for other in sorted(needs[urn], key=str) if other), default=0)
        return levels[urn]

    return sorted(siblings, key=lambda it: (level(it.urn), it.type, it.name))


def _within(resource: PlannedResource, owned: Mapping[str, Sequence[PlannedResource]]) -> Iterator[PlannedResource]:
    yield resource
    for inside in owned.get(resource.urn, ()):
        yield from _within(inside, owned)


def _component(
    component: PlannedResource,
    owned: Mapping[str, list[PlannedResource]],
    paint: _Paint,
    project: str,
    depth: int = 0,
) -> Iterator[str]:
    """One block per component; a blank line ends what stands at the left margin."""
    top = component.type == STACK_TYPE
    indent = "  " * depth
    if not top:
        yield f"{indent}{paint.bold(_title(component.type, project))} {component.name}"
    inside = owned.get(component.urn, [])
    leaves = [it for it in inside if it.custom and not _is_default_provider(it)]
    types = max((len(short_type(it.type)) for it in leaves), default=0)
    names = max((len(it.name) for it in leaves), default=0)
    margin = indent if top else f"{indent}  "
    for leaf in inside:
        if leaf in leaves:
            shown = _SEPARATOR.join([*highlights(leaf), *(paint.yellow(mark) for mark in _marks(leaf))])
            yield f"{margin}{paint.dim(short_type(leaf.type).ljust(types))}  {leaf.name.ljust(names)}  {shown}".rstrip()
        elif not leaf.custom and not top:
            yield from _component(leaf, owned, paint, project, depth + 1)
    if top and leaves:
        yield ""
    for child in inside if top else ():
        if not child.custom:
            yield from _component(child, owned, paint, project, depth)
            yield ""


def _marks(resource: PlannedResource) -> Iterator[str]:
    if resource.action != "create":
        changed = ", ".join(
            f"{path} ({kind})" if kind.endswith("-replace") else path for path, kind in sorted(resource.changed.items())
        )
        yield f"{resource.action}: {changed}" if changed else resource.action
    if resource.protect:
        yield "protected"
    if resource.retain_on_delete:
        yield "stays on destroy"


def _title(token: str, project: str) -> str:
    """Our own components by class name, those of others with their package."""
    package, _, name = token.split(":", 2)
    return name if package == project else f"{package}.{name}"


def _is_default_provider(resource: PlannedResource) -> bool:
    return resource.type.startswith("pulumi:providers:") and resource.name.startswith("default")


def _messages(plan: Plan, paint: _Paint) -> Iterator[str]:
    # what the program says of its own resources; what providers say of themselves is noise
    for message in (it for it in plan.messages if it.severity == "info" and it.urn and "::vllm-eks:" in it.urn):
        yield message.text
        yield ""
    said = [paint.yellow(f"warning: {it.text}") for it in plan.messages if it.severity == "warning"]
    said += map(paint.yellow, advice(plan.findings))
    yield from said
    if said:
        yield ""


def _counts(plan: Plan, paint: _Paint, width: int) -> Iterator[str]:
    kinds = Counter(short_type(it.type) for it in plan.resources if it.custom and not _is_default_provider(it))
    cells = [f"{count:>3} {kind}" for kind, count in sorted(kinds.items())]
    column = max((len(cell) for cell in cells), default=0) + 2
    columns = max(1, width // column)
    rows = -(-len(cells) // columns)
    yield paint.bold("Resources")
    for row in range(rows):
        yield "".join(cell.ljust(column) for cell in cells[row::rows]).rstrip()
    yield ""


def _outputs(plan: Plan, paint: _Paint) -> Iterator[str]:
    if not plan.outputs:
        return
    yield paint.bold("Outputs")
    for name, value in sorted(plan.outputs.items()):
        yield from _output(name, value, 1)
    yield ""


def _output(name: str, value: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if depth > _DEEPEST and isinstance(value, Mapping):
        parts = [f"{key} {_plain(item)}" for key, item in value.items() if not isinstance(item, Mapping)]
        yield f"{indent}{name}: {', '.join(parts)}"
    elif isinstance(value, Mapping) and value:
        yield f"{indent}{name}:"
        for key, item in value.items():
            yield from _output(str(key), item, depth + 1)
    elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        yield f"{indent}{name}:"
        for index, item in enumerate(value):
            yield from _output(f"- {index}", item, depth + 1)
    else:
        yield f"{indent}{name}: {_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value) or "none"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    # A text that holds an unknown part is unknown as a whole.
    if UNKNOWN in text:
        return LATER
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}... ({len(text)} characters)"


def _summary(plan: Plan, deed: Deed) -> str:
    resources = sum(it.custom and not _is_default_provider(it) for it in plan.resources)
    components = sum(not it.custom and it.type != STACK_TYPE for it in plan.resources)
    return f"{resources} resources in {components} components, {deed.done} in {plan.seconds:.1f} s. {deed.note}"


def _summary_of_changes(plan: Plan, deed: Deed) -> str:
    counts = Counter(it.action for it in plan.resources if it.custom and not _is_default_provider(it))
    words = ", ".join(f"{counts[action]} {word}" for action, word in _COUNTED.items() if counts[action])
    return f"{words or 'nothing'}; {deed.done} in {plan.seconds:.1f} s. {deed.note}"
