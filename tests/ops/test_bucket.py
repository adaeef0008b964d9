"""`ops bucket policy`: the very policy that the program would attach."""

import json

from pulumi_aws import s3

from tests.harness import document, record_program, stack_settings


def test_the_printed_policy_is_the_one_that_the_program_attaches(ops):
    code, out, err = ops("bucket", "policy", "--stack", "prod")
    attached = record_program(stack_settings("prod")).one(s3.BucketPolicy)
    assert (code, err) == (0, "")
    assert json.loads(out) == document(attached, "policy")
    # as S3 counts it
    assert out == json.dumps(json.loads(out), separators=(",", ":")) + "\n"


def test_an_existing_bucket_has_one_to_print_and_none_is_attached(ops, edit):
    changes = {"existing": True, "keepOnDestroy": True, "oldVersionDays": "never"}
    edit(lambda settings: settings["modelBucket"].update(changes))
    raw = stack_settings("dev")
    raw["modelBucket"] |= changes
    code, out, _ = ops("bucket", "policy")
    assert code == 0
    assert {"ManifestsOnce", "CachesByPublishers"} <= {it["Sid"] for it in json.loads(out)["Statement"]}
    assert not record_program(raw).maybe(s3.BucketPolicy)


def test_a_program_reads_the_same_policy(ops):
    assert json.loads(ops("bucket", "policy", "--json")[1]) == json.loads(ops("bucket", "policy")[1])
