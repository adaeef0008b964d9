"""The verdict of the API server as a person reads it."""

from __future__ import annotations

from typing import TextIO

from rehearsal.admit import Admission


def report(admission: Admission, stream: TextIO) -> None:
    """Print what was admitted, with the server's warnings."""
    found = admission.report
    kinds = max((len(it.kind) for it in found.admitted), default=0)
    lines = [f"{admission.project} / {admission.stack}   what kube-apiserver v{admission.server} takes", ""]
    for it in found.admitted:
        lines.append(f"  {it.kind.ljust(kinds)}  {it.name}")
        lines += [f"  {' ' * kinds}  warning: {warning}" for warning in it.warnings]
    if found.crds:
        lines += ["", *(f"  with {line}" for line in found.crds)]
    if admission.charts:
        lines += ["", f"  charts, not looked into: {admission.charts}"]
    lines += [
        "",
        f"{_count(len(found.admitted))} admitted in {admission.seconds:.1f} s."
        " What was created lay in a store that is gone.",
    ]
    stream.write("\n".join(lines) + "\n")


def refusals(admission: Admission) -> str:
    """What was refused: a line for each object, with its URN and the server's own words."""
    found = admission.report
    every = len(found.admitted) + len(found.refusals)
    head = f"kube-apiserver v{admission.server} refuses {len(found.refusals)} of {_count(every)}:"
    return "\n".join([head, *(f"  {it.line}" for it in found.refusals)])


def _count(number: int) -> str:
    return f"{number} object{'' if number == 1 else 's'}"
