"""What a check finds, and what all findings together come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ops.failures import FAILED_CHECK, OK, UNCLEAR
from ops.terminal import columns


class Verdict(StrEnum):
    """Of one finding."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the table."""

    verdict: Verdict
    subject: str
    found: str
    """What is there against what is needed, with the sum."""
    fix: str = ""
    """What to do about it; empty where nothing is to be done."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the sum is made of, for a program. Keys in camelCase."""


Report = Mapping[str, Sequence[Finding]]
"""Findings by the check that made them, in the order of the table."""


def ok(subject: str, found: str, fix: str = "", **figures: Any) -> Finding:
    """Return a finding that nothing is wrong with."""
    return Finding(verdict=Verdict.OK, subject=subject, found=found, fix=fix, figures=figures)


def warn(subject: str, found: str, fix: str, **figures: Any) -> Finding:
    """Return a finding that stops nothing today."""
    return Finding(verdict=Verdict.WARN, subject=subject, found=found, fix=fix, figures=figures)


def fail(subject: str, found: str, fix: str, **figures: Any) -> Finding:
    """Return a finding with which something does not start."""
    return Finding(verdict=Verdict.FAIL, subject=subject, found=found, fix=fix, figures=figures)


def unknown(subject: str, found: str, fix: str, **figures: Any) -> Finding:
    """Return what nobody could tell. Never ok: it may be the one thing that is wrong."""
    return Finding(verdict=Verdict.UNKNOWN, subject=subject, found=found, fix=fix, figures=figures)


def verdict(report: Report) -> Verdict:
    """Return what a report comes to: what fails counts before what nobody knows."""
    there = {it.verdict for findings in report.values() for it in findings}
    return next((it for it in (Verdict.FAIL, Verdict.UNKNOWN, Verdict.WARN) if it in there), Verdict.OK)


def exit_code(report: Report) -> int:
    """Return 1 when something fails, else 3 when something is unknown, else 0."""
    return {Verdict.FAIL: FAILED_CHECK, Verdict.UNKNOWN: UNCLEAR}.get(verdict(report), OK)


def table(report: Report) -> str:
    """Return a report for people: a line for each finding, which ends where there is nothing to do."""
    head = ("VERDICT", "CHECK", "SUBJECT", "FOUND", "FIX")
    rows = [
        (it.verdict.value, check, it.subject, it.found, it.fix) for check, findings in report.items() for it in findings
    ]
    return columns([head, *rows])


def document(report: Report, *, stack: str, region: str) -> dict[str, Any]:
    """Return a report for a program."""
    return {
        "stack": stack,
        "region": region,
        "verdict": verdict(report).value,
        "findings": [
            {
                "verdict": it.verdict.value,
                "check": check,
                "subject": it.subject,
                "found": it.found,
                "fix": it.fix or None,
                "figures": dict(it.figures),
            }
            for check, findings in report.items()
            for it in findings
        ],
    }
