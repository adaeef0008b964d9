"""The tables of docs/cold-start.md: what the program predicts of article 000's server, and by what."""

from dataclasses import replace
from functools import cache

from serving.budget.baseline import baseline
from serving.budget.predict import NOTHING, causes, predicted
from serving.budget.timeline import PHASES, POD_STARTS, Phase, Seconds, Start, Timeline, by_evidence, total
from serving.ladder import PRESETS
from serving.pod import Situation
from serving.techniques import TECHNIQUES
from serving.techniques.technique import Effect
from tests.docs.tables.part import table
from tests.serving.budget.article import article

BEST = "frontier"
NEWER = "0.33.0"

HAPPENS: dict[Phase, str] = {
    "node": "Karpenter asks EC2, the node boots and joins",
    "scheduling": "the pod is bound to the node",
    "image pull": "some 10 GB of image",
    "container start": "volumes, the Mountpoint driver",
    "restore": "the start-up cache comes from S3",
    "imports": "the API server loads vLLM, without bytecode in the official images",
    "model inspection": "the model's class is looked at in a process of its own, unless a file of 748 bytes tells",
    "engine imports": "EngineCore loads everything again",
    "weights": "S3 to GPU",
    "compile": "torch.compile",
    "kernels": "FlashInfer and Triton kernels are built, in silence",
    "graphs": "KV profile, CUDA graphs",
    "API start": "multimodal and chat-template warm-up; since 0.33 beside the engine's start",
    "priming": "a server that will sleep sleeps once before it takes traffic: the first sleep is the slow one",
    "readiness": "until a probe sees it",
    "wake": "weights go back from host memory",
}

LEAST = 0.05
"""Seconds: less is shown as none."""


@cache
def servers() -> tuple[Situation, Situation]:
    """Return the article's server, and the same on a newer engine."""
    its = article()
    return its, replace(its, engine=its.engine.model_copy(update={"version": NEWER}))


def presets() -> str:
    """Return the presets: what each start takes, and what is in them."""
    about, _ = servers()
    rows = [
        [
            f"`{name}`",
            *(f"{total(timeline(about, preset.techniques, start)):.0f}" for start in POD_STARTS),
            preset.use,
            ", ".join(f"`{it}`" for it in preset.techniques) or "-",
        ]
        for name, preset in PRESETS.items()
    ]
    return table(["preset", *POD_STARTS, "for", "techniques"], rows)


def phases() -> str:
    """Return what each phase takes without techniques and with the best ones, and how that is known."""
    about, newer = servers()
    names = PRESETS[BEST].techniques
    columns: dict[str, Timeline] = {
        "fresh node, none": timeline(about, (), "fresh node"),
        **{start: timeline(about, names, start) for start in POD_STARTS},
        f"fresh node, {NEWER}": timeline(newer, names, "fresh node"),
    }
    by = causes(about, names, about.pool.types[0])
    rows = [
        [
            phase,
            HAPPENS[phase],
            *(_cell(column.get(phase)) for column in columns.values()),
            ", ".join(f"`{name}`" for name in by.get(phase, ())) or "-",
        ]
        for phase in PHASES
        if any(phase in column for column in columns.values())
    ]
    rows.append(["**total**", "", *(f"**{total(it):.1f}**" for it in columns.values()), ""])
    rows.append(["measured", "", *(f"{by_evidence(it)['measured'] / total(it):.0%}" for it in columns.values()), ""])
    return table(["phase", "what happens", *columns, "by"], rows)


def bases() -> str:
    """Return where each figure of a start without techniques is from."""
    rows = [
        [phase, f"{it.value:.1f}", it.evidence, it.source]
        for phase, it in timeline(servers()[0], (), "fresh node").items()
    ]
    return table(["phase", "seconds", "evidence", "where from"], rows)


def effects() -> str:
    """Return what each technique does to each phase by itself, with its evidence."""
    rows = [row for phase in PHASES for name in TECHNIQUES for row in _effects(phase, name)]
    return table(["phase", "technique", "starts", "seconds", "evidence", "where from"], rows)


def of_no_preset() -> str:
    """Return what the techniques of no preset add to the best one, on both engines."""
    used = {name for preset in PRESETS.values() for name in preset.techniques}
    rows = [
        [f"`{name}`", *(_gain(about, name, start) for about in servers() for start in POD_STARTS)]
        for name in TECHNIQUES
        if name not in used
    ]
    head = [f"{about.engine.version}, {start}" for about in servers() for start in POD_STARTS]
    return table(["technique", *head], rows)


def timeline(about: Situation, names: tuple[str, ...], start: Start) -> Timeline:
    """Return the predicted start."""
    return predicted(about, names, start, about.pool.types[0])


def _effects(phase: Phase, name: str) -> list[list[str]]:
    rows = []
    for effect in TECHNIQUES[name].effects:
        if effect.phase == phase:
            changes = {start: _change(effect, start) for start in effect.starts}
            for change in dict.fromkeys(changes.values()):
                starts = ", ".join(start for start in effect.starts if changes[start] == change)
                beside = "".join(f", beside `{it}`" for it in effect.beside)
                rows.append([phase, f"`{name}`{beside}", starts, change, effect.evidence, effect.source])
    return rows


def _change(effect: Effect, start: Start) -> str:
    """On the engine on which it does most: what an engine has by itself, no technique saves."""
    found = []
    for about in servers():
        kind = about.pool.types[0]
        before = baseline(about, start, kind).get(effect.phase, NOTHING).value
        after = effect.seconds(before, about, kind)
        where = "" if about is servers()[0] else f" ({about.engine.version})"
        found.append((abs(after - before), f"{before:.1f} -> {after:.1f}{where}"))
    (first, text), (second, other) = found
    return other if second > first + LEAST and first < LEAST else text


def _gain(about: Situation, name: str, start: Start) -> str:
    best = PRESETS[BEST].techniques
    names = tuple(it for it in (*best, name) if it not in TECHNIQUES[name].excludes)
    gained = total(timeline(about, names, start)) - total(timeline(about, best, start))
    return f"{gained:+.1f}" if abs(gained) >= LEAST else "0"


def _cell(seconds: Seconds | None) -> str:
    return f"{seconds.value:.1f} {seconds.evidence[0]}" if seconds else "-"
