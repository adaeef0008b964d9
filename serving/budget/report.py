"""A server's budget as a reader sees it: a table for the log of a preview, and a mapping for the stack's outputs.

Phases are rounded first and summed up then, so that what is shown adds up.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from serving.budget import disk, gpu_memory
from serving.budget.host_memory import SLEEP_MODE, engine_sum, host_memory
from serving.budget.predict import causes, in_force, predictions
from serving.budget.streamer import planned, reason
from serving.budget.timeline import EVIDENCE, PHASES, STARTS, Phase, Seconds, Start, Timeline, by_evidence, total
from serving.pod import Situation
from serving.techniques import TECHNIQUES
from serving.techniques.streaming_loader import STREAMING_LOADER
from serving.techniques.technique import Technique

WIDTH = 110
"""Columns of the table at most."""

_LABEL, _CELL, _INDENT = 20, 13, "  "
_SAME = 0.05
"""Seconds below which two types start equally fast."""


def report(
    name: str, situation: Situation, techniques: Sequence[str], table: Mapping[str, Technique] = TECHNIQUES
) -> str:
    """Return the budget of a server as text.

    Args:
        name: of the server.
        situation: what is known of it.
        techniques: its own; the pool's are added.
        table: all techniques, in the order in which they act.
    """
    names = in_force(situation, techniques)
    first, *rest = (
        {start: _rounded(timeline) for start, timeline in starts.items()}
        for starts in predictions(situation, names, table).values()
    )
    kind, *others = situation.pool.types
    head = f"{name}: predicted start on {kind.name} in seconds (m: measured, p: published, e: estimated)"
    lines = [
        *_grid(first, causes(situation, names, kind, table)),
        *_compared(first, dict(zip((it.name for it in others), rest, strict=True))),
    ]
    lines += [f"{label:<{_LABEL}}{text}" for label, text in _sums(situation, names)]
    wrapped = (
        textwrap.wrap(line, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT + " " * _LABEL) for line in lines
    )
    return "\n".join([*textwrap.wrap(head, WIDTH), *(part for parts in wrapped for part in parts)])


def _rounded(timeline: Timeline) -> Timeline:
    return {phase: Seconds(round(it.value, 1), it.evidence, it.source) for phase, it in timeline.items()}


def _grid(starts: Mapping[Start, Timeline], by: Mapping[Phase, Sequence[str]]) -> Iterator[str]:
    yield _row("phase", list(STARTS)) + "  by"
    for phase in PHASES:
        if any(phase in starts[start] for start in STARTS):
            cells = _row(phase, [_cell(starts[start].get(phase)) for start in STARTS])
            yield f"{cells}  {', '.join(by.get(phase, ()))}".rstrip()
    yield _row("total", [f"{total(starts[start]):.1f}  " if starts[start] else "-  " for start in STARTS])
    for evidence in EVIDENCE:
        yield _row(f"{_INDENT}{evidence}", [_share(starts[start], evidence) for start in STARTS])


def _row(label: str, cells: Sequence[str]) -> str:
    return f"{label:<{_LABEL}}" + "".join(f"{cell:>{_CELL}}" for cell in cells)


def _cell(seconds: Seconds | None) -> str:
    return f"{seconds.value:.1f} {seconds.evidence[0]}" if seconds else "-  "


def _share(timeline: Timeline, evidence: str) -> str:
    known = {str(key): value for key, value in by_evidence(timeline).items()}
    return f"{known[evidence] / total(timeline):.0%}  " if total(timeline) else "-  "


def _compared(first: Mapping[Start, Timeline], others: Mapping[str, Mapping[Start, Timeline]]) -> Iterator[str]:
    """One line for each further type on which a start takes another time."""
    for name, starts in others.items():
        longer = {start: total(starts[start]) - total(first[start]) for start in STARTS}
        said = [f"{start} {seconds:+.1f} s" for start, seconds in longer.items() if abs(seconds) > _SAME]
        if said:
            yield f"{f'on {name}':<{_LABEL}}{', '.join(said)}"


def _sums(situation: Situation, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    streams = STREAMING_LOADER.name in names
    plan = planned(situation) if streams else None
    if streams:
        yield "streamer", reason(situation)
        for kind in situation.pool.types:
            if planned(situation, kind.network) != plan:
                yield f"{_INDENT}alone", f"{kind.name}: {reason(situation, kind.network)}"
    ranks, loading = situation.engine.tensor_parallel, plan.gib if plan else 0.0
    memory = host_memory(situation.model.size_gib, loading, sleeps=SLEEP_MODE in names, ranks=ranks)
    parts = [f"loading {memory.streamer:.1f} GiB"] if plan else []
    parts += [f"weights pinned by sleep {memory.pinned:.1f} GiB"] if memory.pinned else []
    larger = f" + the larger of {', '.join(parts)}" if len(parts) > 1 else "".join(f" + {part}" for part in parts)
    yield (
        "host memory",
        f"{engine_sum(ranks)}{larger} = {memory.peak:.1f} GiB of {situation.resources.memory_gib} GiB",
    )
    kinds = situation.pool.types
    gpus = {kind.name: gpu_memory.line(situation, kind) for kind in kinds}
    for text in dict.fromkeys(gpus.values()):
        where = [it for it in gpus if gpus[it] == text]
        yield "GPU memory", text if len(where) == len(gpus) else f"{', '.join(where)}: {text}"
    yield "disk", disk.line(situation, names, min(kinds, key=attrgetter("local_nvme")))


def mapping(
    situation: Situation, techniques: Sequence[str], table: Mapping[str, Technique] = TECHNIQUES
) -> dict[str, Any]:
    """Return the predicted starts of a server as JSON has them, for the stack output `servers.<name>.predicted`.

    By instance type and by start (`freshNode`, `warmNode`, `restart`, `wake`; one that cannot be is left out):
    `seconds`; `measured`, `published` and `estimated`, which sum up to them; and `phases`, by name `seconds` and
    `evidence`.

    Args:
        situation: what is known of the server.
        techniques: its own; the pool's are added.
        table: all techniques, in the order in which they act.
    """
    names = in_force(situation, techniques)
    return {
        kind: {_camel(start): _plain(_rounded(timeline)) for start, timeline in starts.items() if timeline}
        for kind, starts in predictions(situation, names, table).items()
    }


def _plain(timeline: Timeline) -> dict[str, Any]:
    return {
        "seconds": round(total(timeline), 1),
        **{evidence: round(seconds, 1) for evidence, seconds in by_evidence(timeline).items()},
        "phases": {
            _camel(phase): {"seconds": seconds.value, "evidence": seconds.evidence}
            for phase, seconds in timeline.items()
        },
    }


def _camel(words: str) -> str:
    first, *rest = words.lower().split()
    return first + "".join(word.capitalize() for word in rest)
