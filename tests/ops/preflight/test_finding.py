"""What findings come to."""

import pytest

from ops.preflight.finding import exit_code, fail, ok, table, unknown, verdict, warn

GOOD, DOUBTFUL, BAD, DARK = ok("a", "b"), warn("a", "b", "c"), fail("a", "b", "c"), unknown("a", "b", "c")


@pytest.mark.parametrize(
    ("findings", "what", "code"),
    [
        ([], "ok", 0),
        ([GOOD], "ok", 0),
        ([GOOD, DOUBTFUL], "warn", 0),
        ([DARK, DOUBTFUL, GOOD], "unknown", 3),
        ([DARK, BAD, DOUBTFUL], "fail", 1),
    ],
    ids=["nothing", "ok", "a warning", "unknown", "all"],
)
def test_a_failure_counts_before_what_nobody_knows(findings, what, code):
    for report in ({"x": findings}, {it: [finding] for it, finding in enumerate(findings)}):
        assert (verdict(report), exit_code(report)) == (what, code)


def test_a_line_for_each_finding_with_nothing_cut():
    assert table({"long": [fail("s", "x" * 300, "mend")], "c": [GOOD]}).splitlines() == [
        f"VERDICT  CHECK  SUBJECT  {'FOUND':<300}  FIX",
        f"fail     long   s        {'x' * 300}  mend",
        "ok       c      a        b",
    ]
