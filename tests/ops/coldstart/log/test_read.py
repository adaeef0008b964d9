"""The phases of a start, out of logs in every form in which they come."""

import itertools
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.coldstart.log import read, read_bytes
from ops.coldstart.log.read import spans
from ops.failures import UnclearError
from tests.harness import ROOT
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import Said, dressed, start

LOGS = ROOT.parent / "shared" / "facts" / "logs"
EXACT = [engine.runtime, engine.pods, engine.node, engine.docker, engine.json_formatter, engine.relative]
WHOLE_SECONDS = [engine.plain, engine.processes, engine.coloured]
VERSIONS = ["0.26.0", "0.33.0"]

WARM = {
    "model inspection": 0.1,
    "engine imports": 20.5,
    "weights": 4.0,
    "compile": 6.1,
    "kernels": 0.5,
    "API start": 1.4,
}
"""Of `engine.start(warm=True)`, what both versions have alike."""


def seconds(found):
    return {phase: round(span.seconds, 3) for phase, span in found.spans.items()}


def unattributed(found):
    return found.total - sum(span.seconds for span in found.spans.values())


def log(name):
    path = LOGS / f"{name}.log"
    assert path.exists(), f"{path} is missing: these tests read the measured logs"
    return [path.read_bytes()]


@pytest.mark.parametrize(
    ("name", "total", "wanted"),
    [
        # gpu.md 2, rows cold1 and warm2; the third is its row with sleep mode
        (
            "cold1",
            222.507,
            {
                "imports": 22.388,
                "model inspection": 22.96,
                "engine imports": 23.251,
                "weights": 4.427,
                "compile": 35.25,
                "graphs": 7.679,
                "kernels": 103.158,
                "API start": 1.689,
            },
        ),
        (
            "warm2",
            59.923,
            {
                "imports": 18.402,
                "model inspection": 0.015,
                "engine imports": 20.602,
                "weights": 4.017,
                "compile": 6.1,
                "graphs": 7.474,
                "kernels": 0.527,
                "API start": 1.408,
            },
        ),
        (
            "sleep_big",
            100.189,
            {
                "imports": 25.399,
                "model inspection": 0.033,
                "engine imports": 28.976,
                "weights": 5.47,
                "compile": 27.62,
                "graphs": 9.198,
                "kernels": 0.233,
                "API start": 1.487,
            },
        ),
    ],
)
def test_measured_log_gives_the_phases_that_were_measured(name, total, wanted):
    found = read_bytes(log(name))
    assert (found.version, found.clock, found.restarts) == ("0.26.0", "relative", 0)
    assert found.serving == total
    assert seconds(found) == wanted
    assert 1 < unattributed(found) < 2


def test_silent_build_of_kernels_is_a_phase_of_its_own():
    """gpu.md 11: 103 s between two lines, of which the second is its end's marker."""
    found = read_bytes(log("cold1"))
    assert (found.spans["kernels"].begin, found.spans["kernels"].end) == (116.427, 219.585)


@pytest.mark.parametrize(("name", "compiled"), [("cold1", "miss"), ("warm2", "hit"), ("sleep_big", "miss")])
def test_dynamo_line_is_no_miss(name, compiled):
    """All three logs have it, a full hit too."""
    assert b"Dynamo bytecode transform time" in log(name)[0]
    assert read_bytes(log(name)).compile == compiled


def test_sleeps_and_wakes_are_those_of_the_log():
    found = read_bytes(log("sleep_big"))
    assert found.sleeps[0] == (115.077, 12.733878)
    assert found.wakes[0] == (123.813, 0.678823)
    assert (len(found.sleeps), len(found.wakes)) == (8, 7)


def test_what_the_engine_says_of_itself_is_kept():
    found = read_bytes(log("warm2"))
    assert found.said == {
        "weights": 2.3,
        "model loading": 4.419845,
        "compile": 6.1,
        "graphs": 6.0,
        "engine init": 15.06,
    }


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dress", EXACT, ids=lambda it: it.__name__)
def test_TOL_03_b_prefixes_of_every_collector_give_the_same_phases(version, dress):
    found = read(dressed(start(version), dress))
    assert found.version == version
    assert found.clock == ("relative" if dress is engine.relative else "runtime")
    some = seconds(found)
    assert {phase: some[phase] for phase in WARM} == WARM
    # 0.33 builds kernels between KV profile and graphs, so the profile is no part of the graphs
    assert some["graphs"] == (7.4 if version == "0.26.0" else 6.0)
    assert found.compile == "hit"
    # only one clock says when the process began
    assert some.get("imports") == (18.4 if dress is engine.relative else None)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("dress", WHOLE_SECONDS, ids=lambda it: it.__name__)
def test_TOL_03_a_engines_own_stamps_give_whole_seconds_and_say_so(version, dress):
    found = read(dressed(start(version), dress))
    assert found.clock == "engine"
    for phase, exact in WARM.items():
        assert seconds(found).get(phase, 0.0) == pytest.approx(exact, abs=1.0)
    assert found.total == pytest.approx(start(version)[-1].at - start(version)[0].at, abs=1.0)
    assert found.notes[0] == ("times are the engine's own: whole seconds (kubectl logs --timestamps has better ones)")


@pytest.mark.parametrize("version", VERSIONS)
def test_TOL_03_c_ranks_are_one_phase_as_long_as_the_slowest(version):
    said = engine.in_ranks(start(version), count=4, late=2.0)
    found = read(dressed(said, engine.runtime))
    # rank 0 begins at 39, rank 3 is loaded at 43 + 3 x 2
    assert seconds(found)["weights"] == 10.0
    assert found.said["model loading"] == 4.0
    assert unattributed(found) >= 0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("warm", "compiled"), [(True, "hit"), (False, "miss")])
@pytest.mark.parametrize("tag", ["", "[vit] "])
def test_TOL_03_d_cached_and_compiled_starts_are_told_apart(version, warm, compiled, tag):
    found = read(dressed(start(version, warm=warm, tag=tag), engine.runtime))
    assert found.compile == compiled
    assert (found.why_no_hit is None) == warm
    assert seconds(found)["kernels"] == (0.5 if warm else 103.2)


def test_TOL_03_e_start_over_new_year_takes_seconds_not_minus_a_year(monkeypatch):
    monkeypatch.setattr(engine, "BEGAN", datetime(2026, 12, 31, 23, 59, 30, tzinfo=UTC))
    found = read(dressed(start(), engine.plain))
    assert found.total == pytest.approx(start()[-1].at - start()[0].at, abs=1.0)
    assert sum(seconds(found).values()) <= found.total


@pytest.mark.parametrize("version", VERSIONS)
def test_TOL_03_f_silence_before_the_ready_line_is_unattributed(version):
    *before, ready = start(version)
    found = read(dressed([*before, Said(ready.at + 27, ready.message, ready.by, "")], engine.runtime))
    usual = read(dressed([*before, ready], engine.runtime))
    assert seconds(found) == seconds(usual)
    assert unattributed(found) == pytest.approx(unattributed(usual) + 27)


@pytest.mark.parametrize("dress", [*EXACT, *WHOLE_SECONDS], ids=lambda it: it.__name__)
def test_TOL_03_g_last_start_is_measured_and_the_restart_reported(dress):
    again = [Said(it.at + 300, it.message, it.by, it.source) for it in start()]
    found = read(dressed([*start(warm=False), *again], dress))
    assert found.restarts == 1
    assert found.compile == "hit"
    assert seconds(found)["kernels"] == pytest.approx(0.5, abs=0.6)
    assert "the last of 2 starts in the log" in found.notes


@pytest.mark.parametrize(
    ("text", "name", "took"),
    [
        ("Graph capturing finished in 17 secs, took 0.60 GiB", "graphs", 17.0),
        ("Graph capturing finished in 5 secs, took -17.83 GiB", "graphs", 5.0),
        ("Model loading took 15.27 GiB and 4.419845 seconds", "model loading", 4.419845),
        ("Model loading took 31.22 GiB memory and 17.2 seconds", "model loading", 17.2),
        ("Loading weights took 17 seconds", "weights", 17.0),
        ("torch.compile took 0.69 s in total", "compile", 0.69),
        ("init engine (profile, create kv cache, warmup model) took 19.70 s", "engine init", 19.7),
        (
            "init engine (profile, create kv cache, warmup model) took 19.70 s (compilation: 8.10 s — language_model:"
            " 6.10 s, encoder: 2.00 s)",
            "engine init",
            19.7,
        ),
    ],
)
def test_TOL_03_h_seconds_are_read_in_every_spelling(text, name, took):
    begin = text.partition(" took")[0].partition(" finished")[0]
    said = [it for it in start() if not it.message.startswith(begin)]
    found = read(dressed([*said, Said(46.0, text)], engine.runtime))
    assert found.said[name] == took


@pytest.mark.parametrize("lines", [[], ["hello"], ["2026-11-29T16:28:02Z hello"], ["\x00\xff"], ['{"a": 1}']])
def test_TOL_03_log_without_any_start_says_so(lines):
    with pytest.raises(UnclearError, match=r"^no start of vLLM in it: no line that any known version prints when it"):
        read(lines)


def test_version_that_nobody_has_read_is_refused():
    with pytest.raises(UnclearError, match=r"^a log of vLLM 0\.40\.1; known are 0\.26\.0, 0\.33\.0$"):
        read(dressed(start("0.40.1"), engine.runtime))


def test_builds_own_part_of_the_version_is_not_the_versions():
    assert read(dressed(start("0.26.0+cpu"), engine.runtime)).version == "0.26.0"


def test_log_that_begins_late_needs_the_version_and_says_what_is_missing():
    late = dressed(start()[3:], engine.runtime)
    with pytest.raises(UnclearError, match=r"^the log does not say which version of vLLM it is of; --engine-version"):
        read(late)
    found = read(late, "0.26.0")
    assert "imports" not in found.spans
    assert "the log begins after the start: what came before its first line is not in it" in found.notes


def test_start_that_does_not_end_has_no_total_and_says_so():
    found = read(dressed(start()[:5], engine.runtime))
    assert found.total is None
    assert "the start does not end in this log: the server does not listen yet" in found.notes


def test_engine_that_failed_says_so():
    said = [*start()[:4], Said(50.0, "EngineCore failed to start.")]
    assert "the engine failed to start" in read(dressed(said, engine.runtime)).notes


def test_prompts_in_a_log_are_no_markers():
    """Requests may be logged, and a client writes what it likes."""
    end = start()[-1].at
    texts = [
        "vLLM server version 0.26.0, serving model x",
        "Resolved architecture: X",
        "Cache the graph of compile range (1, 2) for later use",
        "It took 9 seconds to fall asleep.",
    ]
    said = [
        Said(end + 5, f"Received request a: prompt: '{text}'", "APIServer pid=675", "logger.py:40") for text in texts
    ]
    found = read(dressed([*start(), *said], engine.runtime))
    plain = read(dressed(start(), engine.runtime))
    assert found == plain


def test_lines_of_another_process_do_not_move_the_start():
    """After it serves nothing belongs to the start: a sleep resets and prints things again."""
    end = start()[-1].at
    more = [Said(end + 10, it.message, it.by, it.source) for it in start()[1:-1]]
    assert read(dressed([*start(), *more], engine.runtime)).spans == read(dressed(start(), engine.runtime)).spans


def test_progress_bar_before_a_line_hides_nothing():
    lines = dressed(start(), engine.relative)
    at = next(i for i, line in enumerate(lines) if "Model loading took" in line)
    bar = "".join(f"\rLoading safetensors checkpoint shards: {n}% Completed" for n in range(100))
    lines[at:at] = [f"  42.000 (EngineCore pid=804) {bar}"]
    assert seconds(read(lines)) == seconds(read(dressed(start(), engine.relative)))


@pytest.mark.parametrize("size", [1, 7, 100, 4096])
def test_pieces_of_any_size_give_the_same(size):
    whole = log("warm2")[0]
    pieces = (whole[i : i + size] for i in range(0, len(whole), size))
    assert read_bytes(pieces) == read_bytes([whole])


def test_eager_engine_has_no_compile_and_no_graphs():
    said = [
        it for it in start() if not re.search(r"torch\.compile|Graph capturing|compile range|AOT|Dynamo", it.message)
    ]
    found = read(dressed(said, engine.relative))
    assert found.compile == "none"
    assert "compile" not in found.spans
    assert found.total == start()[-1].at


TIMES = st.lists(st.floats(0, 2000, allow_nan=False), min_size=12, max_size=12)


@given(
    ats=TIMES,
    took=st.dictionaries(st.sampled_from(["loaded", "compiled", "captured", "initialised"]), st.floats(0, 3000)),
    missing=st.sets(st.integers(0, 11)),
    first=st.booleans(),
)
def test_phases_never_overlap_and_never_exceed_the_wall_time(ats, took, missing, first):
    names = [
        *("version", "resolved", "loading", "loaded", "compiled", "cache sized", "captured", "kernels built"),
        *("initialised", "listening soon", "serving", "failed"),
    ]
    at = {name: value for i, (name, value) in enumerate(zip(names, ats, strict=True)) if i not in missing}
    found = list(spans(at, took, 0.0, kernels_first=first).values())
    for before, after in itertools.pairwise(found):
        assert before.end <= after.begin
    assert sum(span.seconds for span in found) <= max([*at.values(), 0.0]) + 0.001
