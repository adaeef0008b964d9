"""The cache build Job's program, from two boots of the stub engine to what lies in the bucket."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.scripts import SCRIPTS, load, stub_engine_path
from tests.serving.scripts.build_case import (
    BUCKET,
    ENGINE,
    FINGERPRINT,
    GPU,
    MODEL,
    PREFIX,
    SECRET_KEY,
    Case,
    free_port,
    report,
)
from tests.serving.scripts.s3_writable import Bucket

KEYS = [rf"{PREFIX}/{folder}/([0-9a-f]{{64}}\.tar|manifest\.json)" for folder in (FINGERPRINT, "base")]


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    bucket = Bucket()
    made = Case(tmp_path / "vllm-cache", bucket)
    yield made
    made.kill()
    bucket.close()


def fail_times(case: Case, count: int, wanted: str, answer: tuple[int, str]) -> list[str]:
    """Answer the first `count` requests that match with an error."""
    seen: list[str] = []

    def fault(method: str, target: str) -> tuple[int, str] | None:
        if re.search(wanted, f"{method} {target}") and len(seen) < count:
            seen.append(target)
            return answer
        return None

    case.bucket.fault = fault
    return seen


def test_a_build_publishes_two_archives_and_their_manifests_last(case):
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("published", "published", "published")
    assert len(case.keys) == 4
    assert all(any(re.fullmatch(pattern, key) for pattern in KEYS) for key in case.keys)
    writes = case.bucket.puts()
    assert [".tar" in target for target in writes] == [True, True, False, False]
    case.check()
    manifest = case.manifest(FINGERPRINT)
    assert manifest["bytes"] == int(line["bytes"])
    assert manifest["recipe"]["engineVersion"] == "0.26.0"
    assert manifest["recipe"]["changedByWarmStart"] == []


def test_the_base_is_the_whole_without_the_compile_cache_and_neither_holds_assets_or_plan(case):
    case.run(VLLM_ENABLE_STARTUP_PLAN="1")
    whole, base = set(case.archive(FINGERPRINT).getnames()), set(case.archive("base").getnames())
    assert any(name.startswith("vllm/torch_compile_cache/") for name in whole)
    assert base == {name for name in whole if not name.startswith("vllm/torch_compile_cache")}
    for wanted in ("vllm/modelinfos", "triton/0000/kernel.cubin", "home/.humming/launcher.so", "pycache/usr/lib/vllm"):
        assert wanted in base
    assert not [name for name in whole if "assets" in name or "startup_plan" in name or name.startswith(".")]


def test_an_archive_is_sorted_owned_by_nobody_and_keeps_times_to_the_second(case):
    case.run()
    with case.archive(FINGERPRINT) as tar:
        members = tar.getmembers()
        names = [member.name for member in members]
        assert names == sorted(names)
        assert len(set(names)) == len(names)
        assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
        assert {member.mode for member in members} <= {0o644, 0o755}
        for member in members:
            assert member.mtime == int((case.root / member.name).stat().st_mtime)
            assert "mtime" not in member.pax_headers


def test_tol_04_what_is_published_is_what_the_engine_hits_after_a_restore(case):
    line = case.run()
    shutil.rmtree(case.root)
    server, cache = "chat", case.root.parent / "node"
    restore = [
        *(sys.executable, "-B", SCRIPTS / "restore.py", "--bucket", BUCKET, "--engine", ENGINE, "--gpu", GPU),
        *("--model", MODEL, "--fingerprint", FINGERPRINT, "--server", server, "--cache", str(cache)),
    ]
    done = subprocess.run(restore, env=case.environment(), capture_output=True, text=True, check=True)
    assert "outcome=hit" in done.stdout
    assert f"files={line['files']} " in done.stdout
    (cache / server / FINGERPRINT).rename(case.root)  # as the subPath mount does
    log = _starts(case)
    assert "Directly load AOT compilation" in log
    assert "Compiling a graph" not in log
    # FlashInfer did not build again
    assert next(case.root.rglob("cached_ops/sampling/built")).read_text() == "1\n"


def _starts(case: Case) -> str:
    port = free_port()
    command = [sys.executable, "-B", stub_engine_path(), "/models", "--port", str(port)]
    program = f"import boot; boot.boot({command!r}, '0.26.0', {port}, 20)"
    return subprocess.run(
        [sys.executable, "-B", "-c", program],
        env=case.environment(PYTHONPATH=str(SCRIPTS)),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_a_build_after_a_build_is_a_success_and_changes_nothing(case):
    case.run()
    before = {key: case.bucket.objects[key] for key in case.keys if key.endswith("manifest.json")}
    case.wipe()
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("present", "present", "present")
    assert {key: case.bucket.objects[key] for key in before} == before
    case.check()


def test_a_new_fingerprint_is_published_beside_a_base_that_is_there(case):
    case.run()
    case.bucket.objects = {key: value for key, value in case.bucket.objects.items() if "/base/" in key}
    case.wipe()
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("published", "published", "present")


def test_two_publishers_at_once_both_succeed_and_leave_one_manifest_each(case, tmp_path):
    other = Case(tmp_path / "other", case.bucket)
    first, second = case.start(), other.start()
    logs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), logs
    lines = [report.LINE.search(log) for log in logs]
    assert sorted(line["fingerprint"] for line in lines) == ["present", "published"]
    assert sorted(line["base"] for line in lines) == ["present", "published"]
    case.check()


def test_a_large_archive_goes_in_parts_and_arrives_whole(case):
    case.arguments = ["--part-bytes", str(5 * 1024**2)]
    case.run(STUB_TRITON_FILES="720")
    assert [target for target in case.bucket.puts() if "partNumber=2" in target]
    assert case.bucket.uploads == {}
    case.check()


def test_a_refused_part_drops_the_upload_and_publishes_no_manifest(case):
    case.arguments = ["--part-bytes", str(5 * 1024**2)]
    fail_times(case, 99, r"PUT .*partNumber=2", (403, "AccessDenied"))
    line = case.run(code=1, STUB_TRITON_FILES="720")
    assert line["outcome"] == "denied"
    assert case.bucket.uploads == {}
    assert not [key for key in case.keys if key.endswith("manifest.json")]


def test_a_warm_start_that_compiles_again_is_refused(case):
    line = case.run(code=1, STUB_KEY_MOVES="1")
    assert line["outcome"] == "not-warm"
    assert "Cache the graph of compile range" in line["reason"]
    assert case.keys == []


def test_an_engine_that_does_not_compile_is_published_all_the_same(case):
    line = case.run("--enforce-eager")
    assert line["outcome"] == "published"
    assert case.manifest(FINGERPRINT)["recipe"]["compiles"] is False


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({"STUB_SECRET": "hf_" + "Ab1" * 12}, "a Hugging Face token"),
        ({"STUB_SECRET": "AKIA" + "Z2" * 8}, "an AWS access key"),
        ({"STUB_SECRET": "-----BEGIN EC PRIVATE KEY-----\n" + "MHcCAQEE" * 8}, "a private key"),
        ({"STUB_SECRET": SECRET_KEY}, "the value of AWS_SECRET_ACCESS_KEY"),
        ({"STUB_SECRET": 'quo"ted-pass', "PASSWORD": 'quo"ted-pass'}, "the value of PASSWORD"),
        ({"VLLM_API_KEY": "k-123456"}, "the value of VLLM_API_KEY"),
    ],
)
def test_a_planted_secret_is_named_by_file_and_kind_and_nothing_is_uploaded(case, environment, kind):
    if "PASSWORD" in environment:
        case.arguments = ["--secret-env", "PASSWORD"]
    line = case.run(code=1, **environment)
    assert line["outcome"] == "secret"
    assert line["reason"].endswith(f" holds {kind}")
    assert line["reason"].startswith("vllm/")
    for value in environment.values():
        assert value not in line["log"]
    assert case.bucket.puts() == []


def test_a_secret_that_cannot_be_looked_for_is_refused_before_the_engine_starts(case):
    case.arguments = ["--secret-env", "NOT_SET"]
    line = case.run(code=1)
    assert line["reason"] == "NOT_SET: shorter than 6 characters or not set; cannot be looked for"
    assert "version 0.26.0" not in line["log"]


def test_an_identity_that_may_not_write_is_told_before_the_engine_starts(case):
    fail_times(case, 99, "POST", (403, "AccessDenied"))
    line = case.run(code=1)
    assert line["outcome"] == "denied"
    assert "version 0.26.0" not in line["log"]


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        (r"PUT .*\.tar", (503, "SlowDown")),
        (r"PUT .*manifest\.json", (503, "SlowDown")),
        (r"PUT .*manifest\.json", (409, "ConditionalRequestConflict")),
        (r"PUT .*manifest\.json", (500, "InternalError")),
    ],
)
def test_what_passes_is_tried_again(case, wanted, answer):
    seen = fail_times(case, 2, wanted, answer)
    assert case.run()["outcome"] == "published"
    assert len(seen) == 2
    case.check()


def test_a_bucket_that_stays_down_is_unclear_and_leaves_no_manifest(case):
    fail_times(case, 999, r"PUT .*manifest", (503, "SlowDown"))
    assert case.run(code=3)["outcome"] == "unclear"
    assert not [key for key in case.keys if key.endswith("manifest.json")]


def test_an_engine_that_dies_is_one_line_and_publishes_nothing(case):
    line = case.run(code=1, STUB_REFUSES="1")
    assert re.fullmatch(r"the cold start: exit code 1 after \d+ s, before it was ready", line["reason"])
    assert line["outcome"] == "engine"
    assert case.keys == []


def test_a_root_that_has_seen_traffic_is_never_published_nor_touched(case):
    case.root.mkdir()
    (case.root / "triton").mkdir()
    line = case.run(code=1)
    assert "what has seen traffic is never published" in line["reason"]
    assert [path.name for path in case.root.iterdir()] == ["triton"]


def test_a_link_out_of_the_cache_is_left_out_and_one_inside_is_made_relative(case):
    collect = load("collect")
    root = case.root
    (root / "vllm").mkdir(parents=True)
    (root / "vllm/a").write_text("a")
    (root / "vllm/in").symlink_to(root / "vllm/a")
    (root / "vllm/out").symlink_to("/etc/passwd")
    told: list[str] = []
    layout = collect.Layout.of(root, {"VLLM_CACHE_ROOT": f"{root}/vllm"})
    found = {member.name: member.target for member in collect.members(root, layout, told.append)}
    assert found == {"vllm": "", "vllm/a": "", "vllm/in": "a"}
    assert told == ["vllm/out: a link to /etc/passwd"]


def test_killed_at_20_moments_the_bucket_is_whole_and_the_next_build_succeeds(case):
    began = time.monotonic()
    case.run()
    span = time.monotonic() - began
    case.bucket.objects.clear()
    for moment in range(20):
        process = case.start()
        # the second half holds the collecting and the uploads: most moments lie there
        time.sleep(span * (0.1 + 0.9 * (moment / 19) ** 0.5))
        os.killpg(process.pid, signal.SIGKILL)
        case.kill()
        case.check()
    line = case.run()
    assert line["outcome"] in {"published", "present"}
    case.check()


def test_sigterm_ends_the_engine_too(case):
    process = case.start(STUB_SECONDS="30")
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGTERM
    assert case.processes() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fingerprint", "base"], "--fingerprint 'base': it comes with every build"),
        (["--fingerprint", "../x"], "--fingerprint '../x': want 8 to 64 lower-case hex digits or 'base'"),
    ],
)
def test_wrong_usage_is_one_line_and_code_2(case, arguments, message):
    case.arguments = arguments
    process = case.start()
    log, _ = process.communicate(timeout=10)
    assert (process.returncode, log) == (2, f"usage: {message}\n")
