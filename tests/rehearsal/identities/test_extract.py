"""No document of a stack is left out in silence."""

import json

import pytest

from rehearsal.identities.documents import DocumentError
from rehearsal.identities.extract import extract
from tests.rehearsal.identities import scene
from tests.rehearsal.identities.scene import allow, document, managed, resource, role, stack

ANY = document(allow("Any", "s3:*", "*"))


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::p::{token}::{name}"


def test_a_role_has_its_trust_its_policies_and_those_of_aws() -> None:
    found = extract(stack(managed("nodes", "extra", allow("Extra", "ecr:PutImage", "*"))))
    nodes = found.roles["nodes"]
    assert sorted(found.roles) == ["a-publisher", "a-server", "b-server", "nodes"]
    assert (nodes.physical, nodes.aws) == ("nodes-1234567", tuple(sorted(scene.NODE_POLICIES)))
    assert [it.name for it in nodes.documents] == ["nodes-extra"]
    assert nodes.trust.statements[0].principals == {"Service": ("ec2.amazonaws.com",)}
    assert found.roles["a-publisher"].arn == scene.arn("a-publisher", "/publisher/")
    assert [s.sid for s in found.resources["bucket"][0].statements] == ["CachesByPublishers", "ModelsByOnboarding"]
    first = found.associations[0]
    assert (first.namespace, first.service_account, first.role) == ("n", "a-publisher", "a-publisher")


@pytest.mark.parametrize(
    ("token", "inputs", "said"),
    [
        ("aws:sns/topicPolicy:TopicPolicy", {"policy": ANY}, "policy holds a policy that is not read"),
        ("aws:sqs/queue:Queue", {"name": "q", "policy": ANY}, "policy holds a policy that is not read"),
        ("aws:x/y:Y", {"deep": [{"inside": {"text": ANY}}]}, "deep[0].inside.text holds a policy that is not read"),
        ("aws:x/y:Y", {"object": json.loads(ANY)}, "object holds a policy that is not read"),
        ("kubernetes:core/v1:ConfigMap", {"data": {"a.json": ANY}}, "data.a.json holds a policy that is not read"),
        ("aws:iam/user:User", {"name": "u"}, "IAM resources of this type are not read"),
        ("aws:iam/role:Role", {"name": "r", "inlinePolicies": [{"policy": ANY}]}, "inlinePolicies is not read"),
    ],
)
def test_a_document_in_a_place_that_is_not_known_is_an_error(token: str, inputs: dict, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        extract(stack([resource(token, "new", inputs)]))
    assert str(caught.value).splitlines()[0] == f"{urn(token, 'new')}: {said}"


def test_a_policy_without_a_known_role_is_an_error() -> None:
    policy, attachment = managed("nodes", "lost", allow("Extra", "ecr:PutImage", "*"))
    with pytest.raises(DocumentError) as caught:
        extract(stack([policy]))
    assert str(caught.value) == f"{policy['urn']}: attached to no role of this stack"
    with pytest.raises(DocumentError) as caught:
        extract(stack([attachment]))
    of = attachment["inputs"]["policyArn"]
    said = f"{attachment['urn']}: {of} is neither AWS's nor of this stack: its content is not known"
    assert str(caught.value) == said
    with pytest.raises(DocumentError) as caught:
        extract(stack(role("c", allow("X", "s3:GetObject", "*"))[1:]))
    assert str(caught.value) == f"{urn('aws:iam/rolePolicy:RolePolicy', 'c')}: c-1234567 is no role of this stack"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "no JSON"),
        ('{"Statement": []}', "Version None; expected 2012-10-17, which knows variables"),
        ('{"Version": "2012-10-17", "Statements": []}', "no policy; expected an object of Version, Id and Statement"),
        (document({"Effect": "allow", "Action": "a:b"}), "Effect allow; expected Allow or Deny"),
        (
            document({"Effect": "Allow", "Action": "a:b", "NotAction": "a:c"}),
            "a statement: expected Action or NotAction, and no key with its Not",
        ),
        (
            document({"Effect": "Allow", "Action": "a:b", "Conditions": {}}),
            "a statement with ['Conditions']; expected keys out of Action, Condition, Effect, NotAction, NotPrincipal,"
            " NotResource, Principal, Resource, Sid",
        ),
    ],
)
def test_a_document_that_is_none_is_an_error(text: str, said: str) -> None:
    policy = resource("aws:iam/rolePolicy:RolePolicy", "odd", {"role": "nodes-1234567", "policy": text})
    with pytest.raises(DocumentError) as caught:
        extract(stack([policy]))
    assert str(caught.value) == f"{policy['urn']}: {said}"
