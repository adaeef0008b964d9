"""Signatures are those of AWS's own examples (S3 API reference, "Signature Calculations: Examples"), and botocore's."""

import time
from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials as BotoCredentials

import sign
from credentials import Credentials
from endpoint import Endpoint

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
NOW = time.struct_time((2013, 5, 24, 0, 0, 0, 4, 144, 0))
TOKEN = "a session's token"  # noqa: S105 - made up


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "gmtime", lambda: NOW)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: datetime(*NOW[:6], tzinfo=UTC))


@pytest.mark.parametrize(
    ("key", "query", "extra", "signature"),
    [
        (
            "test.txt",
            {},
            {"range": "bytes=0-9"},
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "",
            {"prefix": "J", "max-keys": "2"},
            {},
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
    ids=["range of an object", "list"],
)
def test_a_request_is_signed_as_in_the_examples_of_aws(
    key: str, query: dict[str, str], extra: dict[str, str], signature: str
):
    endpoint = Endpoint("us-east-1", "https", "examplebucket.s3.amazonaws.com", "")
    _, headers = endpoint.request(KEYS, "GET", key, query, extra)
    assert headers["authorization"].endswith(f"Signature={signature}")


REQUESTS = {
    "a small object": ("PUT", "vllm-cache/vllm:v1@x/manifest.json", {}, {"if-none-match": "*"}),
    "an object with metadata": (
        "PUT",
        "models/a b/é.json",
        {},
        {"x-amz-meta-source": "git:0", "x-amz-checksum-crc32": "AAAAAA=="},
    ),
    "a part": ("PUT", "models/a/b", {"partNumber": "2", "uploadId": "x/y+z="}, {"x-amz-checksum-crc32": "AAAAAA=="}),
    "the start of an upload": ("POST", "models/a/b", {"uploads": ""}, {"x-amz-checksum-algorithm": "CRC32"}),
    "the end of an upload": ("POST", "models/a/b", {"uploadId": "x"}, {"x-amz-mp-object-size": "7"}),
    "a dropped upload": ("DELETE", "models/a/b", {"uploadId": "x"}, {}),
    "a range": ("GET", "models/a/b", {}, {"range": "bytes=0-9"}),
    "a list": ("GET", "", {"list-type": "2", "prefix": "models/a~b/"}, {}),
}


@pytest.mark.parametrize("token", [None, TOKEN], ids=["keys", "session"])
@pytest.mark.parametrize("payload", [sign.EMPTY, sign.UNSIGNED], ids=["signed", "unsigned"])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_signed_as_botocore_signs_it(name: str, payload: str, token: str | None):
    method, key, query, extra = REQUESTS[name]
    endpoint = Endpoint.of("bucket", {"AWS_REGION": "eu-west-1"})
    target, headers = endpoint.request(
        Credentials(KEYS.access_key, KEYS.secret_key, token), method, key, query, extra, payload
    )
    theirs = AWSRequest(method, f"https://{endpoint.host}{target}", headers=extra, data=b"")
    theirs.context |= {"client_config": Config(s3={"payload_signing_enabled": payload == sign.EMPTY})}
    S3SigV4Auth(BotoCredentials(KEYS.access_key, KEYS.secret_key, token), "s3", "eu-west-1").add_auth(theirs)
    assert headers["authorization"] == theirs.headers["Authorization"]
    assert headers["x-amz-content-sha256"] == theirs.headers["X-Amz-Content-SHA256"] == payload


def test_a_key_is_encoded_once_and_its_slashes_stay():
    assert sign.path_of("bucket", "a/vllm:v1@x/é b") == "/bucket/a/vllm%3Av1%40x/%C3%A9%20b"
