"""A small stack by hand: two servers, a publisher, nodes, a bucket. Tests break it in one place."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

ACCOUNT, REGION, CLUSTER = "123456789012", "us-west-2", "c"
BUCKET = "arn:aws:s3:::b"
DEPLOYER = f"arn:aws:iam::{ACCOUNT}:role/deployer"
TEAM = f"arn:aws:iam::{ACCOUNT}:role/team"
NODE_POLICIES = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")

Resource = dict[str, Any]


def resource(token: str, name: str, inputs: Mapping[str, Any], **outputs: Any) -> Resource:
    return {
        "urn": f"urn:pulumi:dev::p::{token}::{name}",
        "type": token,
        "inputs": dict(inputs),
        "outputs": {**inputs, **outputs},
    }


def document(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(sid: str, action: Any, on: Any, **more: Any) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": on, **more}


def arn(role: str, path: str = "/") -> str:
    return f"arn:aws:iam::{ACCOUNT}:role{path}{role}-1234567"


def trust(service: str) -> dict[str, Any]:
    return {"Sid": "T", "Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}


def role(
    name: str, *statements: Mapping[str, Any], trusting: Mapping[str, Any] | None = None, path: str = "/"
) -> list[Resource]:
    """A role with one inline policy, or none."""
    physical = f"{name}-1234567"
    trusted = document(trusting or trust("pods.eks.amazonaws.com"))
    inputs = {"name": physical, "path": path, "assumeRolePolicy": trusted}
    found = [resource("aws:iam/role:Role", name, inputs, arn=arn(name, path))]
    if statements:
        given = {"role": physical, "policy": document(*statements)}
        found.append(resource("aws:iam/rolePolicy:RolePolicy", name, given))
    return found


def attached(name: str, policies: Sequence[str]) -> list[Resource]:
    """Policies of AWS on a role."""
    kind = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    given = [(it, f"arn:aws:iam::aws:policy/{it}") for it in policies]
    return [resource(kind, f"{name}-{it}", {"role": f"{name}-1234567", "policyArn": of}) for it, of in given]


def managed(name: str, key: str, *statements: Mapping[str, Any]) -> list[Resource]:
    """A policy of the stack, attached to a role."""
    of = f"arn:aws:iam::{ACCOUNT}:policy/{name}-{key}-7654321"
    attachment = {"role": f"{name}-1234567", "policyArn": of}
    return [
        resource("aws:iam/policy:Policy", f"{name}-{key}", {"policy": document(*statements)}, arn=of),
        resource("aws:iam/rolePolicyAttachment:RolePolicyAttachment", f"{name}-{key}", attachment),
    ]


def pods(name: str) -> list[Resource]:
    """The association of a role, and a Deployment whose pods have it."""
    image = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/c/engine:v1"
    given = {"clusterName": CLUSTER, "namespace": "n", "serviceAccount": name}
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "n"},
        "spec": {"template": {"spec": {"serviceAccountName": name, "containers": [{"image": image}]}}},
    }
    association = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    return [
        resource(association, name, {**given, "roleArn": arn(name, PATHS.get(name, "/"))}),
        resource("kubernetes:apps/v1:Deployment", name, deployment),
    ]


def only(sid: str, objects: str, *writers: str) -> dict[str, Any]:
    """Nobody else writes them."""
    return {
        **allow(sid, ["s3:PutObject", "s3:ReplicateObject"], f"{BUCKET}/{objects}"),
        "Effect": "Deny",
        "Principal": "*",
        "Condition": {"ArnNotLike": {"aws:PrincipalArn": [DEPLOYER, *writers]}},
    }


PATHS = {"a-publisher": "/publisher/"}
READS = {
    "a-server": allow("Read", "s3:GetObject", [f"{BUCKET}/models/a/*", f"{BUCKET}/vllm-cache/*"]),
    "b-server": allow("Read", "s3:GetObject", [f"{BUCKET}/models/b/*", f"{BUCKET}/vllm-cache/*"]),
}
PUBLISH = allow("Publish", ["s3:PutObject"], f"{BUCKET}/vllm-cache/a/*")
CACHES = only("CachesByPublishers", "vllm-cache/*", f"arn:aws:iam::{ACCOUNT}:role/publisher/*")
MODELS = only("ModelsByOnboarding", "models/*")


def bucket_policy(*statements: Mapping[str, Any]) -> list[Resource]:
    return [resource("aws:s3/bucketPolicy:BucketPolicy", "models-policy", {"policy": document(*statements)})]


def stack(
    *more: Sequence[Resource], without: str = "", bucket: Sequence[Mapping[str, Any]] = (CACHES, MODELS)
) -> list[Resource]:
    """Everything, and what a test adds; `without` is a logical name that is left out."""
    cluster = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{CLUSTER}"
    prefix = {"ecrRepositoryPrefix": "c/quay", "region": REGION}
    parts = [
        role("a-server", READS["a-server"]),
        role("b-server", READS["b-server"]),
        role("a-publisher", PUBLISH, path=PATHS["a-publisher"]),
        role("nodes", trusting=trust("ec2.amazonaws.com")),
        attached("nodes", NODE_POLICIES),
        *(pods(it) for it in ("a-server", "b-server", "a-publisher")),
        bucket_policy(*bucket),
        [
            resource("aws:eks/cluster:Cluster", "cluster", {"name": CLUSTER}, arn=cluster),
            resource("aws:ecr/pullThroughCacheRule:PullThroughCacheRule", "quay", prefix),
        ],
        *more,
    ]
    return [it for part in parts for it in part if not it["urn"].endswith(f"::{without}")]
