"""The stack file as the real Pulumi engine hands it to the program, and as `ops` reads it."""

import json
import subprocess
import sys

import pytest

from rehearsal.preview import preview
from tests.harness import ROOT, SECRETS, stack_settings
from tests.rehearsal.test_stacks import variant

WRITTEN = (
    "{factor: 4.0}",
    "[1e3, 1e20, 1e21, 1e-7, 1e400, -0.0, .5, 1_000.5]",
    "[0o17, 010, 08, 0B11, -0x1F, 1_000, 18446744073709551615, 123456789012345678901]",
    "[2020-01-01, 2020-1-1 1:2:3.50, 2020-01-01T10:00:00Z, 2020-01-01t10:00:00+02:00, 2020-02-30, '2020-01-01']",
    "[no, on, 12:30, True, ~, '1', !!str 1.0, !!float 4, !!int '5']",
    "{1: a, 2.50: b, true: c, ~: d, 0x10: e, 2020-01-01: f, 1e6: g}",
    "{a: &a {x: 1.0, y: 2}, b: {y: 3, <<: *a}, c: {<<: [{z: 1}, *a]}, d: *a}",
)


@pytest.fixture
def project(folder, tmp_path, monkeypatch):
    """`project(raw, **written)`: the current folder is a copy of the program; `written`: YAML for words in it."""

    def make(raw, **written):
        copy = variant(tmp_path / "project", raw)
        path = copy / "Pulumi.dev.yaml"
        text = path.read_text()
        for word, value in written.items():
            assert text.count(word) == 1
            text = text.replace(word, value)
        path.write_text(text)
        monkeypatch.chdir(copy)
        return copy

    (tmp_path / "project").mkdir()
    return make


def test_cache_keys_are_those_of_the_program_however_a_value_is_written(project, ops):
    """Another key than the program's, and `cache prune --unused` takes the cache that is in use."""
    raw = stack_settings("dev")
    gemma = raw["servers"].pop("gemma")
    for number in range(len(WRITTEN)):
        engine = gemma["engine"] | {"args": {"hf-overrides": {"rope_parameters": f"WRITTEN{number}"}}}
        raw["servers"][f"s{number}"] = gemma | {"engine": engine}
    raw["gpuPools"][gemma["pool"]]["maxGpus"] = len(WRITTEN)
    raw["tags"] = "TAGS"
    words = {f"WRITTEN{number}": text for number, text in enumerate(WRITTEN)}
    copy = project(raw, TAGS="{2024: x, true: y, stack: dev}", **words)
    planned = preview("dev", project=copy, secrets=SECRETS).outputs["servers"]
    found = {name: json.loads(ops("cache", "key", "--server", name, "--json")[1])["exact"] for name in raw["servers"]}
    assert found == {name: it["cachePrefix"] for name, it in planned.items()}
    assert len(set(found.values())) == len(WRITTEN)


def test_what_is_wrong_is_told_in_the_words_of_the_program(project, ops):
    """Keys of mappings are text for both, and both go through them in the same order."""
    raw = stack_settings("dev")
    raw |= {"servers": "SERVERS", "gpuPools": "POOLS"}
    copy = project(raw, SERVERS="{1: {}, ~: {}, B: {}}", POOLS="{1: {}, a: {}}")
    command = [sys.executable, "-m", "rehearsal", "preview", "--stack", "dev", "--project", str(copy)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stderr
    assert said.startswith("the stack file has ")
    assert ops("cache", "ls") == (1, "", f"Pulumi.dev.yaml: {said}")
