"""What a build refuses, and what S3 refuses to it: one line, the right exit code, and no manifest."""

import re

import pytest

from tests.serving.scripts.cache_build.build_case import SECRET_KEY, Case
from tests.serving.scripts.stands.s3 import Fault, Request


def fail_times(case: Case, count: int, wanted: str, answer: Fault) -> list[str]:
    """Answer the first `count` requests that match with an error."""
    seen: list[str] = []

    def fault(request: Request) -> Fault | None:
        if re.search(wanted, f"{request.method} {request.target}") and len(seen) < count:
            seen.append(request.target)
            return answer
        return None

    case.bucket.faults = fault
    return seen


def test_a_refused_part_drops_the_upload_and_publishes_no_manifest(case):
    case.arguments = ["--part-bytes", str(5 * 1024**2)]
    fail_times(case, 99, r"PUT .*partNumber=2", Fault(403, "AccessDenied"))
    line = case.run(code=1, STUB_TRITON_FILES="720")
    assert line["outcome"] == "denied"
    assert case.bucket.uploads == {}
    assert not [key for key in case.keys if key.endswith("manifest.json")]


def test_a_warm_start_that_compiles_again_is_refused(case):
    line = case.run(code=1, STUB_KEY_MOVES="1")
    assert line["outcome"] == "not-warm"
    assert "Cache the graph of compile range" in line["reason"]
    assert case.keys == []


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
    assert case.bucket.writes() == []


def test_a_secret_that_cannot_be_looked_for_is_refused_before_the_engine_starts(case):
    case.arguments = ["--secret-env", "NOT_SET"]
    line = case.run(code=1)
    assert line["reason"] == "NOT_SET: shorter than 6 characters or not set; cannot be looked for"
    assert "version 0.26.0" not in line["log"]


def test_an_identity_that_may_not_write_is_told_before_the_engine_starts(case):
    fail_times(case, 99, "POST", Fault(403, "AccessDenied"))
    line = case.run(code=1)
    assert line["outcome"] == "denied"
    assert "version 0.26.0" not in line["log"]


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        (r"PUT .*\.tar", Fault(503, "SlowDown")),
        (r"PUT .*manifest\.json", Fault(503, "SlowDown")),
        (r"PUT .*manifest\.json", Fault(409, "ConditionalRequestConflict")),
        (r"PUT .*manifest\.json", Fault(500, "InternalError")),
        (r"PUT .*\.tar", Fault(409, "ConditionalRequestConflict")),
    ],
)
def test_what_passes_is_tried_again(case, wanted, answer):
    seen = fail_times(case, 2, wanted, answer)
    assert case.run()["outcome"] == "published"
    assert len(seen) == 2
    case.check()


def test_a_bucket_that_stays_down_is_unclear_and_leaves_no_manifest(case):
    fail_times(case, 999, r"PUT .*manifest", Fault(503, "SlowDown"))
    assert case.run(code=3)["outcome"] == "unclear"
    assert not [key for key in case.keys if key.endswith("manifest.json")]


def test_a_conflict_that_stays_is_unclear(case):
    fail_times(case, 999, r"PUT .*manifest", Fault(409, "ConditionalRequestConflict"))
    assert case.run(code=3)["outcome"] == "unclear"


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
