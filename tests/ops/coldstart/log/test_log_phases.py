"""TOL-03: phases that overlap, ranks, prefixes, stamps without a year, silence: each as the case hands it."""

from datetime import UTC, datetime

import pytest

from ops.coldstart.log import read
from ops.failures import UnclearError
from tests.ops.coldstart.log import engine
from tests.ops.coldstart.log.engine import (
    EXACT,
    VERSIONS,
    WHOLE_SECONDS,
    Said,
    dressed,
    seconds,
    start,
    unattributed,
)

WARM = {
    "model inspection": 0.1,
    "engine imports": 20.5,
    "weights": 4.0,
    "compile": 6.1,
    "kernels": 0.5,
    "API start": 1.4,
}
"""Of `engine.start(warm=True)`, what both versions have alike."""


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
