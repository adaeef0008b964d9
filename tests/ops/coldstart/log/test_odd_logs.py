"""Logs that nobody would write by hand: cut, shuffled, glued, without times, with two clocks, of two pods."""

import itertools
import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.coldstart.log import read, read_bytes
from ops.coldstart.parse import parsed, record
from ops.failures import UnclearError, UsageError
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import Said, body, dressed, seconds, start

DRESSES = [
    *(engine.plain, engine.processes, engine.coloured, engine.runtime, engine.pods, engine.node, engine.docker),
    *(engine.json_formatter, engine.relative),
]


USUAL = read(dressed(start(), engine.runtime))
WHOLE = read(dressed(start(), engine.plain))

LINES = st.sampled_from([dress(it) for dress in DRESSES for it in start()])
STAMPS = st.datetimes(datetime(1971, 1, 1), datetime(9990, 1, 1)).map(lambda it: f"{it.isoformat()}Z ")
ODD = st.one_of(
    LINES.map(str.encode),
    st.tuples(STAMPS, LINES).map(lambda it: "".join(it).encode()),
    st.tuples(LINES, st.integers(0, 200)).map(lambda it: it[0].encode()[it[1] :]),
    st.binary(max_size=60),
    st.just(b'{"a":' + b"[" * 100_000 + b" Model loading took "),
)


def measured(lines):
    """A record, or the line why there is none."""
    try:
        return record("x", read_bytes(lines, "0.26.0"), "restart", None)
    except UnclearError as error:
        return str(error)


@settings(max_examples=300, deadline=None)
@given(st.lists(ODD, max_size=30), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_whatever_is_in_a_log_gives_a_record_that_adds_up_or_a_line_why_not(lines, ending):
    found = measured([ending.join(lines)])
    if isinstance(found, str):
        assert "\n" not in found
        return
    spans = list(found.phases.values())
    assert all(before.end <= after.begin for before, after in itertools.pairwise(spans))
    assert sum(it.seconds for it in spans) + found.unattributed == pytest.approx(found.total, abs=0.002)


@settings(deadline=None)
@given(st.permutations(range(len(start()))), st.sampled_from(DRESSES))
def test_lines_in_any_order_give_a_record_or_a_line_why_not(order, dress):
    lines = dressed(start(), dress)
    found = measured(f"{lines[place]}\n".encode() for place in order)
    assert isinstance(found, str) or found.total >= 0


@settings(deadline=None)
@given(st.integers(1, len(start()) - 2), st.integers(-7200, 7200), st.sampled_from([engine.runtime, engine.plain]))
def test_clock_that_jumps_gives_a_record_or_a_line_why_not(at, jump, dress):
    said = start()
    before, after = dressed(said[:at], dress), dressed([replace(it, at=it.at + jump) for it in said[at:]], dress)
    found = measured(f"{line}\n".encode() for line in [*before, *after])
    if isinstance(found, str):
        assert re.fullmatch(r"a clock was set in the start: one of its lines is -\d+ s from its first", found)
    elif jump < -30:
        assert any(it.startswith("the clock is set back by ") for it in found.notes)


@pytest.mark.parametrize(
    "alien",
    [
        "2026-11-29T10:00:03.123456Z  INFO hf_xet: of a library in Rust",
        '{"time": "2026-11-29T10:00:03Z", "message": "of a library with its own JSON"}',
        "  12.345 of a library that counts",
    ],
)
def test_librarys_own_stamp_does_not_choose_the_clock(alien):
    found = read([alien, *dressed(start(), engine.plain)])
    assert (found.clock, found.spans) == ("engine", WHOLE.spans)


def test_log_without_times_is_no_start_of_no_seconds():
    with pytest.raises(UnclearError, match=r"^no line of it has a time; kubectl logs --timestamps has them$"):
        read([it.message for it in start()])


def test_line_without_a_stamp_has_the_time_of_the_one_before_it_however_far():
    *before, ready = dressed(start(), engine.plain)
    assert read([*before, *["  of a traceback"] * 300, ready]) == read([*before, ready])


def test_line_without_a_stamp_at_the_beginning_of_a_piece_has_the_time_of_the_piece_before():
    *before, ready = dressed(start(), engine.plain)
    debug = "DEBUG 11-29 16:29:01 [a.py:1] "
    chatty = [debug + "x" * 1000] * 1200
    whole = "\n".join([*before, *chatty]).encode() + b"\n"
    found = read_bytes([whole, ready.encode()])
    assert found.total == 41.0


def test_progress_bar_without_a_lines_end_hides_nobody():
    """A bar of one process, and the next one speaks in the same line."""
    lines = dressed(start(), engine.processes)
    at = next(place for place, line in enumerate(lines) if "Model loading took" in line)
    bar = "\rLoading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01]"
    lines[at] = f"(EngineCore pid=804) {bar * 5}{lines[at]}"
    assert seconds(read(lines)) == seconds(read(dressed(start(), engine.processes)))


@pytest.mark.parametrize("dress", DRESSES, ids=lambda it: it.__name__)
def test_crlf_changes_nothing(dress):
    lines = dressed(start(), dress)
    assert read([f"{line}\r" for line in lines]) == read(lines)


def test_entry_of_a_collector_with_an_entry_of_vllms_formatter_in_it():
    entries = [
        {"log": f"{engine.json_formatter(it)}\n", "time": f"{engine.moment(it):%Y-%m-%dT%H:%M:%S.%f}Z"}
        for it in start()
    ]
    packed = [json.dumps(it) for it in entries]
    assert seconds(read(packed)) == seconds(USUAL)


def test_first_line_of_december_and_banner_of_january(monkeypatch):
    monkeypatch.setattr(engine, "BEGAN", datetime(2026, 12, 31, 23, 59, 45, tzinfo=UTC))
    found = read(["INFO 12-31 23:59:50 [importing.py:68] Triton", *dressed(start(), engine.plain)])
    assert (found.total, seconds(found)["imports"]) == (54.0, 13.0)


@pytest.mark.parametrize(("year", "day"), [(2026, 28), (2028, 29), (2028, 28)])
def test_end_of_february_takes_no_day(monkeypatch, year, day):
    monkeypatch.setattr(engine, "BEGAN", datetime(year, 2, day, 23, 59, 30, tzinfo=UTC))
    assert read(dressed(start(), engine.plain)).total == 41.0


def test_late_line_of_february_is_no_second_end_of_february(monkeypatch):
    monkeypatch.setattr(engine, "BEGAN", datetime(2026, 2, 28, 23, 59, 22, tzinfo=UTC))
    usual = dressed(start(), engine.plain)
    weights = next(place for place, line in enumerate(usual) if "Loading model" in line)
    usual[weights], usual[weights - 1] = usual[weights - 1], usual[weights]
    assert read(usual).total == 41.0


@pytest.mark.parametrize(
    "worked",
    [
        'INFO:     10.0.0.1:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "INFO 11-29 10:00:00 [loggers.py:263] Engine 000: Avg prompt throughput: 4.0 tokens/s",
    ],
)
def test_what_a_server_did_before_a_start_is_of_the_one_before_it(worked):
    """A collector has the lines of the container before, whose own start it has rotated away."""
    found = read([f"2026-11-29T10:00:00.000000000Z (APIServer pid=7) {worked}", *dressed(start(), engine.runtime)])
    assert (found.total, found.spans, found.restarts) == (USUAL.total, USUAL.spans, 1)


def test_sleep_before_a_start_is_of_the_one_before_it():
    fell = Said(-3600, "It took 0.4 seconds to fall asleep.", source="abstract.py:328")
    found = read(dressed([fell, *start()], engine.runtime))
    assert (found.total, found.sleeps, found.restarts) == (pytest.approx(USUAL.total), (), 1)


def test_start_of_decades_is_none():
    """The clock of a machine begins in 1970, until somebody tells it."""
    lines = dressed(start(), engine.runtime)
    with pytest.raises(
        UnclearError, match=r"^a clock was set in the start: one of its lines is \+\d{10} s from its first$"
    ):
        read([lines[0].replace("2026-", "1971-", 1), *lines[1:]])


def test_logs_of_two_pods_are_not_one_start():
    other = [line.replace("gemma-7d9f", "gemma-8e1a") for line in dressed(start(), engine.pods)]
    with pytest.raises(UnclearError, match=r"^lines of 2 pods: gemma-7d9f, gemma-8e1a; one pod's at a time$"):
        read([*dressed(start(), engine.pods), *other])


def test_two_models_compile_from_the_first_ones_beginning():
    """Of speculative decoding: the draft model compiles after the other, and is short."""
    draft = Said(50.1, "torch.compile took 0.40 s in total", source="monitor.py:53")
    found = read(dressed([*start(), draft], engine.runtime))
    assert (seconds(found)["compile"], found.said["compile"]) == (pytest.approx(6.6), 6.1)


@pytest.mark.parametrize(
    ("without", "compiled", "counts_as"),
    [
        ("no line", "hit", "hit"),
        ("Directly load AOT", "unknown", "load"),
        ("torch.compile|compile|AOT", "none", "none"),
    ],
)
def test_start_of_which_nobody_knows_what_it_compiled_is_no_improvement(without, compiled, counts_as):
    said = [it for it in start() if not re.search(without, it.message)]
    found = record("x", read(dressed(said, engine.runtime)), "restart", None)
    assert (found.compile, found.role) == (compiled, counts_as)


def test_closed_standard_input_is_said(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match=r"^-: standard input is closed$"):
        parsed(["-"], "restart", None, None)


def test_second_architecture_is_of_the_draft_model():
    draft = Said(18.9, "Resolved architecture: EagleLlamaForCausalLM", "APIServer pid=675", "model.py:623")
    found = read(dressed([*start(), draft], engine.runtime))
    assert seconds(found)["model inspection"] == 0.5


def test_engines_of_data_parallel_and_several_servers_are_one_start():
    said = []
    for it in start():
        if it.by.startswith("EngineCore"):
            said += [replace(it, at=it.at + rank / 5, by=f"EngineCore_DP{rank} pid={900 + rank}") for rank in range(3)]
        elif it.at > 40:
            said += [replace(it, at=it.at + 1 + rank / 5, by=f"ApiServer_{rank} pid={800 + rank}") for rank in range(4)]
        else:
            said.append(it)
    found = read(dressed(said, engine.runtime))
    assert (found.restarts, found.total) == (0, pytest.approx(USUAL.total + 1))
    assert seconds(found)["weights"] == 4.4


def test_start_that_dies_and_starts_again_is_measured_from_its_second_banner():
    died = [*start()[:5], Said(50.0, "EngineCore failed to start.")]
    again = [replace(it, at=it.at + 100) for it in start()]
    found = read(dressed([*died, *again], engine.runtime))
    assert (found.restarts, found.total, found.spans) == (1, pytest.approx(USUAL.total), USUAL.spans)
    assert "the engine failed to start" not in found.notes


def test_sleep_in_the_middle_of_nothing_moves_no_phase():
    end = start()[-1].at
    naps = [
        Said(end + 5, "It took 12.733878 seconds to fall asleep.", source="abstract.py:328"),
        Said(end + 9, "It took 0.678823 seconds to wake up tags {'kv_cache', 'weights'}.", source="abstract.py:346"),
    ]
    found = read(dressed([*start(), *naps], engine.runtime))
    assert (found.spans, len(found.sleeps), len(found.wakes)) == (USUAL.spans, 1, 1)


@pytest.mark.parametrize("text", ["1.2.3", ".", "...", "1" * 400])
def test_garbled_seconds_are_no_marker(text):
    odd = Said(41.0, f"Loading weights took {text} seconds", source="default_loader.py:431")
    assert read(dressed([*start(), odd], engine.runtime)) == USUAL


@pytest.mark.parametrize("stamp", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-13-45T99:99:99Z"])
def test_time_that_is_none_is_passed_over(stamp):
    assert read([f"{stamp} {body(it)}" for it in start()]).clock == "engine"


def test_line_of_many_megabytes_in_small_pieces_is_read_once():
    ends = "\n".join(dressed(start(), engine.runtime)).encode()
    pieces = itertools.chain([ends, b"\n"], itertools.repeat(b"x" * 1000, 9000))
    assert read_bytes(pieces) == USUAL
