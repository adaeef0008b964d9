"""Signatures are those of AWS's own examples (S3 API reference, "Signature Calculations: Examples")."""

import time

import pytest

import sign
from credentials import Credentials

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
HOST = "examplebucket.s3.amazonaws.com"


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
    monkeypatch: pytest.MonkeyPatch, key: str, query: dict[str, str], extra: dict[str, str], signature: str
):
    monkeypatch.setattr(time, "gmtime", lambda: time.struct_time((2013, 5, 24, 0, 0, 0, 4, 144, 0)))
    headers = sign.headers(
        KEYS, host=HOST, path=sign.path_of("", key), query=sign.query_of(query), region="us-east-1", extra=extra
    )
    assert headers["authorization"].endswith(f"Signature={signature}")


def test_a_key_is_encoded_once_and_its_slashes_stay():
    assert sign.path_of("bucket", "a/vllm:v1@x/é b") == "/bucket/a/vllm%3Av1%40x/%C3%A9%20b"
