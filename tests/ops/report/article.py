"""The starts of article 000 as records: one of each, as it measured them.

Whole starts, weights, compile, engine init, pulls and wake are its own figures. What it does not split by start is
split as its table of the baseline splits it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ops.coldstart.record import Record, Span, Subject
from serving.ladder import PRESETS

BEGAN = datetime(2026, 8, 30, 4, 0, tzinfo=UTC)

SUBJECT: Mapping[str, Any] = {
    "stack": "article",
    "region": "ap-northeast-2",
    "server": "gemma4-31b",
    "model": "s3://models/models/gemma-4-31b-it-nvfp4/r1/",
    "model_gib": 30.5,
    "engine_version": "0.26.0",
    "image": "vllm/vllm-openai:v0.26.0",
    "instance_type": "g7e.2xlarge",
    "capacity": "spot",
    "zone": "ap-northeast-2a",
    "probe_seconds": 10.0,
}

BEFORE = {"node": 31.0, "scheduling": 15.0}
IMPORTS = {"imports": 12.7, "model inspection": 13.1, "engine imports": 13.2}


def record(
    preset: str | None,
    start: str,
    role: str,
    phases: Mapping[str, float],
    total: float,
    subject: Mapping[str, Any] | None = None,
    **more: Any,
) -> Record:
    """A start whose phases follow each other; what is missing of its total is in none, and lies at its end."""
    spans, at = {}, 0.0
    for phase, seconds in phases.items():
        spans[phase] = Span(begin=round(at, 3), end=round(at + seconds, 3))
        at = round(at + seconds, 3)
    techniques = PRESETS[preset].techniques if preset in PRESETS else ()
    of = Subject(**{**SUBJECT, "preset": preset, "techniques": techniques, **(subject or {})})
    given = {
        "began": BEGAN,
        "source": "cluster",
        "ready": None if start == "wake" else total,
        "first_token": round(total + 0.3, 3),
        **more,
    }
    return Record(
        start=start, role=role, subject=of, phases=spans, total=total, unattributed=round(total - at, 3), **given
    )


def engine(
    weights: float, compile_: float, kernels: float, graphs: float = 22.5, api: float = 46.0
) -> dict[str, float]:
    return {
        **IMPORTS,
        "weights": weights,
        "compile": compile_,
        "kernels": kernels,
        "graphs": graphs,
        "API start": api,
    }


def ladder() -> list[Record]:
    """Steps 0 to 5, in the order in which they were measured."""
    pulled, present = {"pull": "pulled"}, {"pull": "already present"}
    start = {"container start": 4.0}
    cold = {**BEFORE, "image pull": 64.5, **start}
    each = [
        ("step-0", "fresh node", "none", {**cold, **engine(127.6, 51.0, 20.5), "readiness": 6.0}, 428, pulled),
        ("step-0", "restart", "none", {**start, **engine(127.8, 51.0, 20.5), "readiness": 3.0}, 314, present),
        ("step-1", "restart", "none", {**start, **engine(19.8, 51.1, 20.8), "readiness": 0.5}, 204, present),
        ("step-2", "restart", "load", {**start, **engine(19.8, 50.9, 20.6), "readiness": 0.5}, 204, present),
        ("step-2", "restart", "hit", {**start, **engine(19.8, 6.6, 0.5, api=38.0), "readiness": 2.0}, 133, present),
        (
            *("step-2", "fresh node", "load"),
            {**cold, "node": 22.0, **engine(19.8, 51.1, 20.5), "readiness": 1.0},
            *(306, pulled),
        ),
        (
            *("step-4", "fresh node", "load"),
            {**cold, "image pull": 39.8, **engine(19.8, 51.1, 20.7), "readiness": 6.0},
            *(297, {**pulled, "restore": "miss", "compile": "miss"}),
        ),
        (
            *("step-4", "fresh node", "hit"),
            {**cold, "image pull": 32.2, "restore": 2.0, **engine(19.8, 6.98, 0.5, 22.92), "readiness": 4.0},
            *(226, {**pulled, "restore": "hit", "compile": "hit"}),
        ),
        ("step-5", "wake", "hit", {"wake": 0.97}, 0.97, {}),
    ]
    return [
        record(preset, kind, role, phases, total, began=BEGAN + timedelta(minutes=10 * place), **more)  # type: ignore[arg-type]
        for place, (preset, kind, role, phases, total, more) in enumerate(each)
    ]


def repeated(count: int = 5) -> list[Record]:
    """A ladder of the same figures with repeats: each start a little longer or shorter than the one before."""
    found = []
    for place in range(count):
        swing = (place * 7 % count - count // 2) / count
        for one in [*ladder(), *_between()]:
            phases = {phase: round(span.seconds * (1 + 0.06 * swing), 3) for phase, span in one.phases.items()}
            known = round(sum(phases.values()), 3)
            total = round(known + one.unattributed + 2 + swing, 3) if one.start != "wake" else known
            crashed = one.subject.preset == "step-3" and place == 3
            again = record(
                one.subject.preset,
                one.start,
                one.role,
                phases,
                total,
                subject={"zone": "ap-northeast-2a" if place % 2 else "ap-northeast-2c"},
                began=one.began + timedelta(days=place) if one.began else None,
                pull=one.pull,
                restore=one.restore,
                compile="miss" if one.role == "load" else "hit" if one.role == "hit" else "miss",
                restarts=1 if crashed else 0,
                notes=["the Spot request waited 40 s for capacity"] if place == 2 and "node" in phases else [],
            )
            found.append(again)
    return found


def _between() -> list[Record]:
    """Steps that the article did not measure on a new node."""
    cold = {**BEFORE, "image pull": 64.5, "container start": 4.0}
    return [
        record(
            "step-1", "fresh node", "none", {**cold, **engine(19.8, 51.1, 20.7), "readiness": 5.0}, 320, pull="pulled"
        ),
        record(
            *("step-3", "fresh node", "hit"),
            {**cold, "restore": 2.1, **engine(19.8, 7.0, 0.5), "readiness": 4.0},
            *(256.5,),
            pull="pulled",
            restore="hit",
        ),
    ]
