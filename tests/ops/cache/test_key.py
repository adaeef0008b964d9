"""`ops cache key`: the program's own key, with what it is made of and what moved."""

import json

import pytest

from tests.ops.stack.test_stack_file import git
from tests.serving.cache_key.servers import exact, server


@pytest.fixture
def committed(folder):
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")


def engine(**changes):
    return lambda settings: settings["servers"]["gemma"]["engine"].update(changes)


def test_the_key_is_the_one_that_the_program_computes(ops):
    code, out, err = ops("cache", "key", "--server", "gemma", "--stack", "prod", "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert found["exact"] == exact(server())
    assert found["base"] == f"vllm-cache/{found['engine']}/{found['gpu']}/{found['model']}/base/"
    assert found["exact"] == found["base"].replace("base/", f"{found['fingerprint']}/")
    assert found["facts"]["flag.max-model-len"] == server().engine.max_model_len
    assert (found["moved"], found["new"]) == (None, False)


def test_people_see_the_parts_the_prefixes_and_every_input(ops):
    known = json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])
    code, out, _ = ops("cache", "key", "--server", "gemma")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line)
    assert code == 0
    for part in ("engine", "gpu", "model", "fingerprint", "exact", "base"):
        assert lines[part] == known[part]
    assert {name: json.loads(lines[name]) for name in known["facts"]} == known["facts"]


def test_a_flag_that_moved_is_named_with_both_values(ops, edit, committed):
    edit(engine(maxModelLen=4096, args={"kv-cache-dtype": "fp8"}))
    code, out, _ = ops("cache", "key", "--server", "gemma", "--diff", "HEAD")
    assert code == 0
    assert out.splitlines()[:5] == [
        "moved since HEAD, so another cache is needed (ops cache build):",
        "flag.max-model-len   8192    ->  4096",
        'flag.kv-cache-dtype  absent  ->  "fp8"',
        "",
        "engine       docker.io_svllm_svllm-openai_cv0.33.0",
    ]
    found = json.loads(ops("cache", "key", "--server", "gemma", "--diff", "HEAD", "--json")[1])
    assert found["moved"] == {"flag.max-model-len": [8192, 4096], "flag.kv-cache-dtype": [None, "fp8"]}


def test_a_neutral_change_moves_nothing(ops, edit, committed):
    edit(lambda settings: settings["servers"]["gemma"]["model"].update(servedName="another"))
    code, out, _ = ops("cache", "key", "--server", "gemma", "--diff", "HEAD")
    assert code == 0
    assert out.startswith("nothing moved since HEAD: the cache stays\n\nengine  ")
    assert json.loads(ops("cache", "key", "--server", "gemma", "--diff", "HEAD", "--json")[1])["moved"] == {}


def test_a_server_that_is_new_since_the_revision_is_no_mistake(ops, edit, committed):
    edit(lambda settings: settings.update(servers={"fresh": settings["servers"]["gemma"]}))
    code, out, _ = ops("cache", "key", "--server", "fresh", "--diff", "HEAD")
    assert code == 0
    assert out.startswith("new since HEAD: the stack file did not have it\n\nengine  ")
    assert json.loads(ops("cache", "key", "--server", "fresh", "--diff", "HEAD", "--json")[1])["new"] is True


@pytest.mark.parametrize("command", [("cache", "key"), ("cache", "build")], ids=" ".join)
def test_a_candidate_that_is_not_there_is_refused(ops, command):
    assert ops(*command, "--server", "gemma", "--candidate") == (
        1,
        "",
        "servers.gemma.candidate: missing; expected {version: ..., args: {}}\n",
    )


def test_a_candidates_key_is_the_servers_once_it_is_promoted(ops, edit):
    candidate = {"version": "0.26.0", "image": "registry.example/vllm:v2", "args": {"enforce-eager": True}}
    edit(lambda settings: settings["servers"]["gemma"].update(candidate=candidate))
    before = json.loads(ops("cache", "key", "--server", "gemma", "--candidate", "--json")[1])
    now = json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])

    def promoted(settings):
        its = settings["servers"]["gemma"]
        its["engine"] |= its.pop("candidate")

    edit(promoted)
    after = json.loads(ops("cache", "key", "--server", "gemma", "--json")[1])
    assert before["exact"] == after["exact"] != now["exact"]
