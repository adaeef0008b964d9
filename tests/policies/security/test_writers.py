"""Who may write to S3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from guardrails.accounts import IRSA
from tests.policies.conftest import UNKNOWN, found, resource, unchecked

GPU = {"limits": {"nvidia.com/gpu": "1"}}
CACHE = "arn:aws:s3:::weights/vllm-cache/*"


def server(account: Any = "gemma", sources: Any = None, kind: str = "kubernetes:apps/v1:Deployment", **spec: Any):
    template = {"spec": {"serviceAccountName": account, "containers": [{"name": "engine", "resources": GPU}], **spec}}
    return resource(kind, {"metadata": {"namespace": "inference"}, "spec": {"template": template}}, sources=sources)


def job(account: Any = "gemma"):
    return server(account, kind="kubernetes:batch/v1:Job")


def statement(action: Any, on: Any, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": on, **more}


def role(**props: Any):
    return resource("aws:iam/role:Role", {"name": "server-1a2b", **props}, "server")


def association(its, **props: Any):
    given = {"namespace": "inference", "serviceAccount": "gemma", "roleArn": UNKNOWN, **props}
    return resource("aws:eks/podIdentityAssociation:PodIdentityAssociation", given, "pods", sources={"roleArn": [its]})


def rights(its, *statements: Any, policy: Any = None, name: str = "rights"):
    text = json.dumps({"Statement": list(statements)})
    sources = {"role": [its]}
    props = {"role": UNKNOWN, "policy": policy or text}
    return resource("aws:iam/rolePolicy:RolePolicy", props, name, sources=sources)


def attached(its, arn: str = UNKNOWN, document: Any = None):
    sources = {"role": [its], **({"policyArn": [document]} if document else {})}
    return resource("aws:iam/rolePolicyAttachment:RolePolicyAttachment", {"policyArn": arn}, "att", sources=sources)


def test_a_server_that_reads_passes():
    its = role()
    reads = statement(["s3:GetObject", "s3:ListBucket"], "*")
    denies = {"Effect": "Deny", "Action": "s3:PutObject", "Resource": "*"}
    queue = statement("*", "arn:aws:sqs:eu-west-1:1:jobs")
    bucket = statement("s3:*", "arn:aws:s3:::weights")
    assert found("server-writes", server(), its, association(its), rights(its, reads, denies, queue, bucket)) == []


@pytest.mark.parametrize("action", ["s3:PutObject", "S3:put*", "s3:*", "*", "s3:DeleteObject", "s3:ReplicateObject"])
def test_a_server_that_writes_is_refused(action):
    its = role()
    mine = rights(its, statement(["s3:GetObject", action], ["arn:aws:s3:::weights", CACHE], Sid="Write"))
    assert found("server-writes", server(), its, association(its), mine) == [
        f"its identity server may write {CACHE} (rights, statement Write: {action}); let another identity write"
    ]


def test_all_but_some_is_a_right_to_write():
    its = role()
    mine = rights(its, {"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"})
    assert found("server-writes", server(), its, association(its), mine) == [
        "its identity server may write * (rights, statement 0: all but iam:*); let another identity write"
    ]
    spared = rights(its, {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"})
    assert found("server-writes", server(), its, association(its), spared) == []


def test_each_way_to_a_right_is_looked_at():
    write = statement("s3:PutObject", CACHE)
    text = json.dumps({"Statement": write})
    its = role(inlinePolicies=[{"name": "own", "policy": text}], managedPolicyArns=["arn:aws:iam::aws:policy/X"])
    document = resource("aws:iam/policy:Policy", {"policy": text}, "document")
    by_name = resource("aws:iam/rolePolicy:RolePolicy", {"role": "server-1a2b", "policy": text}, "named")
    admin = attached(its, "arn:aws:iam::aws:policy/AmazonS3FullAccess")
    seen = found("server-writes", server(), its, association(its), attached(its, document=document), by_name, admin)
    ends = "let another identity write"
    assert seen == [
        f"its identity server may write {CACHE} (server, inline policy own, statement 0: s3:PutObject); {ends}",
        f"its identity server may write {CACHE} (document, statement 0: s3:PutObject); {ends}",
        f"its identity server may write {CACHE} (named, statement 0: s3:PutObject); {ends}",
        f"its identity server may write everywhere in S3 (AmazonS3FullAccess); {ends}",
    ]


def test_a_role_is_found_by_its_name_and_by_the_annotation_of_an_account():
    its = role()
    mine = rights(its, statement("s3:PutObject", CACHE))
    says = [f"its identity server may write {CACHE} (rights, statement 0: s3:PutObject); let another identity write"]
    arn = "arn:aws:iam::1:role/path/server-1a2b"
    by_name = resource(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        {"namespace": "inference", "serviceAccount": "gemma", "roleArn": arn},
    )
    assert found("server-writes", server(), its, by_name, mine) == says
    chained = association(resource("aws:iam/role:Role", {}, "first"), targetRoleArn=arn)
    assert found("server-writes", server(), its, chained, mine) == says
    metadata = {"namespace": "inference", "name": "gemma", "annotations": {IRSA: UNKNOWN}}
    irsa = resource("kubernetes:core/v1:ServiceAccount", {"metadata": metadata}, sources={"metadata": [its]})
    assert found("server-writes", server(), its, irsa, mine) == says
    metadata["annotations"] = {IRSA: arn}
    assert found("server-writes", server(), its, resource(irsa.kind, {"metadata": metadata}), mine) == says


def test_others_are_left_alone():
    its = role()
    mine = rights(its, statement("s3:PutObject", CACHE))
    for other in ({"namespace": "another"}, {"serviceAccount": "publisher"}):
        assert found("server-writes", server(), its, association(its, **other), mine) == []
    assert found("server-writes", job(), its, association(its), mine) == []
    cpu = server(containers=[{"name": "front"}])
    assert found("server-writes", cpu, its, association(its), mine) == []


def test_configuration_excepts_places_where_servers_may_write():
    its = role()
    mine = rights(its, statement("s3:PutObject", [CACHE, "arn:aws:s3:::logs/*"]))
    assert found("server-writes", server(), its, association(its), mine, config={"exceptions": ["*:::logs/*"]}) == [
        f"its identity server may write {CACHE} (rights, statement 0: s3:PutObject); let another identity write"
    ]


def test_what_is_not_known_of_one_document_hides_nothing_of_the_next():
    its = role()
    unknown, broken = rights(its, policy=UNKNOWN, name="unknown"), rights(its, policy="{]", name="broken")
    writes = rights(its, statement("s3:PutObject", CACHE))
    stack = server(), its, association(its), unknown, broken, writes
    for rule, ends in (
        ("server-writes", f"its identity server may write {CACHE} (rights, statement 0: s3:PutObject); let another"),
        ("publisher-scope", "broken: policy: no JSON"),
    ):
        first = server() if rule == "server-writes" else job()
        seen = found(rule, first, *stack[1:])
        assert any(it.startswith(ends) for it in seen)
        assert unchecked(rule, first, *stack[1:]) == ["policy of unknown"]


def test_an_account_that_nothing_tells_is_not_checked_yet():
    its = role()
    mine = rights(its, statement("s3:PutObject", CACHE))
    assert unchecked("server-writes", server(UNKNOWN), its, association(its), mine) == [
        "spec.template.spec.serviceAccountName"
    ]
    assert unchecked("publisher-scope", server(), job(UNKNOWN), its, association(its), mine) == [
        "spec.template.spec.serviceAccountName"
    ]
    assert unchecked("server-writes", server(), its, association(its, serviceAccount=UNKNOWN), mine) == [
        "serviceAccount of pods"
    ]


def test_an_account_of_the_program_is_told_by_what_makes_it():
    its = role()
    mine = rights(its, statement("s3:PutObject", CACHE))
    made = resource("kubernetes:core/v1:ServiceAccount", {"metadata": {"namespace": "inference", "name": "gemma"}})
    of = {"spec": [made]}
    assert found("server-writes", server(UNKNOWN, of), its, made, association(its), mine) == [
        f"its identity server may write {CACHE} (rights, statement 0: s3:PutObject); let another identity write"
    ]


@pytest.mark.parametrize(
    "on",
    ["*", "arn:*", "arn:aws:s3:::*", "arn:aws:s3:::weights/*", "arn:aws:s3:::weights*/models/*", "arn:aws:s3:::w/a*/b"],
)
def test_a_publisher_that_names_no_folder_is_refused(on):
    its = role()
    mine = rights(its, statement("s3:PutObject", on))
    assert found("publisher-scope", job(), its, association(its), mine) == [
        f"its identity server may write {on} (rights, statement 0); name 1 folder at least"
    ]
    assert found("publisher-scope", server(), its, association(its), mine) == []


@pytest.mark.parametrize(
    "on",
    [
        "arn:aws:s3:::weights",
        "arn:aws:s3:::weights/manifest.json",
        "arn:aws:s3:::weights/models/*",
        "arn:aws:s3:::weights/${aws:PrincipalTag/kubernetes-namespace}/*",
        "arn:aws:s3:eu-west-1:1:accesspoint/ap/object/models/*",
        "arn:aws:sqs:eu-west-1:1:*",
    ],
)
def test_a_publisher_below_a_folder_passes(on):
    its = role()
    assert found("publisher-scope", job(), its, association(its), rights(its, statement("*", on))) == []


def test_configuration_says_how_many_folders():
    its = role()
    mine = rights(its, statement("s3:PutObject", CACHE))
    stack = job(), its, association(its), mine
    assert found("publisher-scope", *stack, config={"folders": 2}) == [
        f"its identity server may write {CACHE} (rights, statement 0); name 2 folders at least"
    ]
    assert found("publisher-scope", *stack, config={"folders": 2, "exceptions": [CACHE]}) == []
    admin = attached(its, "arn:aws:iam::aws:policy/AdministratorAccess")
    assert found("publisher-scope", job(), its, association(its), admin) == [
        "its identity server may write everywhere in S3 (AdministratorAccess); name 1 folder at least"
    ]


def test_a_statement_without_resources_is_about_everything():
    its = role()
    mine = rights(its, {"Effect": "Allow", "Action": "s3:PutObject"})
    assert found("publisher-scope", job(), its, association(its), mine) == [
        "its identity server may write * (rights, statement 0); name 1 folder at least"
    ]


@pytest.mark.parametrize("rule", ["server-writes", "publisher-scope"])
def test_missing_and_mistyped(rule):
    kind = "kubernetes:apps/v1:Deployment" if rule == "server-writes" else "kubernetes:batch/v1:Job"
    for props in ({}, {"spec": None}, {"spec": {"template": None}}):
        assert found(rule, resource(kind, props)) == []
    template = {"spec": {"template": {"spec": {"containers": [{"resources": GPU}], "serviceAccountName": 3}}}}
    assert found(rule, resource(kind, template)) == [
        "spec.template.spec.serviceAccountName: expected a text, found a number"
    ]
    its = role(managedPolicyArns="x", inlinePolicies=3)
    mine = server() if rule == "server-writes" else job()
    assert found(rule, mine, its, association(its), association(its, namespace=["x"])) == [
        "server: inlinePolicies: expected a list, found a number",
        "server: managedPolicyArns: expected a list, found a text",
        "pods: namespace: expected a text, found a list",
    ]
