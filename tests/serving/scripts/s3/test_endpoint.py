"""Where a bucket is asked: in its region and partition, unless the environment names another place."""

import pytest

from endpoint import Endpoint
from outcome import DeniedError


@pytest.mark.parametrize(
    ("bucket", "env", "host", "path"),
    [
        ("models", {"AWS_REGION": "eu-west-1"}, "models.s3.eu-west-1.amazonaws.com", "/key"),
        ("models", {"AWS_DEFAULT_REGION": "eu-west-1"}, "models.s3.eu-west-1.amazonaws.com", "/key"),
        ("models", {"AWS_REGION": "cn-north-1"}, "models.s3.cn-north-1.amazonaws.com.cn", "/key"),
        ("models", {"AWS_REGION": "us-gov-west-1"}, "models.s3.us-gov-west-1.amazonaws.com", "/key"),
        ("my.models", {"AWS_REGION": "eu-west-1"}, "s3.eu-west-1.amazonaws.com", "/my.models/key"),
        ("models", {"AWS_REGION": "x", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "127.0.0.1:9", "/models/key"),
        (
            "models",
            {"AWS_REGION": "x", "AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "https://b"},
            "b",
            "/models/key",
        ),
    ],
)
def test_a_bucket_is_asked_where_it_is(bucket: str, env: dict[str, str], host: str, path: str):
    found = Endpoint.of(bucket, env)
    assert (found.host, f"{'/' + found.folder if found.folder else ''}/key") == (host, path)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({}, "AWS_REGION is not set"),
        ({"AWS_REGION": "x", "AWS_ENDPOINT_URL": "ftp://a"}, "ftp://a: not an endpoint"),
        ({"AWS_REGION": "x", "AWS_ENDPOINT_URL": "a:9"}, "a:9: not an endpoint"),
        ({"AWS_REGION": "eu-west-1\nx"}, "AWS_REGION is not the name of a region"),
        ({"AWS_REGION": "a/b"}, "AWS_REGION is not the name of a region"),
        (
            {"AWS_REGION": "x", "AWS_ENDPOINT_URL": "http://user:password@a"},
            "AWS_ENDPOINT_URL names a user: want an address alone",
        ),
    ],
)
def test_an_environment_without_an_address_is_misconfigured(env: dict[str, str], message: str):
    with pytest.raises(DeniedError, match=f"^{message}$"):
        Endpoint.of("models", env)
