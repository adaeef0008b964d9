"""What cannot be read or sent is one line, with its exit code, and the same in the pod's status. No secret is in it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import termination
import verify
from tests.serving.scripts.onboard.onboard_case import BUCKET, INDEX, MARKER, PREFIX, SHARDS, TO, Case
from tests.serving.scripts.stands.hub import COMMIT, REPOSITORY
from tests.serving.scripts.stands.s3_writable import Object

DEEP = b"[" * 100_000
"""JSON that the parser gives up, with another error than for what is none."""

UNFIT = "is empty, or holds white space or other than printable ASCII inside"
NO_MARKER = f"{MARKER} is not of the form that onboarding writes"


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case()
    (tmp_path / "log").touch()
    made.env = {termination.VARIABLE: str(tmp_path / "log")}
    yield made
    made.close()


def told(case: Case, done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    """Return exit code and the line, which is the termination message too."""
    assert Path(case.env[termination.VARIABLE]).read_text() == done.stderr.rstrip("\n")
    return done.returncode, done.stderr.rstrip("\n")


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])
def test_a_key_that_cannot_be_sent_is_not_shown(case: Case, name: str):
    case.env[name] = "SECRET\nTOKEN"
    for program, run in {"onboard": case.onboard, "verify": case.verify}.items():
        assert told(case, run()) == (3, f"{program}: could not tell: no AWS credentials: {name} {UNFIT}")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("AWS_ACCESS_KEY_ID", "no AWS credentials: the pod was admitted without a Pod Identity association"),
        ("AWS_REGION", "AWS_REGION is not set"),
    ],
)
def test_who_lacks_what_a_pod_is_given_cannot_tell(case: Case, name: str, reason: str):
    case.left_out = {name}
    assert told(case, case.verify()) == (3, f"verify: could not tell: {reason}")


def test_a_folder_of_another_form_is_usage(case: Case):
    code, line = told(case, case.verify(folder=f"s3://{BUCKET}/tiny/"))
    expected = "expected s3://<bucket>/models/<name>/<revision>/"
    assert (code, line) == (2, f"verify: usage: 's3://{BUCKET}/tiny/': {expected}")
    assert case.bucket.requests == []


@pytest.mark.parametrize("value", ["nan", "-1", "inf"])
def test_a_patience_that_is_no_time_is_usage(case: Case, value: str):
    done = case.verify("--patience", value)
    assert done.returncode == 2
    assert done.stderr.endswith(f"verify.py: error: argument --patience: {value} is not between 0.0 and 3600.0\n")


def entry(**fields: object) -> dict[str, object]:
    return {"name": "a", "size": 1, "sha256": "", "source": "", **fields}


def written(**fields: object) -> bytes:
    return json.dumps({"format": 1, "repository": REPOSITORY, "commit": COMMIT, "files": [], **fields}).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (DEEP, NO_MARKER),
        (b"\xff", NO_MARKER),
        (b"[]", NO_MARKER),
        (written(files=[entry(size=float("nan"))]), NO_MARKER),
        (written(files=[entry(size=float("inf"))]), NO_MARKER),
        (written(repository="\ud800"), NO_MARKER),
        (written(commit=["f"]), NO_MARKER),
        (written(format=float("nan")), f"{MARKER} has format nan; this program reads 1"),
        (written(format="x" * 1000), f"{MARKER} has format '{'x' * 19}; this program reads 1"),
    ],
    ids=["deep", "no text", "list", "NaN", "infinite", "surrogate", "commit", "format NaN", "format"],
)
def test_a_marker_that_cannot_be_read_is_no_marker(case: Case, content: bytes, reason: str):
    case.bucket.objects[PREFIX + MARKER] = Object(content, {})
    assert told(case, case.verify()) == (1, f"verify: {reason}")


@pytest.mark.parametrize(
    ("name", "problem"),
    [("config.json", "config.json is no JSON object"), (INDEX, f"{INDEX} has no weight_map from tensors to files")],
)
def test_deep_JSON_of_the_hub_and_of_the_bucket_is_none(case: Case, name: str, problem: str):
    case.onboard()
    # the marker fits, as after an onboarding by a program that did not look
    content = case.bucket.objects[PREFIX + MARKER].body
    size = len(case.hub.files[name])
    case.bucket.objects[PREFIX + MARKER].body = content.replace(b'"size": %d,' % size, b'"size": %d,' % len(DEEP))
    case.bucket.objects[PREFIX + name].body = DEEP
    assert told(case, case.verify()) == (1, f"verify: {problem}")
    case.hub.files[name] = DEEP
    assert told(case, case.onboard()) == (1, f"onboard: {REPOSITORY}: {problem}")


def test_a_deep_header_of_weights_cannot_be_read(case: Case):
    case.hub.files[SHARDS[2]] = len(DEEP).to_bytes(8, "little") + DEEP
    assert told(case, case.onboard()) == (
        1,
        f"onboard: stored: {SHARDS[2]}: its safetensors header cannot be read",
    )


@pytest.mark.parametrize("part", ["revision", "tree"])
def test_a_deep_answer_of_the_hub_is_no_JSON(case: Case, part: str):
    case.hub.answers[part] = DEEP
    reason = f"{REPOSITORY}: the hub's answer is no JSON (given up after 0 s of patience)"
    assert told(case, case.onboard(patience="0")) == (3, f"onboard: could not tell: {reason}")


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("1e999", f"{REPOSITORY}: the hub's list of files has another form than expected"),
        ("1000000000000", "config.json: 1000000000000 bytes, and it must be read at once: at most 67108864"),
    ],
)
def test_a_size_that_nobody_can_hold_is_refused(case: Case, size: str, reason: str):
    row = f'[{{"type": "file", "path": "config.json", "oid": "{"0" * 40}", "size": {size}}}]'
    case.hub.answers["tree"] = row.encode()
    assert told(case, case.onboard()) == (1, f"onboard: {reason}")


def test_what_nobody_thought_of_is_one_line_of_onboarding(case: Case):
    case.hub.fault = lambda _: (302, {"Location": "http://[x/"})
    assert told(case, case.onboard()) == (3, "onboard: could not tell: ValueError: Invalid IPv6 URL")


def test_what_nobody_thought_of_is_one_line_of_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fails(*_: object) -> str:
        raise MemoryError("too much")

    monkeypatch.setattr(verify, "verify", fails)
    monkeypatch.setattr(sys, "argv", ["verify.py", TO])
    assert verify.main() == 3
    assert capsys.readouterr() == ("", "verify: could not tell: MemoryError: too much\n")


@pytest.mark.parametrize(
    "address",
    [
        "notaurl",
        "http://",
        "file:///etc/passwd",
        "ftp://x",
        "http://user:PASSWORD@host",
        "https://host:99999",
        "https://host:0",
        "https://host/?token=PASSWORD",
        "https://host\n",
    ],
)
def test_an_address_that_is_no_hubs_is_usage_and_not_shown(case: Case, address: str):
    case.env["HF_ENDPOINT"] = address
    allowed = "want http(s)://<host>[:<port>][/<path>], and no user"
    assert told(case, case.onboard()) == (2, f"onboard: usage: HF_ENDPOINT is no address of a hub: {allowed}")
    assert case.bucket.requests == []
