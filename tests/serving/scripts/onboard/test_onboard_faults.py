"""What the hub, the content network and S3 do wrong: each is one line, the right exit code, and no marker."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.scripts.onboard.onboard_case import BUCKET, PREFIX, SHARDS, Case
from tests.serving.scripts.stands.agent import agent
from tests.serving.scripts.stands.hub import COMMIT, REPOSITORY
from tests.serving.scripts.stands.s3 import Fault, Request
from tests.serving.scripts.stands.s3_writable import Object

TOKEN = "hf_thisIsTheSecretToken"  # noqa: S105 - what must not be seen


@pytest.fixture
def case() -> Iterator[Case]:
    made = Case()
    yield made
    # whatever happened: no secret was printed, no token crossed, and a marker means a whole folder
    assert not case_leaks(made)
    assert not made.complete or made.stored == made.wanted
    made.close()


SAID: list[str] = []


def case_leaks(case: Case) -> list[str]:
    secrets = (TOKEN, "s3cr3t-signature", "s3cr3t-aws-key")
    crossed = [path for who, path, headers in case.hub.requests if who == "content" and "Authorization" in headers]
    return [secret for secret in secrets for text in SAID if secret in text] + crossed


def onboard(case: Case, *more: str, **given: str) -> tuple[int, list[str]]:
    done = case.onboard(*more, **given)
    SAID[:] = [done.stdout, done.stderr]
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.splitlines()


def test_wrong_bytes_are_never_an_object(case: Case) -> None:
    case.hub.hashes[SHARDS[0]] = "0" * 64
    code, (line,) = onboard(case)
    assert code == 1
    assert line.startswith(f"onboard: {SHARDS[0]}: hashes to ")
    assert PREFIX + SHARDS[0] not in case.bucket.objects
    assert (case.complete, case.bucket.uploads) == (False, {})


def test_a_body_that_ends_early_is_fetched_again(case: Case) -> None:
    case.hub.fault = lambda ask: 1000 if ask.name == SHARDS[0] and ask.count <= 2 else None
    assert onboard(case) == (0, [])


def test_a_body_that_always_ends_early_is_no_answer(case: Case) -> None:
    case.hub.fault = lambda ask: 1000 if ask.name == SHARDS[0] else None
    code, (line,) = onboard(case, patience="1")
    assert code == 3
    assert "the answer ended after 1000 of" in line
    assert not case.complete


def test_TOL_04_a_branch_is_refused_with_the_way_to_its_commit(case: Case) -> None:
    code, (line,) = onboard(case, revision="main")
    assert code == 1
    assert "'main' is no commit of 40 hex digits" in line
    assert f"curl -s {case.hub.url}/api/models/{REPOSITORY}/revision/main" in line
    assert case.hub.requests == case.bucket.requests == []


def test_a_gated_repository_asks_for_a_token(case: Case) -> None:
    case.hub.token = TOKEN
    assert onboard(case) == (1, [f"onboard: 401: {REPOSITORY} is gated, and there is no token: set HF_TOKEN"])


def test_a_token_opens_a_gated_repository_and_stays_with_the_hub(case: Case) -> None:
    """The white space is what a secret made from a file brings along (ai-dynamo/modelexpress#277)."""
    case.hub.token, case.env = TOKEN, {"HF_TOKEN": f"{TOKEN}\n"}
    assert onboard(case) == (0, [])
    asked = [headers.get("Authorization") for who, _, headers in case.hub.requests if who == "hub"]
    assert set(asked) == {f"Bearer {TOKEN}"}
    assert any(who == "content" for who, _, _ in case.hub.requests)


def test_a_renamed_repository_is_followed_on_the_hub_with_the_token(case: Case) -> None:
    case.hub.token, case.env = TOKEN, {"HF_TOKEN": TOKEN}
    moved = {"Location": f"/api/models/{REPOSITORY}/revision/{COMMIT}"}
    case.hub.fault = lambda ask: (307, moved) if (ask.name, ask.count) == ("", 1) else None
    assert onboard(case) == (0, [])


def test_a_wrong_token_is_told_from_none(case: Case) -> None:
    case.hub.token, case.env = "another", {"HF_TOKEN": TOKEN}
    assert onboard(case) == (1, [f"onboard: 401: the hub does not accept the token in HF_TOKEN for {REPOSITORY}"])


def test_a_token_without_access_is_told_from_a_wrong_one(case: Case) -> None:
    case.hub.token, case.hub.granted, case.env = TOKEN, False, {"HF_TOKEN": TOKEN}
    code, (line,) = onboard(case)
    assert code == 1
    assert line.startswith(f"onboard: 403: the token's account may not read {REPOSITORY}: ask for access at")


def test_a_token_that_cannot_be_sent_is_not_shown(case: Case) -> None:
    case.env = {"HF_TOKEN": f"{TOKEN}\nx"}
    code, (line,) = onboard(case)
    assert code == 1
    assert line == "onboard: HF_TOKEN holds white space or control characters inside: it is no token"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"repository": "acme/other"}, "404: acme/other is not there"),
        ({"revision": "f" * 40}, f"404: {REPOSITORY} has no commit {'f' * 40}"),
        ({"repository": "acme"}, "repository 'acme': expected <owner>/<name>"),
        ({"repository": "../../x"}, "repository '../../x': expected <owner>/<name>"),
    ],
)
def test_what_is_not_there_is_named(case: Case, given: dict[str, str], message: str) -> None:
    code, (line,) = onboard(case, **given)
    assert code == 1
    assert message in line


def test_a_file_that_the_listing_promises_and_the_hub_lacks_is_named(case: Case) -> None:
    name = SHARDS[1]
    case.hub.fault = lambda ask: (404, {"X_Error_Code": "EntryNotFound"}) if ask.name == f"resolve {name}" else None
    assert onboard(case) == (1, [f"onboard: 404: {REPOSITORY} has no file {name} in {COMMIT}"])


@pytest.mark.parametrize(("status", "where"), [(429, ""), (503, f"resolve {SHARDS[0]}"), (429, SHARDS[0])])
def test_a_pause_that_a_server_asks_for_is_kept(case: Case, status: int, where: str) -> None:
    case.hub.fault = lambda ask: (status, {"Retry-After": "1"}) if ask.name == where and ask.count == 1 else None
    started = time.monotonic()
    assert onboard(case) == (0, [])
    assert time.monotonic() - started >= 1


def test_a_pause_beyond_the_patience_is_told_at_once(case: Case) -> None:
    case.hub.fault = lambda _: (429, {"Retry-After": "3600"})
    started = time.monotonic()
    code, (line,) = onboard(case)
    assert (code, time.monotonic() - started < 4) == (3, True)
    assert "429, too many requests, asks to wait 3600 s" in line


def test_an_expired_address_is_asked_for_again(case: Case) -> None:
    case.hub.fault = lambda ask: (403, {}) if ask.name == SHARDS[0] and ask.count == 2 else None
    assert onboard(case, "--streams", "1") == (0, [])
    assert case.hub.counts[f"resolve {SHARDS[0]}"] == 2


def test_a_content_network_that_refuses_is_no_gated_repository(case: Case) -> None:
    case.hub.fault = lambda ask: (403, {}) if ask.name == SHARDS[0] else None
    assert onboard(case) == (1, [f"onboard: {SHARDS[0]}: the content network answers 403"])


def test_a_redirect_away_from_https_or_http_is_not_followed(case: Case) -> None:
    case.hub.fault = lambda ask: (302, {"Location": "file:///etc/passwd"}) if "resolve" in ask.name else None
    code, (line,) = onboard(case)
    assert code == 1
    assert "expected https" in line


def test_a_hub_that_resolves_another_commit_is_refused(case: Case) -> None:
    moved = (302, {"Location": f"{case.hub.content_url}/x", "X-Repo-Commit": "f" * 40})
    case.hub.fault = lambda ask: moved if ask.name == f"resolve {SHARDS[0]}" else None
    assert onboard(case) == (1, [f"onboard: {SHARDS[0]}: the hub resolves it in another commit than {COMMIT}"])


def test_a_bucket_of_another_region_is_named(case: Case) -> None:
    case.bucket.faults = lambda _: Fault(301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-1"})
    assert onboard(case) == (1, [f"onboard: bucket {BUCKET} is in eu-west-1, AWS_REGION is us-west-2"])


@pytest.mark.parametrize(
    ("to", "message"),
    [
        (f"s3://{BUCKET}/models/../r1/", "'..' cannot be a folder of a prefix"),
        (f"s3://{BUCKET}/models//r1/", "'' cannot be a folder of a prefix"),
        (f"s3://{BUCKET}/models/tiny/r1//", "'' cannot be a folder of a prefix"),
        (f"s3://{BUCKET}/models/Tiny_1B/r1/", "model name 'Tiny_1B' is no DNS label"),
        (f"s3://{BUCKET}/models/tiny/", "expected s3://<bucket>/models/<name>/<revision>/"),
        (f"s3://{BUCKET}/vllm-cache/tiny/r1/", "expected s3://<bucket>/models/<name>/<revision>/"),
        ("https://models/tiny/r1/", "expected s3://<bucket>/models/<name>/<revision>/"),
        (f"s3://{BUCKET}/models/tiny/{'f' * 40}/", "the folder is named after another commit"),
    ],
)
def test_a_place_that_is_none_is_refused_before_any_request(case: Case, to: str, message: str) -> None:
    code, (line,) = onboard(case, to=to)
    assert code == 1
    assert message in line
    assert case.hub.requests == case.bucket.requests == []


def test_a_bucket_that_is_not_there_is_named(case: Case) -> None:
    assert onboard(case, to="s3://other-bucket/models/tiny/r1/") == (1, ["onboard: bucket other-bucket does not exist"])


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_a_denied_write_is_refused_at_once(case: Case, method: str) -> None:
    case.bucket.faults = lambda ask: Fault(403, "AccessDenied") if ask.method == method else None
    started = time.monotonic()
    code, (line,) = onboard(case)
    assert (code, time.monotonic() - started < 4) == (1, True)
    assert line.endswith("403 AccessDenied")


def test_IAM_03_a_denied_part_on_a_bucket_with_a_key_is_named_and_dropped(case: Case) -> None:
    """Small files pass, parts do not: the identity lacks kms:Decrypt (aws-cdk#8947)."""
    case.bucket.faults = lambda ask: Fault(403, "AccessDenied") if "partNumber" in ask.target else None
    code, (line,) = onboard(case)
    assert (code, case.bucket.uploads) == (1, {})
    assert line.endswith("403 AccessDenied")


def test_unfinished_uploads_that_may_not_be_listed_do_not_stop_it(case: Case) -> None:
    case.bucket.faults = lambda ask: Fault(403, "AccessDenied") if "?prefix=" in ask.target else None
    assert onboard(case) == (0, [])


def test_a_passing_fault_of_S3_costs_a_retry(case: Case) -> None:
    tick, codes = itertools.count(), itertools.cycle(PASSING)
    met: set[str] = set()

    def fault(_: Request) -> Fault | None:
        if next(tick) % 4:
            return None
        met.add(code := next(codes))
        return Fault(503, code)

    case.bucket.faults = fault
    assert onboard(case, patience="20") == (0, [])
    assert met == set(PASSING)


PASSING = ("SlowDown", "InternalError", "BadDigest", "RequestTimeout")


def test_an_upload_that_fails_after_200_is_finished_again(case: Case) -> None:
    tick = itertools.count()
    case.bucket.faults = lambda ask: (
        Fault(200, "InternalError") if ask.method == "POST" and "uploadId=" in ask.target and next(tick) == 0 else None
    )
    assert onboard(case) == (0, [])


def test_a_marker_that_S3_refuses_and_does_not_have_is_no_success(case: Case) -> None:
    case.bucket.faults = lambda ask: (
        Fault(412, "PreconditionFailed") if ask.method == "PUT" and "complete.json" in ask.target else None
    )
    assert onboard(case)[0] == 3
    case.bucket.faults = lambda _: None
    assert onboard(case) == (0, [])


def test_without_an_identity_it_says_so(case: Case) -> None:
    case.left_out = {"AWS_ACCESS_KEY_ID"}
    assert onboard(case) == (
        3,
        ["onboard: could not tell: no AWS credentials: the pod was admitted without a Pod Identity association"],
    )


def test_without_patience_an_agent_is_not_asked_and_nothing_is_known(case: Case, tmp_path: Path) -> None:
    with agent(0) as quick:
        case.left_out, case.env = {"AWS_ACCESS_KEY_ID"}, quick.env(tmp_path)
        assert onboard(case, patience="0") == (3, ["onboard: could not tell: no AWS credentials: limit reached"])


def test_two_markers_at_once_are_tried_again(case: Case) -> None:
    conflict = iter([Fault(409, "ConditionalRequestConflict")])
    case.bucket.faults = lambda ask: (
        next(conflict, None) if ask.method == "PUT" and ask.target.endswith(".complete.json") else None
    )
    assert onboard(case) == (0, [])
    assert next(conflict, None) is None


def test_a_marker_whose_first_answer_was_lost_counts_when_it_is_the_same(case: Case) -> None:
    lost = iter([True])

    def fault(ask: Request) -> Fault | None:
        if ask.method == "PUT" and ask.target.endswith(".complete.json") and next(lost, False):
            case.bucket.objects[PREFIX + ".complete.json"] = Object(case.bucket.last, {})
            return Fault(500, "InternalError")
        return None

    case.bucket.faults = fault
    assert onboard(case) == (0, [])


@pytest.mark.parametrize("more", [["--streams", "0"], ["--part-mib", "1"], ["--unknown"]])
def test_a_wrong_command_line_is_usage(case: Case, more: list[str]) -> None:
    assert onboard(case, *more)[0] == 2
