"""The command over a working tree with one whole change in it, as two real rehearsals tell it; and what it refuses."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest

from settings import parse
from tests.harness import REGION, ROOT, stack_settings
from tests.ops.impact.conftest import committed, edit, git, replace, run
from tests.ops.test_cli import HEAVY

NO_PAIR = "Error: Invalid value for '--secret': expected path=value, for example vllm-eks:hfToken=x"
GRACE = parse(stack_settings("dev"), REGION).servers["gemma"].shutdown.grace
PRICES = {"g7e.2xlarge": 3.5, "g7e.4xlarge": 4.0}


def three_servers(settings):
    pools, servers = settings["gpuPools"], settings["servers"]
    pools["rtx-pro-6000"] |= {"prices": PRICES, "maxGpus": 3}
    pools["spare"] = {**pools["rtx-pro-6000"]}
    servers["old"] = copy.deepcopy(servers["gemma"])
    servers["next"] = copy.deepcopy(servers["gemma"])
    servers["next"]["candidate"] = {"version": "0.33.0", "args": {"kv-cache-dtype": "fp8"}}


def whole_change(settings):
    pools, servers = settings["gpuPools"], settings["servers"]
    pools["rtx-pro-6000"]["ami"] = "al2023@v20260801"
    pools["spare"]["maxGpus"] = 5
    settings["cluster"]["systemNodes"]["instanceTypes"] = ["m7i.xlarge"]
    del servers["old"]
    servers["new"] = copy.deepcopy(servers["gemma"])
    servers["gemma"]["engine"]["args"] = {"kv-cache-dtype": "fp8"}
    servers["next"]["engine"]["args"] = servers["next"].pop("candidate")["args"]


@pytest.fixture(scope="module")
def told(repository, tmp_path_factory):
    """The working tree, uncommitted, over its HEAD: exit code, JSON, standard error, and what was left."""
    edit(repository, three_servers)
    committed(repository)
    edit(repository, whole_change)
    temporary = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(repository)
        patch.setattr("tempfile.tempdir", str(temporary))
        code, out, err = run("--base", "HEAD", "--json", "--fail-on", "cold-compile", "--fail-on", "usd-per-hour=+1")
    left = [*temporary.iterdir()]
    git(repository, "checkout", "--quiet", ".")
    return code, json.loads(out), err, left


def test_a_flag_moves_the_key_and_restarts_the_pods(told):
    gemma = told[1]["servers"]["gemma"]
    assert gemma["cache"]["moved"] == {"flag.kv-cache-dtype": [None, "fp8"]}
    assert (gemma["cache"]["outcome"], gemma["cache"]["baseStays"], gemma["cache"]["buildable"]) == (
        "moves",
        True,
        True,
    )
    paths = [it["path"] for it in gemma["pods"]["changed"]]
    assert paths[0] == "spec.containers[vllm].args[--kv-cache-dtype]"
    assert not [path for path in paths if "[1" in path or "order" in path]


def test_a_candidate_that_is_promoted_compiles_nothing(told):
    promoted = told[1]["servers"]["next"]
    assert promoted["cache"]["outcome"] == "built as candidate"
    assert promoted["interruptions"][0]["seconds"] == promoted["predicted"]["after"]["seconds"]["restart"] + GRACE


def test_nothing_serves_for_the_old_pods_end_the_predicted_start_and_the_compile(told):
    gemma = told[1]["servers"]["gemma"]
    rollout, drift = gemma["interruptions"]
    predicted = gemma["predicted"]["after"]["seconds"]
    assert (rollout["start"], drift["start"]) == ("restart", "fresh node")
    # torch.compile takes 51 s without a cache and 7 s with one (article 000)
    assert rollout["seconds"] == pytest.approx(GRACE + predicted["restart"] + 44.4, abs=0.2)
    assert drift["seconds"] == pytest.approx(predicted["fresh node"] + 44.0, abs=0.2)


def test_a_server_for_whose_cache_no_gpu_is_left_is_told_in_the_programs_words(told):
    """Three servers on three GPUs, before and after."""
    said = (
        "gemma 1 + new 1 + next 1 + cache build of new 1 = 4 GPUs > 3 (gpuPools.rtx-pro-6000.maxGpus): no GPU is left"
        " for the Job that builds its start-up cache; allow more, or build while a server has fewer replicas"
    )
    new = told[1]["servers"]["new"]
    assert new["noRoomToBuild"] == said
    assert f"servers.new.cacheBuild: {new['noRoomToBuild']}" in told[1]["warnings"]
    assert new["weightsToOnboard"] is None


def test_a_new_image_of_the_nodes_drifts_the_pool_that_has_it_alone(told):
    (pool,) = told[1]["drift"]
    assert (pool["pool"], pool["atMost"], pool["window"]) == ("rtx-pro-6000", 3, "0 9 * * sun UTC for 6h")
    assert [it["change"] for it in pool["causes"]] == [
        {"path": "amiSelectorTerms", "before": "al2023@v20260724", "after": "al2023@v20260801"}
    ]


def test_a_property_that_cannot_change_replaces_its_resource(told):
    ended = [(it["name"], it["forcedBy"]) for it in told[1]["ended"] if it["action"] == "replace" and not it["routine"]]
    assert ended == [("cluster-system", ["instanceTypes[0]"])] or ended == [("cluster-system", ["instanceTypes"])]


def test_a_limit_moves_the_ceiling_of_its_pool(told):
    assert [(it["what"], it["before"], it["after"], it["usd"]) for it in told[1]["cost"]["ceiling"]] == [
        ("pool spare", "3 GPU", "5 GPU", [12.0, 20.0])
    ]


def test_servers_come_and_go(told):
    servers = told[1]["servers"]
    assert {name: it["state"] for name, it in servers.items()} == {
        "gemma": "both",
        "new": "new",
        "next": "both",
        "old": "removed",
    }
    deleted = {it["name"] for it in told[1]["ended"] if it["action"] == "delete"}
    assert {"old", "old-server", "old-publisher", "old-cache-build"} <= deleted
    standing = {it["what"]: it["usd"] for it in told[1]["cost"]["standing"]}
    assert (standing["server new"], standing["server old"]) == ([0.0, 4.0], [4.0, 0.0])


def test_a_limit_that_is_passed_ends_with_1_and_what_cannot_be_told_is_said_beside_it(told):
    code, _, err, _ = told
    assert code == 1
    assert err.splitlines()[-2:] == [
        "--fail-on cold-compile: server gemma: its cache key moves: flag.kv-cache-dtype",
        "--fail-on usd-per-hour=+1: cannot tell: no price is known of system nodes cluster-system",
    ]


def test_the_repository_and_the_temporary_folder_are_as_before(told, repository):
    assert told[3] == []
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base", ""), "Error: Invalid value for '--base': empty"),
        (("--base", "nope"), "--base nope: not a revision that git knows"),
        (("--base", "HEAD", "--head", "nope"), "--head nope: not a revision that git knows"),
        (("--base", "HEAD", "--stack", "qa"), "--stack qa: working tree has no Pulumi.qa.yaml; expected dev, prod"),
        (
            ("--base", "HEAD", "--stack", "x" * 300),
            f"--stack {'x' * 80}...: working tree has no Pulumi.{'x' * 73}...; expected dev, prod",
        ),
        (("--base", "HEAD", "--secret", "hunter2"), NO_PAIR),
        (("--base", "HEAD", "--fail-on", "restart=x"), "--fail-on restart=x: restart takes +10s, +5% or 200s"),
    ],
    ids=["empty", "base", "head", "stack", "long", "secret", "limit"],
)
def test_what_cannot_be_asked_is_usage_and_starts_nothing(impact, arguments, said):
    code, out, err = impact(*arguments)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == said
    assert "hunter2" not in err


def test_help_needs_none_of_the_sdks():
    script = (
        "import sys\nfrom ops.cli import app\n"
        "try:\n    app(['impact', '--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print('loaded:', *sorted({set(HEAVY)!r} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: ")
    assert "Example: .venv/bin/python -m ops impact --base " in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_a_secret_that_is_missing_is_usage_and_says_which(impact):
    code, out, err = impact("--base", "HEAD", "--stack", "prod")
    assert (code, out) == (2, "")
    assert err.splitlines()[1].startswith(
        "the stack needs secrets, and a comparison decrypts none: give each with --secret"
    )
    assert "--secret 'vllm-eks:dockerHubCredentials=...'" in err


def test_another_revisions_packages_are_3_before_anything_runs(impact, repository):
    replace(repository, "requirements.in", "typer==", "typer>")
    code, out, err = impact("--base", "HEAD")
    git(repository, "checkout", "--quiet", ".")
    assert (code, out.splitlines()[2]) == (3, "**Not compared**, so nothing is known of this change:")
    assert err.startswith("working tree: its requirements.in is not what this Python has: typer>")
