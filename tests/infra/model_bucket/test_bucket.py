"""The bucket as it is registered: one that the stack makes, and one that is there already."""

import json
from fnmatch import fnmatchcase
from typing import Any

import grpc
import pulumi
import pytest
from pulumi_aws import iam, s3

from infra.model_bucket import ModelBucket, ModelBucketArgs
from tests.harness import REGION, Recording, document, record, record_program, stack_settings
from tests.infra.model_bucket import scene
from tests.mocks import Cloud

EXISTING = {"existing": True, "keepOnDestroy": True, "oldVersionDays": "never"}
GUARDS = 6


def recorded(*, protect: bool = False, **changed: Any) -> Recording:
    at = scene.place()
    args = ModelBucketArgs(settings=scene.settings(at, **changed), owner=scene.owner(at), protect=protect)
    return record(lambda: ModelBucket("models", args), account=scene.ACCOUNT)


def test_the_model_bucket_is_private_encrypted_and_versioned(recording: Recording, stack: str) -> None:
    name = stack_settings(stack)["modelBucket"]["name"]
    assert recording.one(s3.Bucket).inputs == {"bucket": name}
    block = recording.one(s3.BucketPublicAccessBlock).inputs
    assert {key for key, value in block.items() if value is True} == {
        "blockPublicAcls",
        "blockPublicPolicy",
        "ignorePublicAcls",
        "restrictPublicBuckets",
    }
    assert recording.one(s3.BucketVersioning).inputs["versioningConfiguration"] == {"status": "Enabled"}
    (rule,) = recording.one(s3.BucketServerSideEncryptionConfiguration).inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "AES256"}
    assert recording.one(s3.BucketOwnershipControls).inputs["rule"] == {"objectOwnership": "BucketOwnerEnforced"}


def test_the_model_bucket_speaks_tls_only(recording: Recording, stack: str) -> None:
    name = stack_settings(stack)["modelBucket"]["name"]
    deny = document(recording.one(s3.BucketPolicy), "policy")["Statement"][0]
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "s3:*")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert deny["Resource"] == [f"arn:aws:s3:::{name}", f"arn:aws:s3:::{name}/*"]


def test_the_policy_is_registered_as_it_is_tested() -> None:
    """The other tests look at functions of plain values."""
    registered = document(recorded().one(s3.BucketPolicy), "policy")
    assert registered["Statement"] == json.loads(json.dumps(scene.bucket_policy(scene.place())))


def test_the_policy_of_a_stack_exempts_its_deployer_and_its_clusters_roles(recording: Recording, stack: str) -> None:
    raw = stack_settings(stack)
    statements = {each["Sid"]: each for each in document(recording.one(s3.BucketPolicy), "policy")["Statement"]}
    for sid, role in (("CachesByPublishers", "publisher"), ("ModelsByOnboarding", "onboarding")):
        assert statements[sid]["Condition"]["ArnNotLike"]["aws:PrincipalArn"] == [
            raw["account"]["deployer"],
            f"arn:aws:iam::{raw['account']['id']}:role/vllm-eks/{raw['name']}/{role}/*",
        ]


def test_the_policy_is_known_before_anything_exists() -> None:
    """A reviewer sees in the preview who may write; and no role that is made anew changes it."""
    policies = [
        record_program(stack_settings("dev"), preview=preview).one(s3.BucketPolicy).inputs["policy"]
        for preview in (True, False)
    ]
    assert policies[0] == policies[1]
    assert isinstance(policies[0], str)


def test_policy_and_public_access_block_are_not_written_at_once(recording: Recording) -> None:
    """Both change the bucket's policy: at once they answer 409 (terraform-aws-s3-bucket#77)."""
    assert recording.one(s3.BucketPublicAccessBlock).urn in recording.one(s3.BucketPolicy).dependencies


def test_rules_for_old_versions_come_after_versioning(recording: Recording, stack: str) -> None:
    rules = recording.one(s3.BucketLifecycleConfiguration)
    assert recording.one(s3.BucketVersioning).urn in rules.dependencies
    days = {rule["id"]: rule.get("noncurrentVersionExpiration") for rule in rules.inputs["rules"]}
    assert days == {
        "unfinished-uploads": None,
        "old-versions": {"noncurrentDays": stack_settings(stack)["modelBucket"]["oldVersionDays"]},
    }


def test_IAM_03_every_identity_of_a_stack_has_its_right_to_the_customer_key() -> None:
    raw = stack_settings("dev")
    of_key = f"arn:aws:kms:{REGION}:{raw['account']['id']}:key/1234"
    raw["modelBucket"]["encryption"] = of_key
    recording = record_program(raw)
    writes = ["kms:GenerateDataKey", "kms:Decrypt"]
    rights = {"gemma-server": "kms:Decrypt", "mountpoint-reader": "kms:Decrypt"}
    for identity, actions in (rights | {"gemma-publisher": writes, "onboarding": writes}).items():
        of_the_key = document(recording.one(iam.RolePolicy, identity), "policy")["Statement"][-1]
        assert (of_the_key["Action"], of_the_key["Resource"]) == (actions, of_key)
    (rule,) = recording.one(s3.BucketServerSideEncryptionConfiguration).inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"]["kmsMasterKeyId"] == of_key


def test_a_bucket_that_stays_keeps_its_guards(recording: Recording) -> None:
    """A kept or full bucket whose public access block went with the stack would stand there open."""
    guards = [
        r for r in recording.registered if r.parent.endswith("ModelBucket::models") and r.kind != "aws:s3/bucket:Bucket"
    ]
    assert len(guards) == GUARDS
    assert [guard.name for guard in guards if not guard.options["retain_on_delete"]] == []


def test_the_bucket_stays_behind_where_the_stack_says_so(recording: Recording, stack: str) -> None:
    keep = stack_settings(stack)["modelBucket"]["keepOnDestroy"]
    assert recording.one(s3.Bucket).options["retain_on_delete"] is keep


@pytest.mark.parametrize("protect", [True, False])
def test_a_protected_stack_protects_the_weights(protect: bool) -> None:
    assert recorded(protect=protect).one(s3.Bucket).options["protect"] is protect


def test_an_existing_bucket_is_neither_made_nor_changed() -> None:
    recording = recorded(protect=True, **EXISTING)
    assert [r.kind for r in recording.registered] == ["vllm-eks:infra:ModelBucket"]
    (outputs,) = recording.completed.values()
    assert outputs == {"name": "b-models", "arn": "arn:aws:s3:::b-models"}


def test_a_stack_on_an_existing_bucket_gives_its_identities_the_same_rights() -> None:
    raw = stack_settings("dev")
    made = record_program(raw)
    raw["modelBucket"] |= EXISTING
    found = record_program(raw)
    assert found.maybe(s3.Bucket) == []
    rights = [{r.name: r.inputs["policy"] for r in each.all(iam.RolePolicy)} for each in (found, made)]
    assert rights[0] == rights[1]
    assert found.outputs == made.outputs


def refusal(monkeypatch: pytest.MonkeyPatch, answer: Any) -> str:
    monkeypatch.setattr(Cloud, "found_bucket", answer)
    with pytest.raises(pulumi.RunError) as refused:
        recorded(**EXISTING)
    return str(refused.value)


def test_NET_02_an_existing_bucket_of_another_region_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway endpoint leads to one region: from another each byte goes through NAT, and is paid for twice."""

    def elsewhere(_cloud: Cloud, name: str) -> dict[str, Any]:
        return {"id": name, "bucket": name, "bucketRegion": "eu-west-1"}

    assert refusal(monkeypatch, elsewhere) == (
        'modelBucket.name: "b-models" is a bucket of eu-west-1; expected one of us-west-2'
    )


class Refused(grpc.RpcError):
    """What the engine passes on of a provider's failure."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return "1 error occurred:\n\t* reading S3 Bucket (b-models): couldn't find resource\n\n"


def test_an_existing_bucket_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_cloud: Cloud, _name: str) -> dict[str, Any]:
        raise Refused

    assert refusal(monkeypatch, missing) == (
        'modelBucket.name: "b-models"; existing is true, and invoke of aws:s3/getBucket:getBucket failed: 1 error'
        " occurred: * reading S3 Bucket (b-models): couldn't find resource"
    )


@pytest.mark.parametrize(
    ("statement", "role"), [("CachesByPublishers", "gemma-publisher"), ("ModelsByOnboarding", "onboarding")]
)
def test_the_policy_lets_through_the_roles_that_the_stack_makes_and_no_other(
    recording: Recording, statement: str, role: str
) -> None:
    """Paths: without its own, a role is kept off by the bucket's policy whatever rights it has."""
    (denial,) = [it for it in document(recording.one(s3.BucketPolicy), "policy")["Statement"] if it["Sid"] == statement]
    patterns = denial["Condition"]["ArnNotLike"]["aws:PrincipalArn"]
    made = {it.name: f"arn:aws:iam::000000000000:role{it.inputs.get('path', '/')}x" for it in recording.all(iam.Role)}
    assert [name for name, arn in made.items() if any(fnmatchcase(arn, it) for it in patterns)] == [role]
