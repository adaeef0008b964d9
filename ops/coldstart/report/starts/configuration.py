"""Which starts may be put together, and which may be compared.

Put together are starts of one configuration. Compared are configurations that differ in their techniques alone, and in
what follows from them: everything else that seconds hang on is their setting.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ops.coldstart.record import Record, Role, Subject
from serving.budget.timeline import STARTS, Start
from serving.ladder import PRESETS
from serving.techniques import TECHNIQUES

SETTING = (
    *("engine_version", "image", "instance_type", "capacity", "region"),
    *("model", "model_gib", "tensor_parallel"),
)
"""Fields of a subject that must be the same in what is compared."""

OWN = ("preset", "techniques", "stack", "server", "fingerprint", "probe_seconds")
"""Fields that make a configuration in its setting."""

VARYING = ("zone",)
"""Fields that may differ between starts of one configuration: a Spot node stands where there was one."""

ROLES: tuple[Role, ...] = ("none", "hit", "load")
COUNTED: tuple[Role, ...] = ("none", "hit")
"""Roles of starts whose seconds are an improvement or are none: a load run fills a cache (article 000, 2.1)."""

Source = Literal["cluster", "logs", "late logs"]
"""`late logs`: of logs that begin when Python has imported already, so their whole start is shorter by that."""

SOURCES: tuple[Source, ...] = ("cluster", "logs", "late logs")

TITLES: Mapping[str, str] = {
    "engine_version": "vLLM",
    "image": "image",
    "instance_type": "instance",
    "capacity": "capacity",
    "region": "region",
    "model": "model",
    "model_gib": "weights, GiB",
    "tensor_parallel": "tensor parallel",
    "preset": "preset",
    "techniques": "techniques",
    "stack": "stack",
    "server": "server",
    "fingerprint": "fingerprint",
    "probe_seconds": "probe period, s",
    "zone": "zone",
}


@dataclass(frozen=True)
class Runs:
    """Starts that may be put together: of one configuration, kind, role, and source."""

    start: Start
    role: Role
    source: Source
    records: tuple[Record, ...]

    @property
    def counted(self) -> bool:
        """Whether an improvement may be made of them."""
        return self.role in COUNTED


@dataclass(frozen=True)
class Configuration:
    """One set of techniques in a setting."""

    name: str
    """Unlike any other of the setting."""
    subject: Subject
    zones: Mapping[str, int]
    """Starts by zone."""
    runs: tuple[Runs, ...]
    """In the order of kinds, sources and roles."""


@dataclass(frozen=True)
class Setting:
    """What its configurations have in common."""

    subject: Subject
    configurations: tuple[Configuration, ...]
    """In the order of the ladder."""


def source(record: Record) -> Source:
    """Return what a start was seen by."""
    return "late logs" if record.source == "logs" and "imports" not in record.phases else record.source


def value(subject: Subject, field: str) -> str:
    """Return what a subject has in a field, as people read it; `-`: nothing is known, or there is none."""
    found = getattr(subject, field)
    if field == "techniques":
        return ", ".join(found) or ("none" if subject.server else "-")
    return "-" if found is None else f"{found:g}" if isinstance(found, float) else str(found)


def settings(records: Sequence[Record]) -> tuple[Setting, ...]:
    """Return the starts, sorted into settings and configurations, each in an order that hangs on no file's."""
    by_setting = _by(sorted(records, key=_moment), SETTING)
    return tuple(_setting(by_setting[key]) for key in sorted(by_setting))


def _by(records: Sequence[Record], fields: Sequence[str]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records:
        key = json.dumps([getattr(record.subject, field) for field in fields], default=list)
        found.setdefault(key, []).append(record)
    return found


def _setting(records: Sequence[Record]) -> Setting:
    by_own = _by(records, OWN)
    ordered = sorted(by_own.items(), key=lambda it: (_rank(it[1][0].subject), it[0]))
    names = _names([of[0].subject for _, of in ordered])
    return Setting(
        records[0].subject,
        tuple(_configuration(name, of) for name, (_, of) in zip(names, ordered, strict=True)),
    )


def _configuration(name: str, records: Sequence[Record]) -> Configuration:
    zones = Counter(record.subject.zone for record in records if record.subject.zone)
    alike = [
        Runs(start, role, by, tuple(of))
        for start in STARTS
        for by in SOURCES
        for role in ROLES
        if (of := [it for it in records if (it.start, it.role, source(it)) == (start, role, by)])
    ]
    return Configuration(name, records[0].subject, dict(sorted(zones.items())), tuple(alike))


def _moment(record: Record) -> tuple[str, str]:
    return record.began.isoformat() if record.began else "", record.line()


def _rank(subject: Subject) -> tuple[int, int, Sequence[int]]:
    """The place on the ladder: of the presets, then by how many techniques, then by the order in which they act."""
    presets, table = list(PRESETS), list(TECHNIQUES)
    preset = presets.index(subject.preset) if subject.preset and subject.preset in PRESETS else len(presets)
    acting = [table.index(name) if name in table else len(table) for name in subject.techniques]
    return preset, len(subject.techniques), acting


def title(subject: Subject) -> str:
    """Return the preset and what is beside it, or the techniques: `step-2 + fast-probes`."""
    names = subject.techniques
    if subject.preset is None:
        return " + ".join(names) or ("no techniques" if subject.server else "techniques unknown")
    if (known := PRESETS.get(subject.preset)) is None:
        return subject.preset
    beside = [f" + {name}" for name in names if name not in known.techniques]
    lacking = [name for name in known.techniques if name not in names]
    return "".join([subject.preset, *beside, f" without {', '.join(lacking)}" if lacking else ""])


def _names(subjects: Sequence[Subject]) -> list[str]:
    """Titles, and behind those that are not the only ones of their kind what sets them apart."""
    titles = [title(it) for it in subjects]
    names = []
    for subject, own in zip(subjects, titles, strict=True):
        twins = [it for it, other in zip(subjects, titles, strict=True) if other == own]
        apart = [field for field in OWN if len({value(it, field) for it in twins}) > 1]
        said = ", ".join(f"{TITLES[field]} {value(subject, field)}" for field in apart)
        names.append(f"{own} ({said})" if said else own)
    return names


def differing(subjects: Sequence[Subject], fields: Sequence[str]) -> list[str]:
    """Return the fields in which the subjects are not all the same."""
    return [field for field in fields if len({value(it, field) for it in subjects}) > 1]


def facts(subject: Subject, fields: Sequence[str]) -> dict[str, Any]:
    """Return the fields as JSON has them."""
    whole = subject.model_dump(mode="json")
    return {field: whole[field] for field in fields}
