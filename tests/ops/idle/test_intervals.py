"""Idle times: from files and distributions, and everything that is none."""

import math
import time
from statistics import median

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as some

from ops.failures import UsageError
from ops.idle.plan.intervals import BUSY_GAP, PARTS, duration, given, of_lines

FORMS = "expected seconds, or a time such as 45s, 20m or 1h2m"
RANGE = "expected more than 0 s and at most 366 days"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("1.5", 1.5), ("45s", 45), ("20m", 1200), ("1h2m", 3720), ("2d", 172800), (" 1h30s ", 3630)],
)
def test_a_time_is_seconds_or_has_units(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "m", "2m1h", "1h 2m", "-", "five", "0x10", "1,5", "1_0", "\u0663"])
def test_what_is_no_time_is_said(text):
    with pytest.raises(ValueError, match=r"expected"):
        duration(text)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", f"empty; expected one interval a line: {FORMS.removeprefix('expected ')}"),
        ("# nothing\n\n", f"empty; expected one interval a line: {FORMS.removeprefix('expected ')}"),
        ("90\n-1\n", f"2: -1: {RANGE}"),
        ("90\nnan\n", f"2: nan: {RANGE}"),
        ("inf\n", f"1: inf: {RANGE}"),
        ("0\n", f"1: 0: {RANGE}"),
        ("1764496800\n", f"1: 1764496800: {RANGE}"),
        ("90\nsoon\n", f"2: soon: no time; {FORMS}"),
        (
            "2026-11-30T10:00:00Z\nlater\n",
            "2: later: no time of a request; expected 2026-11-30T10:00:00Z or seconds since 1970",
        ),
        ("time\nnan\n", "2: nan: no time of a request; expected 2026-11-30T10:00:00Z or seconds since 1970"),
        ("id,time\n1\n", "2: '': no time of a request; expected 2026-11-30T10:00:00Z or seconds since 1970"),
        (
            "time\n1764496800000\n1764496860000\n",
            "2: 1764496800000: no time of a request; expected 2026-11-30T10:00:00Z or seconds since 1970",
        ),
        ("2026-11-30T10:00:00Z\n", " 1 requests, and no 60 s between two of them: never idle"),
        ("time\n0\n100000000\n", " 1157 days between two requests; expected fewer"),
    ],
)
def test_a_file_that_holds_no_intervals_is_refused_with_its_line(content, said):
    with pytest.raises(UsageError) as refused:
        of_lines("f", content.splitlines(keepends=True), None)
    assert str(refused.value) == f"--intervals f:{said}".replace("f:empty", "f: empty")


def test_a_file_has_one_interval_a_line():
    found = of_lines("f", ["# from the gateway\n", "1h\n", "90\n", "\n", "2m\n"], None)
    assert (found.seconds, found.busy, found.source) == ([90, 120, 3600], 0.0, "3 intervals of f")
    assert found.mean == 1270
    assert found.returns_a_day == pytest.approx(86400 / 1270)


@pytest.mark.parametrize(
    "lines",
    [
        ["2026-11-30T10:00:00Z", "2026-11-30T10:00:30Z", "2026-11-30T10:10:30Z", "2026-11-30T11:10:30+00:00"],
        ["2026-11-30 11:10:30,a", "2026-11-30 10:00:00,b", "2026-11-30 10:10:30,c", "2026-11-30 10:00:30,d"],
        ["id,timestamp", "1,0", "2,30", "3,630", "4,4230"],
        ['"time"', '"1970-01-01T00:00:00Z"', '"1970-01-01T00:00:30Z"', '"1970-01-01T00:10:30Z"', "4230"],
    ],
    ids=["iso", "unsorted, without a zone", "epoch", "quoted"],
)
def test_of_requests_the_gaps_are_idle_and_the_rest_is_busy(lines):
    found = of_lines("f", lines, None)
    assert (found.seconds, found.busy) == ([600, 3600], 15)
    assert found.source == f"2 intervals of {BUSY_GAP:.0f} s and more between 4 requests of f"


def test_a_busy_time_that_is_given_wins():
    assert of_lines("f", ["time", "0", "30", "630"], 7.0).busy == 7


def test_one_interval_is_enough():
    assert of_lines("f", ["20m"], None).source == "1 interval of f"


def test_a_million_intervals_take_seconds():
    lines = [f"{60 + place % 7200}\n" for place in range(10**6)]
    began = time.process_time()
    assert len(of_lines("f", lines, None).seconds) == 10**6
    assert time.process_time() - began < 10


@for_all(mean=some.floats(1, 1e5))
def test_an_exponential_keeps_its_mean_and_its_median(mean):
    found = given(f"exponential:mean={mean!r}s", None)
    assert found.mean == pytest.approx(mean, rel=1e-9)
    assert median(found.seconds) == pytest.approx(mean * math.log(2), rel=1e-3)
    assert list(found.seconds) == sorted(found.seconds)
    assert len(found.seconds) == PARTS


@for_all(half=some.floats(1, 1e4), factor=some.floats(1.05, 20))
def test_a_lognormal_keeps_mean_median_and_p90(half, factor):
    found = given(f"lognormal:median={half!r}s,p90={half * factor!r}s", None)
    spread = math.log(factor) / 1.2815515655446004
    assert found.mean == pytest.approx(half * math.exp(spread**2 / 2), rel=1e-6)
    assert median(found.seconds) == pytest.approx(half, rel=2e-3)
    assert found.seconds[PARTS * 9 // 10] == pytest.approx(half * factor, rel=5e-3)
    assert list(found.seconds) == sorted(found.seconds)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("lognormal:median=20m", "expected lognormal:median=<time>,p90=<time>"),
        ("lognormal:p90=3h,median=20m", "expected lognormal:median=<time>,p90=<time>"),
        ("exponential:", "expected exponential:mean=<time>"),
        ("exponential:mean=0", RANGE),
        ("exponential:mean=nan", RANGE),
        ("lognormal:median=3h,p90=20m", "p90 1200 s is no longer than the median 10800 s"),
        ("lognormal:median=1s,p90=300d", "its mean is 3.9e+33 days; expected a smaller p90"),
        (
            "weibull:mean=3",
            'No such file or directory; expected a file or "lognormal:median=20m,p90=3h", "exponential:mean=30m"',
        ),
        (".", 'Is a directory; expected a file or "lognormal:median=20m,p90=3h", "exponential:mean=30m"'),
    ],
)
def test_what_is_no_distribution_and_no_file_is_refused(asked, said):
    with pytest.raises(UsageError) as refused:
        given(asked, None)
    assert str(refused.value) == f"--intervals {asked}: {said}"


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "f").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not text; expected a file"):
        given(str(tmp_path / "f"), None)


def test_a_busy_time_that_is_none_is_refused():
    with pytest.raises(UsageError) as refused:
        given("exponential:mean=3", "-1")
    assert str(refused.value) == f"--busy -1: {RANGE}"


def test_a_cell_in_quotes_may_have_commas():
    found = of_lines("f", ["path,time\n", *(f'"GET /a,b", "2026-11-30T1{hour}:00:00Z"\n' for hour in (0, 2))], None)
    assert found.seconds == [7200]


def test_a_line_that_csv_does_not_read_is_refused():
    line = "1," * 2 + "x" * 200_000
    with pytest.raises(UsageError, match=r"^--intervals f:1: 1,1,x+\.\.\.: no time; expected seconds"):
        of_lines("f", [line], None)
