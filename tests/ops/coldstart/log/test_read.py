"""The phases of a start, out of logs in every form in which they come."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.coldstart.log import read, read_bytes
from ops.coldstart.log.read import spans
from ops.failures import UnclearError
from tests.harness import ROOT
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import Said, dressed, seconds, start, unattributed

LOGS = ROOT.parent / "shared" / "facts" / "logs"


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


@pytest.mark.parametrize(
    "text",
    [
        "EngineCore failed to start.",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ],
    ids=["of the engine", "of the process before it"],
)
def test_engine_that_failed_says_so_with_the_last_error_before(text):
    said = [*start()[:4], Said(50.0, text)]
    found = read(dressed(said, engine.runtime))
    assert (found.failed, found.notes) == (True, ("the engine failed to start",))
    why = "torch.OutOfMemoryError: CUDA out of memory.\x1b[2J Tried to allocate 2.00 GiB"
    # the one before raises only because of it
    said = [*start()[:4], Said(49.0, "KeyError: 'x'"), Said(49.5, why), *said[4:]]
    found = read(dressed(said, engine.runtime))
    quoted = "torch.OutOfMemoryError: CUDA out of memory.\\x1b[2J Tried to allocate 2.00 GiB"
    assert found.notes == (f"the engine failed to start, its last error: {quoted}",)


def test_start_that_stops_in_the_middle_quotes_its_last_error_cut():
    found = read(dressed([*start()[:4], Said(49.5, f"ValueError: {'x' * 1000}")], engine.runtime))
    assert not found.failed
    assert found.notes == (
        "the start does not end in this log: the server does not listen yet, its last error: ValueError: " + "x" * 200,
    )


def test_errors_of_requests_are_not_the_starts():
    served = [*start(), Said(start()[-1].at + 5, "ValueError: no such model")]
    assert read(dressed(served, engine.runtime)).notes == ()


@pytest.mark.parametrize("version", ["0.26.0", "0.33.0"])
def test_all_containers_of_a_pod_give_the_engines_start(version):
    """Kubectl writes one container after another: first ones and sidecars have begun long before the engine."""

    def beside(at: float, container: str, text: str) -> str:
        return f"[pod/gemma-7d9f/{container}] {engine.runtime(Said(at, text, source=''))}"

    alone = read(dressed(start(version), engine.pods))
    whole = [
        beside(-40.0, "cache", "cache-restore: begin"),
        beside(-9.0, "cache", "cache-restore: outcome=hit"),
        beside(-8.0, "proxy", "start worker process 29"),
        beside(900.0, "proxy", '127.0.0.1 "GET /health HTTP/1.1" 200'),
        f"[pod/gemma-7d9f/vllm] {engine.runtime(Said(0.0, 'before Python has imported', source=''))}",
        *dressed(start(version), engine.pods),
    ]
    found = read(whole)
    assert (found.restarts, found.notes) == (0, ())
    assert found.spans["imports"].seconds == pytest.approx(18.4)
    assert found.total == pytest.approx(alone.total + 18.4)


def test_all_containers_without_a_prefix_leave_what_was_before_the_banner_untold():
    restored = [f"{engine.runtime(Said(at, text, source=''))}" for at, text in ((-40.0, "cache-restore: begin"),)]
    restored.append(engine.runtime(Said(-9.0, 'cache-restore: outcome=hit reason=""', source="", by="")))
    restored[-1] = restored[-1].replace("() INFO:     ", "")
    found = read([*restored, *dressed(start("0.33.0"), engine.runtime)])
    assert "imports" not in found.spans
    alone = read(dressed(start("0.33.0"), engine.runtime))
    assert found.total == pytest.approx(alone.total)
    assert found.notes == (
        "lines of several containers, and nobody says whose: what came before the engine's banner is not told",
    )


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
