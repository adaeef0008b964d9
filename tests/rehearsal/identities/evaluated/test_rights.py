"""The documents of `ops rights` over what an `up` has made, before an evaluator that is not ours."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.rights.documents import deployer, preview
from ops.rights.places import places
from ops.rights.state import State
from ops.rights.table import THEMES, takes_an_arn
from ops.rights.table.identity import ATTACHING
from ops.stack.stack_file import Stack, read
from tests.harness import ROOT, STACKS
from tests.infra import linter
from tests.infra.evaluator import Answer, Request, evaluate
from tests.rehearsal.identities.conftest import EVERY, Resources

ROWS = {token: row for rows in THEMES.values() for token, row in rows.items()}
ACCOUNT = "000000000000"
KEY = f"arn:aws:kms:us-west-2:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
STATE = State(backend="s3://state/team", secrets_key=KEY)
REFUSED: Mapping[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())

OF_ANOTHER = {
    "aws:ec2/route:Route": ("aws:ec2/routeTable:RouteTable",),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ("aws:ec2/routeTable:RouteTable", "aws:ec2/subnet:Subnet"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": ("aws:ec2/securityGroup:SecurityGroup",),
    "aws:iam/rolePolicy:RolePolicy": ("aws:iam/role:Role",),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("aws:iam/role:Role",),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": ("aws:eks/accessEntry:AccessEntry",),
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": ("aws:ecr/repository:Repository",),
    "aws:secretsmanager/secretVersion:SecretVersion": ("aws:secretsmanager/secret:Secret",),
    "aws:sqs/queuePolicy:QueuePolicy": ("aws:sqs/queue:Queue",),
    "aws:cloudwatch/eventTarget:EventTarget": ("aws:cloudwatch/eventRule:EventRule",),
}
"""Types without an ARN, to those that AWS compares. Every other part of a bucket is the bucket."""


@pytest.fixture(params=STACKS)
def file(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stack:
    monkeypatch.chdir(ROOT)
    return read(request.param)


def test_every_type_has_a_row_and_every_row_a_type(resources: Callable[[str], Resources]) -> None:
    assert {token for stack in EVERY for token in there(resources(stack))} == set(ROWS)


def made(resources: Resources, token: str) -> Iterator[str]:
    """ARNs of what a type is about."""
    if token.startswith("aws:eks/"):
        # what makes or lists a part is about the cluster
        of = (*OF_ANOTHER.get(token, (token,)), "aws:eks/cluster:Cluster")
    elif token.startswith("aws:s3/"):
        of = ("aws:s3/bucket:Bucket",)
    else:
        of = OF_ANOTHER.get(token, (token,))
    for it in resources:
        if it["type"] in of:
            outputs = it["outputs"]
            arn = outputs.get("arn") or outputs.get("accessEntryArn") or outputs.get("associationArn")
            if it["type"] == "aws:ec2/natGateway:NatGateway":
                arn = f"arn:aws:ec2:{outputs['region']}:{ACCOUNT}:natgateway/{it['id']}"
            elif it["type"] == "aws:eks/accessEntry:AccessEntry":  # EKS user guide, "Access entries"
                who = outputs["principalArn"].rpartition("/")[2]
                entry = f"access-entry/{outputs['clusterName']}/role/{ACCOUNT}/{who}/1"
                arn = f"arn:aws:eks:{outputs['region']}:{ACCOUNT}:{entry}"
            yield arn


def there(resources: Resources) -> set[str]:
    """Types of AWS that a stack has something of."""
    return {it["type"] for it in resources if it["type"].startswith("aws:")}


def documents(all_of: Mapping[str, Any]) -> dict[str, Any]:
    """With the policy that KMS gives a key: the account's IAM decides."""
    everything = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "kms:*", "Resource": "*"}
    return json.loads(json.dumps({**all_of, "key": {"Version": "2012-10-17", "Statement": [everything]}}))


def context(stack: Stack, action: str) -> dict[str, Any]:
    """Of a request that `up` makes: in the region, about what has the stack's tags."""
    tags = {
        f"aws:{what}/{key}": it for what in ("ResourceTag", "RequestTag") for key, it in stack.settings.tags.items()
    }
    kept = {
        key: it
        for key, it in tags.items()
        if not key.startswith("aws:RequestTag") or action in {"kms:CreateKey", "eks:CreateCluster"}
    }
    return {"aws:RequestedRegion": stack.region, **kept}


def requests(stack: Stack, resources: Resources, names: list[str]) -> list[Request]:
    """Each action of the table on each thing of its type."""
    found = []
    for token, row in ROWS.items():
        for action in (*row.look, *row.make, *row.change):
            anywhere = not takes_an_arn(action) or row.on == "registry"
            for arn in ["*"] if anywhere else sorted(set(made(resources, token))):
                found.append(
                    Request(
                        principal=f"arn:aws:iam::{ACCOUNT}:role/vllm-eks-deployer",
                        action=action,
                        resource=arn,
                        account=ACCOUNT,
                        context=context(stack, action),
                        policies=names,
                        # a key's own policy decides whether the account's IAM does
                        resource_policy="key" if row.on == "keys" and not anywhere else None,
                    )
                )
    return found


def answered(stack: Stack, all_of: Mapping[str, Any], resources: Resources) -> list[tuple[Request, Answer]]:
    asked = requests(stack, resources, list(all_of))
    return [(it, _plain(answer)) for it, answer in zip(asked, evaluate(documents(all_of), asked), strict=True)]


def _plain(answer: Answer) -> Answer:
    """A request about everything is answered for each kind of resource: together they are one verdict."""
    together = json.loads(answer.problem)["overallResult"] if answer.verdict == "wildcard" else answer.verdict
    return replace(answer, verdict=together)


VERDICTS = {"Allowed", "ImplicitlyDenied", "ExplicitlyDenied"}


def test_the_deployer_may_do_each_thing_of_the_table_on_what_the_stack_has(
    file: Stack, resources: Callable[[str], Resources]
) -> None:
    """An action is no action of each ARN of its type (tags are no part of `CreateVpc`): such pairs are no requests."""
    found = answered(file, deployer(file, STATE), resources(file.name))
    denied = [f"{r.action} {r.resource}: {a.verdict}" for r, a in found if a.verdict in VERDICTS - {"Allowed"}]
    assert denied == []
    allowed = {r.action for r, a in found if a.verdict == "Allowed"}
    rows = [ROWS[token] for token in there(resources(file.name))]
    assert {it for row in rows for it in (*row.look, *row.make, *row.change)} - allowed == set()


def test_a_preview_may_look_at_what_the_stack_has_and_change_none_of_it(
    file: Stack, resources: Callable[[str], Resources]
) -> None:
    looks = {it for row in ROWS.values() for it in row.look}
    here = {it for token in there(resources(file.name)) for it in ROWS[token].look}
    found = answered(file, preview(file, STATE), resources(file.name))
    assert [f"{r.action} {r.resource}" for r, a in found if a.verdict == "Allowed" and r.action not in looks] == []
    denied = [f"{r.action} {r.resource}" for r, a in found if a.verdict in VERDICTS - {"Allowed"} and r.action in looks]
    assert denied == []
    assert here - {r.action for r, a in found if a.verdict == "Allowed"} == set()


def levels() -> dict[str, str]:
    services = json.loads((Path(linter.parliament.__file__).parent / "iam_definition.json").read_text())
    return {
        f"{it['prefix']}:{action['privilege']}".lower(): action["access_level"]
        for it in services
        for action in it["privileges"]
    }


NO_READ_BY_ITS_NAME = {
    "kms:decrypt": "AWS calls it a write; it returns what the stack's own secrets are",
}
NEWER = {"s3:listtagsforresource": "younger than the table"}


def test_each_action_of_a_preview_is_a_read(file: Stack) -> None:
    (document,) = preview(file, STATE).values()
    level = levels()
    found = {action.lower(): level.get(action.lower()) for it in document["Statement"] for action in it["Action"]}
    assert len(found) > 60
    odd = {action for action, it in found.items() if it not in {"Read", "List"}}
    assert odd - set(NEWER) == set(NO_READ_BY_ITS_NAME)


def asked_for(stack: Stack, entry: Mapping[str, Any], names: list[str]) -> Iterator[Request]:
    put_in = {"cluster": stack.settings.name, "bucket": stack.settings.model_bucket.name, "region": stack.region}
    context_of = {"aws:RequestedRegion": stack.region, **entry.get("context", {})}
    for action in entry["action"] if isinstance(entry["action"], list) else [entry["action"]]:
        yield Request(
            principal=f"arn:aws:iam::{ACCOUNT}:role/vllm-eks-deployer",
            action=action,
            resource=entry["at"].format(account=ACCOUNT, **put_in),
            account=ACCOUNT,
            context={key: it.format(account=ACCOUNT) for key, it in context_of.items()},
            policies=names,
            resource_policy="key" if ":kms:" in entry["at"] else None,
        )


@pytest.mark.parametrize("who", ["deployer", "preview"])
def test_what_is_not_the_stacks_is_refused(file: Stack, who: str) -> None:
    all_of = {"deployer": deployer, "preview": preview}[who](file, STATE)
    asked = [it for entry in REFUSED["both"] + REFUSED[who] for it in asked_for(file, entry, list(all_of))]
    given = evaluate(documents(all_of), asked)
    wrong = [
        f"{r.action} {r.resource} {dict(r.context)}: {a.verdict} {a.problem} {list(a.statements)}"
        for r, a in zip(asked, given, strict=True)
        if a.verdict != "ImplicitlyDenied"
    ]
    assert wrong == []


def test_the_same_requests_about_the_stacks_own_are_allowed(file: Stack) -> None:
    """A table of refusals passes also where nothing is allowed at all."""
    all_of = deployer(file, STATE)
    asked = [it for entry in REFUSED["granted"] for it in asked_for(file, entry, list(all_of))]
    tags = {f"aws:ResourceTag/{key}": it for key, it in file.settings.tags.items()}
    asked = [replace(it, context={**it.context, **tags}) for it in asked]
    given = evaluate(documents(all_of), asked)
    wrong = [
        f"{r.action} {r.resource}: {a.verdict} {a.problem}"
        for r, a in zip(asked, given, strict=True)
        if a.verdict != "Allowed"
    ]
    assert wrong == []


def test_every_role_and_policy_of_an_up_is_below_the_names(file: Stack, resources: Callable[[str], Resources]) -> None:
    """A role that is called otherwise would stop an `up` in the middle."""
    of = places(file)
    for token, subject in (("aws:iam/role:Role", "roles"), ("aws:iam/policy:Policy", "policies")):
        arns = set(made(resources(file.name), token))
        assert arns
        patterns = [it.removesuffix("*") for it in of.arns[subject]]
        assert [arn for arn in arns if not arn.startswith(tuple(patterns))] == []
        # and no pattern is for nothing
        assert [it for it in patterns if not any(arn.startswith(it) for arn in arns)] == []
    attachment = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    attached = [it["inputs"]["policyArn"] for it in resources(file.name) if it["type"] == attachment]
    known = [it.removesuffix("*") for it in of.attached]
    assert [it for it in attached if not it.startswith(tuple(known))] == []
    assert set(ATTACHING) == {"iam:AttachRolePolicy", "iam:DetachRolePolicy"}


KEPT = {
    "PERMISSIONS_MANAGEMENT_ACTIONS": "a deployer makes roles, policies and keys: docs/identities.md says what follows",
    "PRIVILEGE_ESCALATION": "the same, by a new version of one of its policies",
    "RESOURCE_POLICY_PRIVILEGE_ESCALATION": "the same, by the bucket's policy",
    "RESOURCE_STAR": "one read of EC2 that could name a VPC, which nobody knows before it is there",
}


def test_the_linter_finds_nothing_but_that_a_deployer_makes_rights(file: Stack) -> None:
    made = {name: linter.findings(name, _plain_json(it["Statement"])) for name, it in deployer(file, STATE).items()}
    assert {issue for them in made.values() for _, issue, _ in them} == set(KEPT)
    (document,) = preview(file, STATE).values()
    found = linter.findings("preview", _plain_json(document["Statement"]))
    assert found == {("preview", "RESOURCE_STAR", "ec2:DescribeVpcAttribute")}


def _plain_json(value: Any) -> Any:
    return json.loads(json.dumps(value))
