"""Documents of the bucket and of its identities, as plain values."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from infra.iam import Statement
from infra.model_bucket import CACHES, MODELS
from infra.model_bucket.documents import LARGEST_POLICY, policy
from infra.model_bucket.rights import publisher
from infra.model_bucket.storage import encryption, lifecycle
from infra.naming import onboarding_path, publisher_path
from tests.infra.linter import findings
from tests.infra.model_bucket import scene
from tests.infra.model_bucket.scene import REGIONS, identities, key, place, settings

LONGEST_CLUSTER = "c" * 100


def of_kms(statements: Sequence[Statement]) -> Iterator[tuple[str, Any]]:
    for statement in statements:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        yield from ((action, statement["Resource"]) for action in actions if action.startswith("kms:"))


def test_IAM_03_with_a_customer_key_readers_decrypt_and_writers_encrypt_with_that_key_alone() -> None:
    """Without kms:Decrypt small files go through and multipart uploads fail (aws-cdk#8947, aws-cli#4251)."""
    of_key = key(place())
    decrypt, encrypt = ("kms:Decrypt", of_key), ("kms:GenerateDataKey", of_key)
    assert {who: sorted(of_kms(rights)) for who, rights in identities(place(), of_key).items()} == {
        "server": [decrypt],
        "mountpoint": [decrypt],
        "publisher": [decrypt, encrypt],
        "onboarding": [decrypt, encrypt],
    }


def test_IAM_03_with_s3s_own_key_nobody_has_a_right_to_a_key() -> None:
    everything = identities(place(), None)
    assert len(everything) == 4
    assert [who for who, rights in everything.items() if list(of_kms(rights))] == []


@pytest.mark.parametrize(
    ("chosen", "rule"),
    [
        ("s3", {"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}),
        (
            key(place()),
            {
                "apply_server_side_encryption_by_default": {
                    "sse_algorithm": "aws:kms",
                    "kms_master_key_id": key(place()),
                },
                "bucket_key_enabled": True,
            },
        ),
    ],
    ids=["s3", "key"],
)
def test_IAM_03_the_bucket_encrypts_with_the_key_that_the_rights_are_for(chosen: str, rule: dict[str, Any]) -> None:
    """The bucket key makes one request to KMS out of one for each object."""
    assert encryption(settings(place(), encryption=chosen)) == [rule]


@pytest.mark.parametrize("region", REGIONS)
def test_IAM_05_no_document_names_another_partition(region: str) -> None:
    at = place(region)
    everything = [*identities(at, key(at)).values(), scene.bucket_policy(at)]
    assert set(re.findall(r"arn:([^:]*):", json.dumps(everything))) == {at.partition.name}


@pytest.mark.parametrize("region", REGIONS)
def test_no_document_of_an_identity_has_a_finding(region: str) -> None:
    at = place(region)
    documents = identities(at, key(at))
    assert len(documents) == 4
    assert {found for name, statements in documents.items() for found in findings(name, statements)} == set()


def test_sids_are_ones_that_iam_takes_and_told_apart() -> None:
    for statements in (*identities(place(), key(place())).values(), scene.bucket_policy(place())):
        sids = [statement["Sid"] for statement in statements]
        assert len(sids) == len(set(sids))
        assert all(re.fullmatch(r"[A-Za-z0-9]+", sid) for sid in sids)


def test_the_policy_is_the_text_of_its_statements() -> None:
    text = policy(settings(place()), scene.owner(place()))
    assert json.loads(text) == {
        "Version": "2012-10-17",
        "Statement": json.loads(json.dumps(scene.bucket_policy(place()))),
    }


def test_nothing_but_writing_of_data_is_denied_to_anybody_who_speaks_tls() -> None:
    """A denied GetBucketPolicy or PutBucketPolicy is for root alone to repair (terraform-aws-s3-bucket#269)."""
    for statement in scene.bucket_policy(place()):
        if statement["Effect"] == "Deny" and statement["Sid"] != "DenyInsecure":
            actions = statement["Action"]
            assert {*(actions if isinstance(actions, list) else [actions])} <= {"s3:PutObject", "s3:ReplicateObject"}
            assert statement["Resource"].startswith(
                (f"{scene.bucket_arn(place())}/{CACHES}", f"{scene.bucket_arn(place())}/{MODELS}")
            )


def test_without_readers_nobody_is_let_in() -> None:
    """A statement without a principal would be refused as malformed."""
    statements = scene.bucket_policy(place(), readers=[])
    assert [statement["Sid"] for statement in statements if statement["Effect"] == "Allow"] == []
    assert len(statements) == 4


def test_the_policy_of_the_longest_names_leaves_room_for_many_readers() -> None:
    at = place("us-gov-west-1")
    named = settings(at, name="b" * 63, readers=[], writers=[])
    assert len(policy(named, scene.owner(at, LONGEST_CLUSTER))) < LARGEST_POLICY / 8


@pytest.mark.parametrize("path", [publisher_path, onboarding_path])
def test_PUL_10_roles_below_a_path_are_those_of_one_cluster(path: Any) -> None:
    """IAM API model, pathType: it begins and ends with a slash and has at most 512 printable characters."""
    assert re.fullmatch(r"/[\x21-\x7e]+/", path(LONGEST_CLUSTER))
    assert len(path(LONGEST_CLUSTER)) <= 512
    assert not path("c1-2").startswith(path("c1"))
    assert not set("*?") & set(path("c1"))


def test_a_publisher_with_the_longest_keys_and_a_candidate_fits_into_an_inline_policy() -> None:
    """All inline policies of a role have 10,240 characters, without white space (IAM quotas)."""
    folder = f"{CACHES}{'e' * 200}/{'g' * 200}/{'m' * 200}/"
    folders = [f"{folder}{letter * 32}/" for letter in "0123"]
    rights = publisher(f"arn:aws-us-gov:s3:::{'b' * 63}", model="m" * 450, folders=folders, key=key(place()))
    assert len(re.sub(r"\s", "", json.dumps(rights))) < 10_240


def test_old_versions_go_and_no_newest_one_does() -> None:
    """An upload that was killed costs as much as what it would have been, and no listing shows it."""
    assert lifecycle(settings(place(), oldVersionDays=30)) == [
        {
            "id": "unfinished-uploads",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "abort_incomplete_multipart_upload": {"days_after_initiation": 7},
        },
        {
            "id": "old-versions",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "noncurrent_version_expiration": {"noncurrent_days": 30},
            "expiration": {"expired_object_delete_marker": True},
        },
    ]


def test_old_versions_can_stay_for_ever() -> None:
    (rule,) = lifecycle(settings(place(), oldVersionDays="never"))
    assert rule["id"] == "unfinished-uploads"
