"""Values that only resources know: they arrive wherever they are needed, whatever the stack file says."""

import json
from typing import Any

import pytest
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs

from tests.harness import Recording, record_program, stack_settings
from tests.mocks import Cloud
from tests.recording import texts

BUCKET, CLUSTER = "made-bucket", "made-cluster"


@pytest.fixture(scope="module")
def made() -> Recording:
    """The dev stack in a cloud that answers with other names than it was asked for."""
    real = Cloud.new_resource

    def answer(self: Cloud, args: MockResourceArgs) -> tuple[str, dict[str, Any]]:
        identifier, state = real(self, args)
        if args.typ == "aws:s3/bucket:Bucket":
            state["bucket"] = BUCKET
        if args.typ == "eks:index:Cluster":
            reference = state["eksCluster"]["urn"]
            self.monitor.resources[reference].state["name"] = CLUSTER
        return identifier, state

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cloud, "new_resource", answer)
        return record_program(stack_settings("dev"))


def policies(recording: Recording, kind: str, key: str) -> dict[str, str]:
    return {it.name: json.dumps(json.loads(it.inputs[key])) for it in recording.all(kind)}


def test_PUL_01_every_right_names_the_bucket_that_was_made(made: Recording) -> None:
    asked = stack_settings("dev")["modelBucket"]["name"]
    rights = policies(made, "aws:iam/rolePolicy:RolePolicy", "policy")
    of_bucket = {name for name, text in rights.items() if f"arn:aws:s3:::{BUCKET}" in text}
    assert of_bucket == {"mountpoint-reader", "gemma-server", "gemma-publisher", "onboarding"}
    assert [name for name, text in rights.items() if f"arn:aws:s3:::{asked}" in text] == []


def test_PUL_01_every_pod_identity_names_the_cluster_that_was_made(made: Recording) -> None:
    trusts = policies(made, "aws:iam/role:Role", "assumeRolePolicy")
    pods = {name: text for name, text in trusts.items() if "pods.eks.amazonaws.com" in text}
    assert len(pods) == 5
    assert [name for name, text in pods.items() if f'"aws:RequestTag/eks-cluster-name": "{CLUSTER}"' not in text] == []
    associations = made.all("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    assert {it.inputs["clusterName"] for it in associations} == {CLUSTER}
    # each role that an association hands out is one that was made
    arns = {f"arn:aws:mock:us-west-2:000000000000:{it.name}" for it in made.all("aws:iam/role:Role")}
    assert {it.inputs["roleArn"] for it in associations} <= arns


def test_PUL_01_pods_jobs_and_outputs_hold_the_bucket_that_was_made(made: Recording) -> None:
    for kind, name in (("apps/v1:Deployment", "gemma"), ("batch/v1:CronJob", "gemma-cache-build")):
        (found,) = [it for it in made.all(f"kubernetes:{kind}") if it.inputs["metadata"]["name"] == name]
        assert [text for text in texts(found.inputs["spec"]) if BUCKET in text], name
    assert (made.outputs["modelBucket"], made.outputs["clusterName"]) == (BUCKET, CLUSTER)
    assert made.outputs["modelBucketArn"] == f"arn:aws:s3:::{BUCKET}"


def test_PUL_06_a_question_to_the_cloud_goes_to_the_account_and_region_of_the_stack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A forgotten provider asks the shell's account, and in its region (pulumi-awsx PR#1384)."""
    asked: list[MockCallArgs] = []
    real = Cloud.call

    def call(self: Cloud, args: MockCallArgs) -> Any:
        asked.append(args)
        return real(self, args)

    monkeypatch.setattr(Cloud, "call", call)
    raw = stack_settings("dev")
    raw["modelBucket"] |= {"existing": True, "keepOnDestroy": True, "oldVersionDays": "never"}
    provider = record_program(raw).one("pulumi:providers:aws")
    assert [one.token for one in asked] == ["aws:s3/getBucket:getBucket"]
    assert {one.provider.rpartition("::")[0] for one in asked} == {provider.urn}


SECRETS = {
    "vllm-eks:dockerHubCredentials": '{"username": "user-0001", "accessToken": "dckr-secret-0001\\n"}',
    "vllm-eks:huggingFaceToken": "hf_secret0002\n",
    "vllm-eks:apiTokens": "client-secret-000000000003\n",
}
PLACES = {
    "dckr-secret-0001": {"aws:secretsmanager/secretVersion:SecretVersion"},
    "hf_secret0002": {"kubernetes:core/v1:Secret"},
    "client-secret-000000000003": {"kubernetes:core/v1:Secret"},
}


@pytest.fixture(scope="module")
def secretive() -> Recording:
    raw = stack_settings("dev")
    raw["imageCache"]["upstreams"] = ["docker-hub"]
    return record_program(raw, secrets=SECRETS)


@pytest.mark.parametrize("secret", PLACES)
def test_PUL_02_each_secret_is_where_it_is_read_and_nowhere_else(secretive: Recording, secret: str) -> None:
    found = [(it.kind, text) for it, text in secretive.strings() if secret in text]
    assert {kind for kind, _ in found} == PLACES[secret]
    assert len(found) == 1
    # what a pipe has put behind it would be an illegal header (modelexpress#277)
    assert f"{secret}\n" not in found[0][1].replace("\\n", "\n")
    assert secret not in json.dumps(secretive.outputs)
