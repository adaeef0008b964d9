"""The bucket, whose it is and where, and the marker of each model."""

import pytest

from ops.preflight.content import bucket
from tests.ops.conftest import ACCOUNT
from tests.ops.preflight.cloud import Refusal

NAME = "vllm-eks-dev-models-000000000000"
URI = f"s3://{NAME}/models/gemma-4-31b-it-nvfp4/r1/"
MODEL = "servers.gemma.model"
ONBOARD = ".venv/bin/python -m ops weights onboard --stack dev --server gemma --repository OWNER/NAME --revision COMMIT"
NONE, FORBIDDEN = Refusal("404", "Not Found", 404), Refusal("403", "Forbidden", 403)


def lines(findings):
    return [(it.verdict, it.subject, it.found, it.fix) for it in findings]


def existing(settings):
    settings["modelBucket"].update(existing=True, keepOnDestroy=True, oldVersionDays="never")


def test_a_bucket_with_its_model(asked, cloud):
    assert lines(bucket.check(asked())) == [
        ("ok", NAME, f"in us-west-2, of account {ACCOUNT}", ""),
        ("ok", MODEL, f"{URI}.complete.json is there", ""),
    ]
    assert cloud.times("HeadObject") == [
        {
            "Bucket": NAME,
            "ExpectedBucketOwner": ACCOUNT,
            "Key": "models/gemma-4-31b-it-nvfp4/r1/.complete.json",
        }
    ]


def test_a_bucket_that_is_to_be_made_is_no_mistake_and_its_models_are_to_come(asked, cloud):
    cloud.on("HeadBucket", NONE)
    assert lines(bucket.check(asked())) == [
        ("ok", NAME, "not there yet; `pulumi up` makes it", ""),
        ("warn", MODEL, f"{URI} is still to be filled", f"after `pulumi up`: {ONBOARD}"),
    ]
    assert cloud.times("HeadObject") == []


def test_an_existing_bucket_that_is_not_there_fails_with_its_models(asked, cloud):
    cloud.on("HeadBucket", NONE)
    assert lines(bucket.check(asked(existing))) == [
        ("fail", NAME, "no such bucket, and modelBucket.existing is true", "make it, or existing: false"),
        ("fail", MODEL, f"no {URI}.complete.json: the model is not there, or not whole", ONBOARD),
    ]


def test_a_model_without_its_marker_fails_with_the_command_that_brings_it(asked, cloud):
    cloud.on("HeadObject", NONE)
    assert lines(bucket.check(asked()))[1] == (
        "fail",
        MODEL,
        f"no {URI}.complete.json: the model is not there, or not whole",
        ONBOARD,
    )


def test_a_bucket_of_another_region_fails(asked, cloud):
    cloud.on("HeadBucket", {"BucketRegion": "eu-west-1"})
    assert lines(bucket.check(asked()))[0] == (
        "fail",
        NAME,
        "lies in eu-west-1, the stack in us-west-2: each byte would be paid for, and the S3 endpoint leads nowhere",
        "a bucket of us-west-2 in modelBucket.name",
    )


def test_a_bucket_that_these_credentials_reach_in_another_account_fails(asked, cloud):
    cloud.on("HeadBucket", lambda params: FORBIDDEN if "ExpectedBucketOwner" in params else {"BucketRegion": "x"})
    assert lines(bucket.check(asked())) == [
        ("fail", NAME, f"belongs to another account than {ACCOUNT}", "another modelBucket.name")
    ]
    assert cloud.times("HeadObject") == []


def test_a_bucket_that_says_nothing_is_unknown_and_may_be_a_strangers(asked, cloud):
    cloud.on("HeadBucket", FORBIDDEN)
    assert lines(bucket.check(asked())) == [
        (
            "unknown",
            NAME,
            "s3:ListBucket: AWS answers 403: Forbidden",
            f"allow s3:ListBucket, then run again; if the bucket is not account {ACCOUNT}'s, another modelBucket.name",
        )
    ]


@pytest.mark.parametrize(
    ("refusal", "fix"),
    [(FORBIDDEN, "allow s3:GetObject, then run again"), (Refusal("SlowDown", "slow", 503), "run again later")],
    ids=["denied", "throttled"],
)
def test_a_marker_that_nobody_may_read_is_unknown(asked, cloud, refusal, fix):
    cloud.on("HeadObject", refusal)
    why = f"s3:GetObject: AWS answers {refusal.code}: {refusal.message}"
    assert lines(bucket.check(asked()))[1] == ("unknown", MODEL, why, fix)


def test_a_bucket_that_is_throttled_is_unknown(asked, cloud):
    cloud.on("HeadBucket", Refusal("SlowDown", "slow", 503))
    assert lines(bucket.check(asked())) == [
        ("unknown", NAME, "s3:ListBucket: AWS answers SlowDown: slow", "run again later")
    ]


def test_against_moto(real, aws):
    def stack():
        return real(lambda settings: settings["account"].update(id="123456789012", deployer=deployer()))

    def deployer():
        return "arn:aws:iam::123456789012:role/vllm-eks-deployer"

    assert [it.verdict for it in bucket.check(stack())] == ["ok", "warn"]
    s3 = aws("s3")
    s3.create_bucket(Bucket=NAME, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    assert [it.verdict for it in bucket.check(stack())] == ["ok", "fail"]
    s3.put_object(Bucket=NAME, Key="models/gemma-4-31b-it-nvfp4/r1/.complete.json", Body=b"{}")
    assert [it.verdict for it in bucket.check(stack())] == ["ok", "ok"]
