"""What the bucket's keys ask of the account, in a whole stack file."""

from tests.harness import stack_settings
from tests.stack.test_settings import refusal


def test_a_bucket_policy_that_s3_would_not_take_is_refused_with_its_size() -> None:
    """Each reader stands in it twice; S3 says MalformedPolicy after everything else is made."""
    raw = stack_settings("dev")
    raw["modelBucket"]["readers"] = [f"arn:aws:iam::111122223333:role/{'path/' * 50}{number}" for number in range(35)]
    assert refusal(raw) == (
        "the stack file has 1 mistake:\n  modelBucket.readers: 35 readers (each twice) and 0 writers make a bucket"
        " policy of 21840 bytes > 20480; expected fewer, or whole accounts"
    )


def test_wrong_readers_hide_neither_the_key_nor_the_writers() -> None:
    raw = stack_settings("dev")
    raw["modelBucket"] |= {
        "readers": ["everybody"],
        "encryption": "arn:aws:kms:us-east-1:000000000000:key/1",
        "writers": ["arn:aws:iam::111122223333:role/pipeline"],
    }
    assert [line.partition(": ")[0] for line in refusal(raw).splitlines()[1:]] == [
        "  modelBucket.readers.0",
        "  modelBucket.encryption",
        "  modelBucket.writers",
    ]
