"""A small stack, and what follows from one thing that is wrong in it."""

from typing import Any

import pytest

from rehearsal.identities.extract import extract
from rehearsal.identities.reach import blind, reach
from tests.rehearsal.identities import scene
from tests.rehearsal.identities.scene import (
    ACCOUNT,
    BUCKET,
    DEPLOYER,
    TEAM,
    Resource,
    allow,
    managed,
    resource,
    role,
    stack,
)

REPOSITORY = f"arn:aws:ecr:us-west-2:{ACCOUNT}:repository"
POD_ROLES = ("a-publisher", "a-server", "b-server")
SOUND = {
    "a-publisher -> b/vllm-cache/ -> a-server (a-publisher: Publish)",
    "a-publisher -> b/vllm-cache/ -> b-server (a-publisher: Publish)",
    *(
        f"{DEPLOYER} -> b/{key}/ -> {it} (models-policy: {sid})"
        for key, sid in (("models", "ModelsByOnboarding"), ("vllm-cache", "CachesByPublishers"))
        for it in ("a-server", "b-server")
    ),
    *(f"nodes -> pods on its nodes -> {it} (AWS: AmazonEKSWorkerNodePolicy)" for it in POD_ROLES),
}


def edges(resources: list[Resource]) -> set[str]:
    return {str(it) for it in reach(extract(resources), resources)}


def gives(name: str, *statements: dict[str, Any]) -> list[Resource]:
    """More rights for a role of the stack."""
    return managed(name, "more", *statements)


def entry(policy: str, *namespaces: str) -> list[Resource]:
    scope = {"type": "namespace", "namespaces": list(namespaces)} if namespaces else {"type": "cluster"}
    of = f"arn:aws:eks::aws:cluster-access-policy/{policy}"
    return [
        resource("aws:eks/accessEntry:AccessEntry", "team", {"principalArn": TEAM}),
        resource(
            "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            "team-policy",
            {"principalArn": TEAM, "policyArn": of, "accessScope": scope},
        ),
    ]


def rbac(verbs: list[str], resources: list[str]) -> list[Resource]:
    at = {"name": "r", "namespace": "n"}
    kind = "kubernetes:rbac.authorization.k8s.io/v1"
    ref = {"kind": "Role", "name": "r"}
    subject = {"kind": "ServiceAccount", "namespace": "n", "name": "scaler"}
    return [
        resource(f"{kind}:Role", "r", {"metadata": at, "rules": [{"verbs": verbs, "resources": resources}]}),
        resource(f"{kind}:RoleBinding", "r", {"metadata": at, "roleRef": ref, "subjects": [subject]}),
    ]


def test_a_sound_stack_has_these_edges_and_no_others() -> None:
    assert edges(stack()) == SOUND


def test_a_server_never_reaches_another() -> None:
    servers = {"a-server", "b-server"}
    found = reach(extract(stack()), stack())
    assert [it for it in found if it.writer in servers] == []


STOPPED = "models-policy: CachesByPublishers"


@pytest.mark.parametrize(
    ("more", "found"),
    [
        pytest.param(
            gives("b-server", allow("Put", "s3:PutObject", f"{BUCKET}/vllm-cache/*")),
            {f"b-server -> b/vllm-cache/ -> a-server (b-server-more: Put; stopped by {STOPPED})"},
            id="a server writes caches",
        ),
        pytest.param(
            gives("b-server", allow("All", "s3:*", "*")),
            {
                f"b-server -> b/vllm-cache/ -> a-server (b-server-more: All; stopped by {STOPPED})",
                "b-server -> b/models/ -> a-server (b-server-more: All; stopped by models-policy: ModelsByOnboarding)",
                "b-server -> bucket policy -> a-server (b-server-more: All)",
                # it reads all buckets now, and so executes what others write into any
                "a-publisher -> all of * -> b-server (a-publisher: Publish)",
            },
            id="a server may do everything in S3",
        ),
        pytest.param(
            gives("b-server", {**allow("Odd", "s3:Put*", ""), "Resource": f"{BUCKET}/vllm-cache/?/x"}),
            {f"b-server -> b/vllm-cache/ -> a-server (b-server-more: Odd; stopped by {STOPPED})"},
            id="by patterns that meet in a few keys",
        ),
        pytest.param(
            gives("nodes", allow("Push", "ecr:PutImage", f"{REPOSITORY}/c/*")),
            {f"nodes -> images -> {it} (nodes-more: Push)" for it in POD_ROLES},
            id="nodes push images",
        ),
        pytest.param(
            gives("a-server", allow("Rules", "ecr:CreatePullThroughCacheRule", "*")),
            {"a-server -> images -> nodes (a-server-more: Rules)"},
            id="a server points the cache elsewhere",
        ),
        pytest.param(
            gives("a-server", allow("Policy", "s3:PutBucketPolicy", BUCKET)),
            {f"a-server -> bucket policy -> {it} (a-server-more: Policy)" for it in ("b-server",)},
            id="a server changes the bucket's policy",
        ),
        pytest.param(
            gives("a-server", allow("Pass", "iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/*")),
            {f"a-server -> pass -> {it} (a-server-more: Pass)" for it in ("a-publisher", "b-server", "nodes")},
            id="a server passes roles",
        ),
        pytest.param(
            gives("a-server", allow("Rights", "iam:PutRolePolicy", scene.arn("b-server"))),
            {"a-server -> rights -> b-server (a-server-more: Rights)"},
            id="a server gives another rights",
        ),
        pytest.param(
            gives("a-server", allow("Assume", "sts:AssumeRole", scene.arn("b-server"))),
            {"a-server -> assume -> b-server (a-server-more: Assume; stopped by b-server: trust)"},
            id="a right to assume a role that does not trust its holder",
        ),
        pytest.param(
            role("c", trusting={**scene.trust(""), "Principal": {"AWS": scene.arn("a-server")}}),
            {"a-server -> assume -> c (c: trust)"},
            id="a role trusts a server",
        ),
        pytest.param(
            gives("a-server", allow("Make", "iam:CreateRole", f"arn:aws:iam::{ACCOUNT}:role/publisher/mine")),
            {
                f"a-server -> roles like arn:aws:iam::{ACCOUNT}:role/publisher/* -> b-server (a-server-more: Make)",
            },
            id="a server makes a role that the bucket lets in",
        ),
        pytest.param(
            gives("a-server", allow("Associate", "eks:*", "*")),
            {f"a-server -> cluster -> {it} (a-server-more: Associate)" for it in ("a-publisher", "b-server")},
            id="a server gives pods identities",
        ),
        pytest.param(
            gives("a-server", allow("Shell", "ssm:StartSession", "*")),
            {"a-server -> instances -> nodes (a-server-more: Shell)"},
            id="a server opens shells on nodes",
        ),
        pytest.param(
            entry("AmazonEKSEditPolicy", "n"),
            {f"{TEAM} -> pods -> {it} (access entry: AmazonEKSEditPolicy)" for it in POD_ROLES},
            id="a team makes pods",
        ),
        pytest.param(entry("AmazonEKSEditPolicy", "elsewhere"), set(), id="a team of another namespace"),
        pytest.param(entry("AmazonEKSViewPolicy"), set(), id="a team that only looks"),
        pytest.param(
            rbac(["patch"], ["configmaps"]),
            {f"service account n/scaler -> pods -> {it} (Role r)" for it in POD_ROLES},
            id="pods change the programs of pods",
        ),
        pytest.param(rbac(["patch"], ["deployments/scale"]), set(), id="pods stop and start others"),
        pytest.param(rbac(["get", "list"], ["pods", "configmaps"]), set(), id="pods look at others"),
    ],
)
def test_what_is_wrong_is_found_and_named(more: list[Resource], found: set[str]) -> None:
    assert edges(stack(more)) - SOUND == found


def guard(**changed: Any) -> list[Resource]:
    """An admission policy that lets the scaler change nothing of a pod's spec."""
    spec = {
        "failurePolicy": "Fail",
        "matchConditions": [{"expression": "request.userInfo.username in ['system:serviceaccount:n:scaler']"}],
        "matchConstraints": {"resourceRules": [{"operations": ["UPDATE"], "resources": ["pods"]}]},
        "validations": [{"expression": "object.spec == oldObject.spec"}],
        **{key: value for key, value in changed.items() if key != "actions"},
    }
    binding = {"policyName": "g", "validationActions": changed.get("actions", ["Deny"])}
    kind = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
    return [
        resource(kind, "g", {"metadata": {"name": "g"}, "spec": spec}),
        resource(f"{kind}Binding", "g", {"metadata": {"name": "g"}, "spec": binding}),
    ]


def by_scaler(*more: list[Resource]) -> set[str]:
    return {it for it in edges(stack(*more)) if "scaler -> pods -> a-server" in it}


def test_what_an_admission_policy_keeps_from_a_pod_is_stopped_by_it() -> None:
    stopped = {"service account n/scaler -> pods -> a-server (Role r; stopped by ValidatingAdmissionPolicy g)"}
    free = {"service account n/scaler -> pods -> a-server (Role r)"}
    patches = rbac(["get", "patch"], ["pods"])
    assert (by_scaler(patches, guard()), by_scaler(patches)) == (stopped, free)
    # it is for updates of pods
    assert by_scaler(rbac(["create"], ["pods"]), guard()) == by_scaler(rbac(["patch"], ["jobs"]), guard()) == free
    another = [{"expression": "request.userInfo.username in ['system:serviceaccount:n:agent']"}]
    loose: list[dict[str, Any]] = [
        *({"failurePolicy": "Ignore"}, {"actions": ["Audit"]}, {"matchConditions": another}),
        *({"validations": []}, {"matchConstraints": {"resourceRules": []}}),
    ]
    assert [by_scaler(patches, guard(**it)) for it in loose] == [free] * len(loose)


def test_a_publisher_on_anothers_folder_is_found_where_the_bucket_lets_it_in() -> None:
    """The bucket knows publishers, not whose folder it is."""
    reads = role(
        "c-publisher", allow("Check", "s3:GetObject", f"{BUCKET}/vllm-cache/c/manifest.json"), path="/publisher/"
    )
    wide = gives("a-publisher", allow("Wide", "s3:PutObject", f"{BUCKET}/vllm-cache/*"))
    # the bucket's owner and the servers' publisher as before
    expected = f"{DEPLOYER} -> b/vllm-cache/ -> c-publisher (models-policy: CachesByPublishers)"
    assert edges(stack(reads)) - SOUND == {expected}
    assert "a-publisher -> b/vllm-cache/ -> c-publisher (a-publisher-more: Wide)" in edges(stack(reads, wide))


def test_without_the_buckets_policy_nothing_stops_a_server() -> None:
    more = gives("b-server", allow("Put", "s3:PutObject", f"{BUCKET}/vllm-cache/*"))
    assert "b-server -> b/vllm-cache/ -> a-server (b-server-more: Put)" in edges(stack(more, without="models-policy"))


@pytest.mark.parametrize(
    "condition",
    [
        {"ArnNotLike": {"aws:PrincipalArn": [DEPLOYER, "*"]}},
        {**scene.CACHES["Condition"], "Bool": {"aws:SecureTransport": "false"}},
        {"StringNotEquals": {"aws:PrincipalArn": DEPLOYER}},
    ],
    ids=["leaves everybody out", "holds in plain text alone", "is not understood"],
)
def test_a_refusal_that_may_not_hold_stops_nobody(condition: dict[str, Any]) -> None:
    more = gives("b-server", allow("Put", "s3:PutObject", f"{BUCKET}/vllm-cache/*"))
    bucket = ({**scene.CACHES, "Condition": condition}, scene.MODELS)
    assert "b-server -> b/vllm-cache/ -> a-server (b-server-more: Put)" in edges(stack(more, bucket=bucket))


def test_what_is_stopped_on_one_way_and_not_on_another_goes_through() -> None:
    reads = role("c", allow("Read", "s3:GetObject", [f"{BUCKET}/models/x/*", f"{BUCKET}/models/y/*"]))
    writes = gives("b-server", allow("Put", "s3:PutObject", f"{BUCKET}/models/*"))
    found = edges(stack(reads, writes, bucket=(scene.CACHES, scene.only("OnlyX", "models/x/*"))))
    assert "b-server -> b/models/ -> c (b-server-more: Put)" in found
    found = edges(stack(reads, writes, bucket=(scene.CACHES, scene.only("Both", "models/*"))))
    assert "b-server -> b/models/ -> c (b-server-more: Put; stopped by models-policy: Both)" in found


def test_who_is_let_in_by_the_bucket_itself_is_named() -> None:
    open_door = {**allow("Open", "s3:PutObject", f"{BUCKET}/models/*"), "Principal": {"AWS": TEAM}}
    found = edges(stack(bucket=(scene.CACHES, open_door)))
    assert {f"{TEAM} -> b/models/ -> {it} (models-policy: Open)" for it in ("a-server", "b-server")} <= found


def test_what_cannot_be_seen_is_said() -> None:
    assert blind(extract(stack())) == []
    group = resource("aws:eks/accessEntry:AccessEntry", "x", {"principalArn": TEAM, "kubernetesGroups": ["g"]})
    found = extract(stack(scene.attached("nodes", ["AmazonS3FullAccess"]), [group]))
    assert blind(found) == ["nodes: AmazonS3FullAccess", f"{TEAM}: group g"]
