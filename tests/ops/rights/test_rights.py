"""`ops rights`: the documents, their trust, and what is refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

ISSUER = "token.actions.githubusercontent.com"
KEY = "arn:aws:kms:us-west-2:000000000000:key/1234abcd"
ROLE = "arn:aws:iam::000000000000:role"
Ops = Callable[..., tuple[int, str, str]]


def documents(ops: Ops, *arguments: str) -> dict[str, Any]:
    code, out, err = ops("rights", *arguments)
    assert (code, err) == (0, "")
    return json.loads(out)


def statement(document: dict[str, Any], sid: str) -> dict[str, Any]:
    (found,) = [it for it in document["Statement"] if it["Sid"] == sid]
    return found


def characters(document: dict[str, Any]) -> int:
    return len("".join(json.dumps(document).split()))


def test_a_document_for_each_theme_and_none_too_big(ops: Ops) -> None:
    found = documents(ops, "deployer", "--stack", "prod")
    assert list(found) == ["network", "cluster", "identities", "data"]
    assert [name for name, it in found.items() if characters(it) > 6144] == []
    assert list(documents(ops, "preview", "--stack", "prod")) == ["preview"]


@pytest.mark.parametrize("who", ["deployer", "preview"])
def test_no_action_is_a_pattern_and_every_statement_has_its_own_name(ops: Ops, who: str) -> None:
    for document in documents(ops, who, "--backend", "s3://state", "--secrets-key", KEY).values():
        assert [it for s in document["Statement"] for it in s["Action"] if "*" in it] == []
        assert len({s["Sid"] for s in document["Statement"]}) == len(document["Statement"])
        # what takes no ARN is bound to the region
        anywhere = [s for s in document["Statement"] if s["Resource"] == ["*"]]
        assert [s["Sid"] for s in anywhere if "aws:RequestedRegion" not in s["Condition"]["StringEquals"]] == []


def test_roles_are_those_of_the_stacks_names(ops: Ops) -> None:
    found = statement(documents(ops, "deployer")["identities"], "Pass")
    assert found["Resource"] == [
        *(f"{ROLE}/{it}-*" for it in ("cluster-eksRole-role", "cluster-system", "karpenter-nodes")),
        *(f"{ROLE}/{it}-*" for it in ("karpenter-controller", "mountpoint-reader", "gemma-server")),
        f"{ROLE}/vllm-eks/inference-dev/publisher/*",
        f"{ROLE}/vllm-eks/inference-dev/onboarding/*",
    ]
    assert found["Condition"] == {
        "StringEquals": {"iam:PassedToService": ["eks.amazonaws.com", "pods.eks.amazonaws.com", "ec2.amazonaws.com"]}
    }


def test_what_has_no_name_is_told_by_the_stacks_tags(ops: Ops, edit) -> None:
    tags = {"aws:ResourceTag/environment": "dev", "aws:ResourceTag/project": "vllm-eks"}
    region = {"aws:RequestedRegion": "us-west-2"}
    found = documents(ops, "deployer")
    for theme, sid in (("network", "ChangeEc2"), ("network", "TagWhatIsOurs"), ("data", "ChangeKeys")):
        assert statement(found[theme], sid)["Condition"] == {"StringEquals": {**region, **tags}}
    edit(lambda settings: settings.update(tags={}))
    assert statement(documents(ops, "deployer")["network"], "ChangeEc2")["Condition"] == {"StringEquals": region}


def test_an_existing_bucket_is_looked_up_and_never_changed(ops: Ops, edit) -> None:
    changes = {"existing": True, "keepOnDestroy": True, "oldVersionDays": "never"}
    edit(lambda settings: settings["modelBucket"].update(changes))
    found = documents(ops, "deployer")["data"]["Statement"]
    of_bucket = [it for s in found for it in s["Action"] if it.startswith("s3:")]
    assert of_bucket == ["s3:GetBucketLocation", "s3:ListBucket"]


def test_a_key_that_was_there_is_granted_by_its_name(ops: Ops, edit) -> None:
    edit(lambda settings: settings["cluster"].update(secretsKey=KEY))
    found = statement(documents(ops, "deployer")["cluster"], "ExistingKey")
    assert (found["Action"], found["Resource"]) == (["kms:CreateGrant", "kms:DescribeKey"], [KEY])


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        (("deployer", "--environment", "prod"), "repo:owner/name:environment:prod"),
        (("preview",), "repo:owner/name:environment:preview-dev"),
        (("preview", "--environment", "look"), "repo:owner/name:environment:look"),
    ],
)
def test_the_trust_is_for_one_exact_subject(ops: Ops, arguments: tuple[str, ...], subject: str) -> None:
    found = documents(ops, *arguments, "--github", "owner/name")["trust"]
    assert found["Statement"] == [
        {
            "Sid": "WorkflowsAssume",
            "Effect": "Allow",
            "Principal": {"Federated": f"arn:aws:iam::000000000000:oidc-provider/{ISSUER}"},
            "Action": "sts:AssumeRoleWithWebIdentity",
            "Condition": {"StringEquals": {f"{ISSUER}:aud": "sts.amazonaws.com", f"{ISSUER}:sub": subject}},
        }
    ]


def test_a_preview_reads_the_state_and_a_deployer_writes_it(ops: Ops) -> None:
    where = ("--backend", "s3://state/team?region=us-west-2", "--secrets-key", KEY)
    read = documents(ops, "preview", *where)["preview"]
    write = documents(ops, "deployer", *where)["state"]
    below = ["arn:aws:s3:::state/team/.pulumi/*"]
    assert (statement(read, "ReadState")["Action"], statement(read, "ReadState")["Resource"]) == (
        ["s3:GetObject"],
        below,
    )
    assert statement(read, "Secrets")["Action"] == ["kms:Decrypt"]
    assert statement(write, "WriteState") == {
        "Sid": "WriteState",
        "Effect": "Allow",
        "Action": ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
        "Resource": below,
    }
    assert statement(write, "Secrets") == {
        "Sid": "Secrets",
        "Effect": "Allow",
        "Action": ["kms:Decrypt", "kms:Encrypt"],
        "Resource": [KEY],
    }
    assert statement(documents(ops, "preview", "--backend", "s3://state")["preview"], "ReadState")["Resource"] == [
        "arn:aws:s3:::state/.pulumi/*"
    ]


def test_each_document_can_be_a_file(ops: Ops, folder) -> None:
    code, out, err = ops("rights", "deployer", "--github", "o/n", "--environment", "dev", "--output", "rights")
    names = ["network", "cluster", "identities", "data", "trust"]
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"rights/{it}.json" for it in names]
    printed = documents(ops, "deployer", "--github", "o/n", "--environment", "dev")
    assert {it: json.loads((folder / "rights" / f"{it}.json").read_text()) for it in names} == printed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("deployer", "--github", "o/n"),
            "--github and --environment: both or none; a subject without an environment is every branch's\n",
        ),
        (
            ("deployer", "--github", "o/n", "--environment", "*"),
            "--environment *: expected a name of letters, digits, '.', '_' and '-'\n",
        ),
        (("preview", "--github", "o/*"), "--github o/*: expected OWNER/NAME, without patterns\n"),
        (("preview", "--environment", "look"), "--environment: of which repository? --github OWNER/NAME\n"),
        (("preview", "--github", "o"), "--github o: expected OWNER/NAME, without patterns\n"),
        (("preview", "--github", ""), "Error: Invalid value for '--github': empty\n"),
        (("preview", "--backend", "file://x"), "--backend file://x: expected s3://BUCKET or s3://BUCKET/PREFIX\n"),
        (
            ("preview", "--backend", "s3://state/*"),
            "--backend s3://state/*: expected s3://BUCKET or s3://BUCKET/PREFIX\n",
        ),
        (
            ("preview", "--secrets-key", "alias/x"),
            "--secrets-key alias/x: expected the ARN of a key, arn:aws:kms:...:key/...; an alias is none, no policy can"
            " name it\n",
        ),
    ],
)
def test_usage_is_2(ops: Ops, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = ops("rights", *arguments)
    assert (code, out) == (2, "")
    assert err.endswith(said)


def test_more_servers_than_a_document_holds_is_refused_with_the_sum(ops: Ops, edit) -> None:
    def many(settings: dict[str, Any]) -> None:
        gemma = settings["servers"]["gemma"]
        settings["gpuPools"]["rtx-pro-6000"]["maxGpus"] = 20
        settings["servers"] = {f"{'s' * 25}-{i:02}": gemma for i in range(20)}

    edit(many)
    code, out, err = ops("rights", "deployer")
    assert (code, out) == (1, "")
    assert err.startswith("identities: ")
    assert err.endswith(" characters > 6144 of a managed policy; fewer servers, or shorter names\n")
