"""A measured start as a line of JSON: what is written is read again, and what does not add up is refused."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.coldstart.record import Record, Span, Subject, read
from ops.failures import UnclearError
from serving.budget.timeline import PHASES


def record(**changed):
    phases = {"imports": Span(begin=0.0, end=18.4), "weights": Span(begin=20.0, end=24.0)}
    values = {"start": "restart", "role": "hit", "source": "logs", "subject": Subject(engine_version="0.26.0")}
    values |= {"phases": phases, "total": 30.0, "unattributed": 7.6, "began": "2026-11-29T16:28:02Z"}
    return Record(**{**values, **changed})


def test_line_is_read_as_it_was_written():
    one, other = record(), record(began=None, restore="hit", notes=("a note",), said={"weights": 4.0})
    assert list(read("x", [one.line(), "", f"{other.line()}\n"])) == [one, other]
    assert "\n" not in one.line()


@given(st.lists(st.floats(0, 1000), min_size=2, max_size=2 * len(PHASES), unique=True))
def test_every_record_survives_its_line(bounds):
    ordered = sorted(round(it, 3) for it in bounds)
    pairs = zip(ordered[::2], ordered[1::2], strict=False)
    phases = {phase: Span(begin=a, end=b) for phase, (a, b) in zip(PHASES, pairs, strict=False)}
    known = sum(it.seconds for it in phases.values())
    one = record(phases=phases, total=ordered[-1] + 1, unattributed=ordered[-1] + 1 - known)
    assert next(read("x", [one.line()])) == one


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"phases": {"imports": Span(begin=0, end=20), "weights": Span(begin=19, end=24)}},
            "the line: Value error, weights begins at 19.0 s, before imports ends at 20.0 s",
        ),
        (
            {"phases": {"imports": Span(begin=0, end=40)}},
            "the line: Value error, imports ends at 40.0 s, after the whole start: 30.0 s",
        ),
        (
            {"unattributed": 3.0},
            "the line: Value error, phases 22.400 s + unattributed 3.000 s are not the total of 30.000 s",
        ),
    ],
)
def test_phases_that_do_not_add_up_are_refused(changed, said):
    line = json.dumps({**json.loads(record().line()), **json.loads(json.dumps(changed, default=dict))})
    with pytest.raises(UnclearError, match=f"^{re.escape(f'runs.jsonl:1: not a measured start: {said}')}$"):
        list(read("runs.jsonl", [line]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "the line: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "the line: Input should be an object"),
        (json.dumps({**json.loads(record().line()), "format": "other/2"}), "format: Input should be 'vllm-eks/cold"),
        (json.dumps({**json.loads(record().line()), "colour": "red"}), "colour: Extra inputs are not permitted"),
        (json.dumps({**json.loads(record().line()), "total": -1}), "total: Input should be greater than or equal to 0"),
        (record().line().replace("30.0", "NaN"), "total: Input should be a finite number"),
        (record(ready=17.5).line().replace("17.5", "Infinity"), "ready: Input should be a finite number"),
        (record(ready=17.5).line().replace("17.5", "-17.5"), "ready: Input should be greater than or equal to 0"),
        (record(said={"weights": 17.5}).line().replace("17.5", "-1"), "said.weights: Input should be greater than or"),
        (record().line().replace("30.0", "3e10"), "total: Input should be less than or equal to 1000000000"),
        (
            record().line().replace('"tensorParallel":1', '"tensorParallel":0'),
            "subject.tensorParallel: Input should be",
        ),
        (json.dumps({**json.loads(record().line()), "a\nb\x1b[2J": 1}), r"a\nb\x1b[2J: Extra inputs are not permitted"),
        (
            json.dumps({**json.loads(record().line()), "phases": {"lunch": {"begin": 0, "end": 1}}}),
            "phases.lunch.[key]",
        ),
    ],
)
def test_line_that_is_no_record_is_named_with_its_number(line, said):
    with pytest.raises(UnclearError, match=f"^{re.escape(f'runs.jsonl:3: not a measured start: {said}')}"):
        list(read("runs.jsonl", [record().line(), "", line]))
