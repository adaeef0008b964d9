"""One spelling of a model's place, whatever the slash (VLM-08)."""

import pytest
from pydantic import ValidationError

import layout
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


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/weights/x/1/",
        "s3://bucket/models/",
        "s3://bucket/models",
        "s3://bucket/models/x",
        "s3://b-b/models/a/b/c",
    ],
)
def test_VLM_08_a_folder_that_no_identity_may_read_is_refused(uri: str) -> None:
    with pytest.raises(ValidationError, match=r"not a folder of one model below models/"):
        parse(uri)


@pytest.mark.parametrize("name", ["Qwen3-8B", "a_b", "-a", "a" * 64, "1.5b"])
def test_a_model_is_named_by_a_dns_label(name: str) -> None:
    """Jobs and their labels are named after it."""
    with pytest.raises(ValidationError, match=f"the name {name} is no lower-case DNS label of at most 63 characters"):
        parse(f"s3://bucket/models/{name}/r1/")


@pytest.mark.parametrize("name", ["gemma-4-31b-it-nvfp4", "9b", "a", "a" * 63])
def test_what_the_stack_file_takes_onboarding_takes_too(name: str) -> None:
    uri = parse(f"s3://bucket/models/{name}/R1.2_x/")
    assert layout.place(f"s3://{uri.bucket}/{uri.prefix}") == (uri.bucket, uri.prefix)


KV = {"layers": 60, "kvHeads": 16, "headDim": 256}


def with_kv(**changes: object) -> ModelSettings:
    uri = "s3://bucket/models/x/r1/"
    return ModelSettings.model_validate({"uri": uri, "servedName": "m", "sizeGib": 1, "kv": {**KV, **changes}})


def test_the_shape_of_the_kv_cache_is_what_config_json_says() -> None:
    sliding = with_kv(slidingLayers=50, slidingWindow=1024).kv
    assert sliding is not None
    assert (sliding.layers, sliding.kv_heads, sliding.head_dim) == (60, 16, 256)
    plain = with_kv().kv
    assert plain is not None
    assert (plain.sliding_layers, plain.sliding_window) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"slidingLayers": 61, "slidingWindow": 1024}, "slidingLayers 61 > layers 60"),
        ({"slidingLayers": 50}, "slidingLayers and slidingWindow come together"),
        ({"slidingWindow": 1024}, "slidingLayers and slidingWindow come together"),
    ],
)
def test_a_window_without_layers_is_refused(changes: dict[str, int], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        with_kv(**changes)
