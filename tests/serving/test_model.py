"""One spelling of a model's place, whatever the slash (VLM-08)."""

import pytest
from pydantic import ValidationError

from serving.model import ModelSettings, ModelUri


def parse(uri: object) -> ModelUri:
    return ModelSettings.model_validate({"uri": uri, "servedName": "m", "sizeGib": 1}).uri


@pytest.mark.parametrize("slash", ["", "/"])
def test_VLM_08_the_uri_is_the_same_with_and_without_a_slash(slash: str) -> None:
    """VLLM hashes the URL: another spelling would be another compile cache."""
    assert parse(f"s3://bucket/models/x/r1{slash}") == ModelUri("bucket", "models/x/r1/")


@pytest.mark.parametrize(
    "uri",
    [
        "S3://b/models/x/1",
        "s3://bucket//models/x/1",
        "s3://bucket",
        "s3://bucket/",
        "https://b.s3.us-west-2.amazonaws.com/models/x/1",
        "google/gemma-4-31b",
        "s3://bucket/models/../secrets/x",
        "s3://bucket/models/x//1",
        "s3://Bucket/models/x/1",
        "s3://bucket/models/x/1 ",
        7,
        None,
    ],
)
def test_VLM_08_anything_else_is_refused(uri: object) -> None:
    with pytest.raises(ValidationError, match="expected s3://<bucket>/models/<name>/<revision>/"):
        parse(uri)


@pytest.mark.parametrize("uri", ["s3://bucket/weights/x/1/", "s3://bucket/models/", "s3://bucket/models"])
def test_VLM_08_a_folder_that_no_identity_may_read_is_refused(uri: str) -> None:
    with pytest.raises(ValidationError, match=r"not a folder of one model below models/"):
        parse(uri)
