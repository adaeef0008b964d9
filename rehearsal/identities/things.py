"""What identities of a stack execute, and by which actions it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rehearsal.identities.documents import Document
from rehearsal.identities.extract import Identities, Resource, Role
from rehearsal.identities.granted import exempted
from rehearsal.identities.workloads import workloads

_OBJECTS = ("s3:PutObject", "s3:ReplicateObject")
_BUCKET = ("s3:PutBucketPolicy", "s3:DeleteBucketPolicy", "s3:PutBucketAcl")
_IMAGES = ("ecr:PutImage", "ecr:ReplicateImage", "ecr:SetRepositoryPolicy")
_RULES = (
    *("ecr:CreatePullThroughCacheRule", "ecr:UpdatePullThroughCacheRule"),
    *("ecr:PutRegistryPolicy", "ecr:PutReplicationConfiguration"),
)
_RIGHTS = ("iam:PutRolePolicy", "iam:AttachRolePolicy", "iam:UpdateAssumeRolePolicy")
_VERSIONS = ("iam:CreatePolicyVersion", "iam:SetDefaultPolicyVersion")
_CLUSTER = (
    *("eks:CreatePodIdentityAssociation", "eks:UpdatePodIdentityAssociation", "eks:CreateAccessEntry"),
    *("eks:UpdateAccessEntry", "eks:AssociateAccessPolicy", "eks:CreateAddon", "eks:UpdateAddon"),
)
_INSTANCES = (
    "ssm:SendCommand",
    "ssm:StartSession",
    "ec2-instance-connect:SendSSHPublicKey",
    "ec2:ModifyInstanceAttribute",
)

_REFERENCE = re.compile(r"^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([^:@]+)")


@dataclass(frozen=True, kw_only=True)
class Thing:
    """Something executed."""

    name: str
    """For people: several things of one kind share it."""
    arn: str
    """A pattern."""
    writes: tuple[str, ...]
    executors: tuple[str, ...]
    """Logical names of roles."""
    trust: Document | None = None
    """Of the role that it is about."""


def things(identities: Identities, resources: Iterable[Resource]) -> list[Thing]:
    """All that identities of a stack execute."""
    kept = list(resources)
    return [
        *_objects(identities),
        *(it for role in identities.roles.values() for it in _of_role(role)),
        *_images(identities, kept),
        *_cluster(identities, kept),
    ]


def _objects(identities: Identities) -> Iterator[Thing]:
    """What a role reads from buckets. That it only looks at some of it is not known here, and counts as execution."""
    read = {
        (arn, role.name)
        for role in identities.roles.values()
        for document in role.documents
        for it in document.statements
        if it.effect == "Allow" and any(action.lower() in {"s3:getobject", "s3:*", "*"} for action in it.actions)
        for arn in it.resources
    }
    for arn, role in sorted(read):
        bucket, _, key = arn.partition("/")
        name = f"{bucket.rpartition(':')[2]}/{key.partition('/')[0]}/" if key else f"all of {bucket}"
        yield Thing(name=name, arn=arn, writes=_OBJECTS, executors=(role,))
        yield Thing(name="bucket policy", arn=bucket, writes=_BUCKET, executors=(role,))
        for document in identities.resources["bucket"]:
            for spared, _ in {it for action in _OBJECTS for it in exempted(document, action, arn)}:
                if "*" in spared:  # a new role of such a name is let in
                    yield Thing(name=f"roles like {spared}", arn=spared, writes=("iam:CreateRole",), executors=(role,))


def _of_role(role: Role) -> Iterator[Thing]:
    yield Thing(name="rights", arn=role.arn, writes=_RIGHTS, executors=(role.name,))
    yield Thing(name="pass", arn=role.arn, writes=("iam:PassRole",), executors=(role.name,))
    yield Thing(name="assume", arn=role.arn, writes=("sts:AssumeRole",), executors=(role.name,), trust=role.trust)
    prefix = role.arn.partition(":role/")[0]
    for it in role.managed:
        arn = f"{prefix}:policy/{it.name}-*"
        yield Thing(name="rights", arn=arn, writes=_VERSIONS, executors=(role.name,))
    if any(str(it).startswith("ec2.") for s in role.trust.statements for it in s.principals.get("Service", ())):
        instances = f"{prefix.replace(':iam::', ':ec2:*:')}:instance/*"
        yield Thing(name="instances", arn=instances, writes=_INSTANCES, executors=(role.name,))


def _images(identities: Identities, resources: list[Resource]) -> Iterator[Thing]:
    """Images of ECR that pods name, own repositories, and all below a cached prefix. Nodes pull and run them."""
    nodes = tuple(it.name for it in identities.roles.values() if "AmazonEC2ContainerRegistryPullOnly" in it.aws)
    of = {(it.namespace, it.service_account): it.role for it in identities.associations}
    named: dict[str, set[str]] = {}
    for workload in workloads(resources):
        for image in workload.images:
            if found := _REFERENCE.match(image):
                account, region, repository = found.groups()
                arn = f"arn:*:ecr:{region}:{account}:repository/{repository}"
                named.setdefault(arn, set()).update(filter(None, [of.get(workload.account)]))
    for it in resources:
        given = it.get("inputs", {})
        if it["type"] == "aws:ecr/repository:Repository":
            named.setdefault(it["outputs"]["arn"], set())
        elif it["type"] == "aws:ecr/pullThroughCacheRule:PullThroughCacheRule":
            named.setdefault(f"arn:*:ecr:{given['region']}:*:repository/{given['ecrRepositoryPrefix']}/*", set())
    for arn, roles in sorted(named.items()):
        yield Thing(name="images", arn=arn, writes=_IMAGES, executors=(*sorted(roles), *nodes))
    if named:
        yield Thing(name="images", arn="arn:*:ecr:*:*:repository/*", writes=_RULES, executors=nodes)


def _cluster(identities: Identities, resources: list[Resource]) -> Iterator[Thing]:
    pods = tuple(sorted({it.role for it in identities.associations}))
    for it in resources:
        if it["type"] == "aws:eks/cluster:Cluster":
            outputs: Mapping[str, str] = it["outputs"]
            for arn in (outputs["arn"], f"{outputs['arn'].replace(':cluster/', ':*/')}/*"):
                yield Thing(name="cluster", arn=arn, writes=_CLUSTER, executors=pods)
