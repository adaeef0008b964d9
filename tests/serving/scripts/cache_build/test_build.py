"""What two boots of the stub engine leave in the bucket."""

import itertools
import re

import collect
from build_report import LINE
from tests.serving.scripts.cache_build.build_case import FINGERPRINT, PREFIX, Case
from tests.serving.scripts.stands.s3 import Fault, Request
from tests.serving.scripts.stands.s3_writable import Object

KEYS = [rf"{PREFIX}/{folder}/([0-9a-f]{{64}}\.tar|manifest\.json)" for folder in (FINGERPRINT, "base")]


def test_a_build_publishes_two_archives_and_their_manifests_last(case):
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("published", "published", "published")
    assert len(case.keys) == 4
    assert all(any(re.fullmatch(pattern, key) for pattern in KEYS) for key in case.keys)
    writes = case.bucket.writes()
    assert [".tar" in target for target in writes] == [True, True, False, False]
    case.check()
    assert case.bucket.unconditional() == []
    manifest = case.manifest(FINGERPRINT)
    assert manifest["bytes"] == int(line["bytes"])
    assert manifest["recipe"]["engineVersion"] == "0.26.0"
    assert manifest["recipe"]["changedByWarmStart"] == []


def test_the_base_is_the_whole_without_the_compile_cache_and_neither_holds_assets_or_plan(case):
    case.run(VLLM_ENABLE_STARTUP_PLAN="1", PYTHONPYCACHEPREFIX=f"{case.root}/pycache")
    whole, base = set(case.archive(FINGERPRINT).getnames()), set(case.archive("base").getnames())
    assert any(name.startswith("vllm/torch_compile_cache/") for name in whole)
    assert base == {name for name in whole if not name.startswith("vllm/torch_compile_cache")}
    for wanted in ("vllm/modelinfos", "triton/0000/kernel.cubin", "home/.humming/launcher.so", "pycache/usr/lib/vllm"):
        assert wanted in base
    assert not [name for name in whole if "assets" in name or "startup_plan" in name or name.startswith(".")]
    # the build has the engine's PYTHONPYCACHEPREFIX, and is no part of the engine
    assert not [name for name in whole if "build_report" in name]


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


def test_a_build_after_a_build_is_a_success_that_starts_no_engine_and_writes_nothing(case):
    case.run()
    before = dict(case.bucket.objects)
    case.wipe()
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("present", "present", "present")
    assert "version 0.26.0" not in line["log"]
    assert case.bucket.objects == before


def test_a_publisher_that_may_not_look_builds_and_replaces_nothing(case):
    case.run()
    before = {key: case.bucket.objects[key] for key in case.keys if key.endswith("manifest.json")}
    case.wipe()
    case.bucket.faults = lambda ask: Fault(403, "AccessDenied") if ask.method == "GET" else None
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("present", "present", "present")
    assert {key: case.bucket.objects[key] for key in before} == before
    case.check()


def test_a_manifest_that_came_while_the_engine_started_leaves_no_archive_idle(case):
    manifests = [f"{PREFIX}/{folder}/manifest.json" for folder in (FINGERPRINT, "base")]
    looks = itertools.count(1)

    def other(ask: Request) -> None:
        """Publish both manifests before the second look at the first of them."""
        if (ask.method, ask.key) == ("GET", manifests[0]) and next(looks) == 2:
            case.bucket.objects |= {key: Object(b"{}") for key in manifests}

    case.bucket.faults = other
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("present", "present", "present")
    assert int(line["files"]) > 0
    assert case.keys == manifests
    assert case.bucket.writes() == []


def test_a_new_fingerprint_is_published_beside_a_base_that_is_there(case):
    case.run()
    case.bucket.objects = {key: value for key, value in case.bucket.objects.items() if "/base/" in key}
    case.wipe()
    line = case.run()
    assert (line["outcome"], line["fingerprint"], line["base"]) == ("published", "published", "present")
    assert len([key for key in case.keys if "/base/" in key]) == 2


def test_two_publishers_at_once_both_succeed_and_leave_one_manifest_each(case, tmp_path):
    other = Case(tmp_path / "other", case.bucket)
    first, second = case.start(), other.start()
    logs = [process.communicate(timeout=60)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), logs
    lines = [LINE.search(log) for log in logs]
    assert sorted(line["fingerprint"] for line in lines) == ["present", "published"]
    assert sorted(line["base"] for line in lines) == ["present", "published"]
    case.check()


def test_a_large_archive_goes_in_parts_and_arrives_whole(case):
    case.arguments = ["--part-bytes", str(5 * 1024**2)]
    case.run(STUB_TRITON_FILES="720")
    assert [target for target in case.bucket.writes() if "partNumber=2" in target]
    assert case.bucket.uploads == {}
    assert case.bucket.unconditional() == []
    case.check()


def test_an_engine_that_does_not_compile_is_published_all_the_same(case):
    line = case.run("--enforce-eager")
    assert line["outcome"] == "published"
    assert case.manifest(FINGERPRINT)["recipe"]["compiles"] is False


def test_a_link_out_of_the_cache_is_left_out_and_one_inside_is_made_relative(case):
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
