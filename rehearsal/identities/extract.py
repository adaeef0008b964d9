"""The identities of a stack, out of the engine's state of it: `pulumi stack export` has the same form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.identities.documents import Document, DocumentError, places, read

Resource = Mapping[str, Any]
"""As the engine keeps it: urn, type, inputs, outputs."""

ROLE, ROLE_POLICY, POLICY, ATTACHMENT = (
    *("aws:iam/role:Role", "aws:iam/rolePolicy:RolePolicy"),
    *("aws:iam/policy:Policy", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"),
)
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
ENTRY = "aws:eks/accessEntry:AccessEntry"
ENTRY_POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"

OF_RESOURCES = {
    "aws:s3/bucketPolicy:BucketPolicy": ("bucket", "policy"),
    "aws:sqs/queuePolicy:QueuePolicy": ("queue", "policy"),
    "aws:kms/key:Key": ("key", "policy"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("endpoint", "policy"),
    "aws:ecr/repositoryPolicy:RepositoryPolicy": ("repository", "policy"),
    "aws:ecr/registryPolicy:RegistryPolicy": ("registry", "policy"),
    "aws:ecr/repositoryCreationTemplate:RepositoryCreationTemplate": ("template", "repositoryPolicy"),
}
"""Type of resource to the kind of its document and the input that holds it. Left out, AWS has a default."""

_UNREAD = {
    ASSOCIATION: ("policy", "targetRoleArn"),
    ROLE: ("inlinePolicies", "managedPolicyArns", "permissionsBoundary"),
}
"""Inputs that change what an identity may do, and that nothing here uses."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role of the stack with all that was written for it."""

    name: str
    """Logical, the same in every stack; the one in AWS has a random end."""
    arn: str
    trust: Document
    inline: tuple[Document, ...]
    managed: tuple[Document, ...]
    """Policies of this stack."""
    aws: tuple[str, ...]
    """Names of policies that AWS writes: their content is not known here."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """What gives it rights."""
        return (*self.inline, *self.managed)

    @property
    def physical(self) -> str:
        """Its name in AWS."""
        return self.arn.rpartition("/")[2]


@dataclass(frozen=True, kw_only=True)
class Association:
    """Pods of a service account get a role."""

    cluster: str
    namespace: str
    service_account: str
    role: str
    """Logical name."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Who else gets into the cluster."""

    principal: str
    kind: str
    """STANDARD, EC2_LINUX ..."""
    groups: tuple[str, ...]
    policies: Mapping[str, tuple[str, ...]]
    """Name of EKS's access policy to namespaces; none: the whole cluster."""


@dataclass(frozen=True, kw_only=True)
class Identities:
    """All of one stack, each kind sorted by name."""

    roles: Mapping[str, Role]
    resources: Mapping[str, tuple[Document, ...]]
    """Policies of resources by kind (`OF_RESOURCES`)."""
    associations: tuple[Association, ...]
    entries: tuple[Entry, ...]


def extract(resources: Iterable[Resource]) -> Identities:
    """Every identity and every document of a stack.

    Raises:
        DocumentError: there is one that this does not read: an input with a `Statement` in a place that is not
            known, an IAM resource of another type, a policy that belongs to no role of the stack.
    """
    known = sorted((it for it in resources if "inputs" in it), key=lambda it: str(it["urn"]))
    _accounted(known)
    by_type: dict[str, list[Resource]] = {}
    for it in known:
        by_type.setdefault(it["type"], []).append(it)
    roles = _roles(by_type)
    by_arn = {role.arn: role.name for role in roles.values()}
    return Identities(
        roles=roles,
        resources={
            kind: tuple(_document(it, field) for it in by_type.get(token, ()) if field in it["inputs"])
            for token, (kind, field) in OF_RESOURCES.items()
        },
        associations=tuple(_association(it, by_arn) for it in by_type.get(ASSOCIATION, ())),
        entries=_entries(by_type),
    )


def name_of(resource: Resource) -> str:
    """The logical name."""
    return str(resource["urn"]).rpartition("::")[2]


def _accounted(resources: Iterable[Resource]) -> None:
    """Every document has a place where it is read, and every IAM resource is of a type that is."""
    fields = {token: {field} for token, (_, field) in OF_RESOURCES.items()}
    fields |= {ROLE: {"assumeRolePolicy"}, ROLE_POLICY: {"policy"}, POLICY: {"policy"}, ATTACHMENT: set()}
    problems = []
    for it in resources:
        urn, kind, inputs = it["urn"], it["type"], it["inputs"]
        if kind.startswith("aws:iam/") and kind not in fields:
            problems.append(f"{urn}: IAM resources of this type are not read")
        problems += [f"{urn}: {field} is not read" for field in _UNREAD.get(kind, ()) if inputs.get(field)]
        problems += [
            f"{urn}: {place} holds a policy that is not read"
            for place in places(inputs)
            if place not in fields.get(kind, set()) and place not in _UNREAD.get(kind, ())
        ]
    if problems:
        raise DocumentError("\n".join(problems))


def _document(resource: Resource, field: str) -> Document:
    return read(name_of(resource), str(resource["urn"]), resource["inputs"][field])


def _roles(by_type: Mapping[str, list[Resource]]) -> dict[str, Role]:
    made = by_type.get(ROLE, [])
    of = {str(it["outputs"]["name"]): name_of(it) for it in made}
    inline: dict[str, list[Document]] = {name: [] for name in of.values()}
    managed: dict[str, list[Document]] = {name: [] for name in of.values()}
    aws: dict[str, list[str]] = {name: [] for name in of.values()}
    own = {str(it["outputs"]["arn"]): _document(it, "policy") for it in by_type.get(POLICY, ())}
    for it in by_type.get(ROLE_POLICY, ()):
        inline[_of_stack(of, it)].append(_document(it, "policy"))
    attached = set()
    for it in by_type.get(ATTACHMENT, ()):
        policy, role = str(it["inputs"]["policyArn"]), _of_stack(of, it)
        attached.add(policy)
        if policy in own:
            managed[role].append(own[policy])
        elif ":iam::aws:policy/" in policy:
            aws[role].append(policy.partition(":iam::aws:policy/")[2])
        else:
            raise DocumentError(f"{it['urn']}: {policy} is neither AWS's nor of this stack: its content is not known")
    for arn in own.keys() - attached:
        raise DocumentError(f"{own[arn].urn}: attached to no role of this stack")
    return {
        name: Role(
            name=name,
            arn=str(it["outputs"]["arn"]),
            trust=_document(it, "assumeRolePolicy"),
            inline=tuple(inline[name]),
            managed=tuple(managed[name]),
            aws=tuple(sorted(aws[name])),
        )
        for it in made
        for name in [name_of(it)]
    }


def _of_stack(of: Mapping[str, str], resource: Resource) -> str:
    role = str(resource["inputs"]["role"])
    if role not in of:
        raise DocumentError(f"{resource['urn']}: {role} is no role of this stack")
    return of[role]


def _association(resource: Resource, by_arn: Mapping[str, str]) -> Association:
    given = resource["inputs"]
    if given["roleArn"] not in by_arn:
        raise DocumentError(f"{resource['urn']}: {given['roleArn']} is no role of this stack")
    return Association(
        cluster=given["clusterName"],
        namespace=given["namespace"],
        service_account=given["serviceAccount"],
        role=by_arn[given["roleArn"]],
    )


def _entries(by_type: Mapping[str, list[Resource]]) -> tuple[Entry, ...]:
    policies: dict[str, dict[str, tuple[str, ...]]] = {}
    for it in by_type.get(ENTRY_POLICY, ()):
        given = it["inputs"]
        name = given["policyArn"].rpartition("/")[2]
        policies.setdefault(given["principalArn"], {})[name] = tuple(given["accessScope"].get("namespaces") or ())
    return tuple(
        Entry(
            principal=given["principalArn"],
            kind=given.get("type", "STANDARD"),
            groups=tuple(given.get("kubernetesGroups") or ()),
            policies=policies.get(given["principalArn"], {}),
        )
        for given in (it["inputs"] for it in by_type.get(ENTRY, ()))
    )
