"""The tables of the docs are what the program says today."""

import pytest

from serving.budget.timeline import PHASES
from serving.techniques import TECHNIQUES
from tests.docs.tables import PARTS, keys, phases
from tests.docs.tables.part import COMMAND, PAGES, Part
from tests.stack.toggles.fields import keys as all_keys


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.page}, {part.name}")
def test_a_table_of_the_docs_is_the_program_s(part: Part) -> None:
    page = (PAGES / part.page).read_text(encoding="utf-8")
    assert part.put(page) == page, f"run {COMMAND}"


def test_a_page_without_the_marks_of_its_table_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"docs/a.md: expected once: <!-- t: made by tests/docs/tables -->"):
        Part("a.md", "t", lambda: "").put("no table")


def test_every_phase_is_explained() -> None:
    assert phases.HAPPENS.keys() == set(PHASES)


def test_every_key_of_servers_and_pools_is_told_what_it_does_to_the_cache() -> None:
    told = {key for kind in keys.kinds().values() for key in kind} | keys.BY_TECHNIQUE
    patterns = {
        key.pattern: key.pattern.replace("servers.*.", keys.SERVER).replace("gpuPools.*.", keys.POOL)
        for key in all_keys()
        if key.pattern.startswith(("servers.*.", "gpuPools.*."))
    }
    missing = {pattern for pattern, path in patterns.items() if keys.shown(path) not in told}
    assert missing == set()


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("engine.version", "another cache"),
        ("gpuPools: product", "another cache"),
        ("engine.maxNumSeqs", "another fingerprint"),
        ("engine.gpuMemoryUtilization", "another fingerprint"),
        ("model.servedName", "the same, pods restart"),
        ("replicas", "the same, nothing restarts"),
    ],
)
def test_what_a_key_does_to_the_cache(key: str, kind: str) -> None:
    assert [it for it in keys.KINDS if key in keys.kinds()[it]] == [kind]


def test_only_what_a_candidate_has_can_be_built_before() -> None:
    held = {key for kind in keys.kinds().values() for key in kind if keys.can_be_candidate(key)}
    assert held == {"engine.version", "engine.image", "engine.args"}


def test_a_technique_is_held_against_the_server_that_has_what_it_needs() -> None:
    """sleep-mode moves the flag alone, not what front-proxy sets."""
    assert keys.moved("sleep-mode") == ["flag.enable-sleep-mode", "env.VLLM_SERVER_DEV_MODE"]
    assert keys.moved("cache-restore") == []
    assert {name for name in TECHNIQUES if not keys.moved(name)} >= {"no-mount", "fast-probes", "front-proxy"}
