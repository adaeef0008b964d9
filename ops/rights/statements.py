"""Statements of a stack's documents: actions of the table, bound to its names, region and tags."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ops.rights.places import Places
from ops.rights.table import takes_an_arn
from ops.rights.table.identity import ATTACHING
from ops.rights.table.network import CREATES
from ops.rights.table.row import Row

Statement = Mapping[str, Any]
What = Literal["look", "make", "change"]

TAGGED = frozenset({"ec2", "keys"})
"""Subjects whose ARNs are chosen by AWS: what is there is told by its tags."""

REGIONAL = frozenset({"ec2", "keys", "registry"})
"""Subjects of which a name says nothing: their statements are bound to the region by condition too."""

PASSED_TO = ("eks.amazonaws.com", "pods.eks.amazonaws.com")
"""Who is given roles, beside EC2: EKS for the cluster and its nodes, Pod Identity for pods (EKS user guide)."""

SERVICES = ("eks.amazonaws.com", "eks-nodegroup.amazonaws.com", "pullthroughcache.ecr.amazonaws.com")
"""Services whose own role is made with the first resource of a kind in an account."""


def looking(rows: Iterable[Row], of: Places) -> Iterator[Statement]:
    """Reads: by name where the service compares it, else within the region."""
    kept = list(rows)
    anywhere = {it for row in kept for it in row.look if not takes_an_arn(it)}
    for on, actions in _by_subject(kept, "look").items():
        yield _allow(f"Look{_word(on)}", [it for it in actions if it not in anywhere], of.arns[on])
    yield _allow("Look", anywhere, ["*"], _region(of))


def changing(rows: Iterable[Row], of: Places) -> Iterator[Statement]:
    """Writes: what is made by name, or within region and account; what is there by name, or by the stack's tags."""
    kept = list(rows)
    for on, actions in _by_subject(kept, "make").items():
        anywhere = not all(map(takes_an_arn, actions))
        where = _region(of) if anywhere or on in REGIONAL else None
        tags = _tags(of, "aws:RequestTag") if anywhere else None
        yield _allow(f"Make{_word(on)}", actions, ["*"] if anywhere else of.arns[on], _and(where, tags))
    for on, actions in _by_subject(kept, "change").items():
        where = _region(of) if on in REGIONAL else None
        tags = _tags(of, "aws:ResourceTag") if on in TAGGED else None
        yield _allow(f"Change{_word(on)}", actions, of.arns[on], _and(where, tags))


def tagging(of: Places) -> Iterator[Statement]:
    """EC2's tags decide over what is the stack's: only what a request makes, or what has them, gets any."""
    ec2 = of.arns["ec2"]
    yield _allow("TagWhatIsMade", ["ec2:CreateTags"], ec2, {"StringEquals": {"ec2:CreateAction": list(CREATES)}})
    yield _allow(
        "TagWhatIsOurs", ["ec2:CreateTags", "ec2:DeleteTags"], ec2, _and(_region(of), _tags(of, "aws:ResourceTag"))
    )


def starting(of: Places) -> Iterator[Statement]:
    """EKS tries a node group's launch template with the rights of whoever makes the group (its user guide)."""
    yield _allow("TryLaunchTemplate", ["ec2:RunInstances"], of.arns["launch"], _region(of))
    made = {"StringEquals": {"ec2:CreateAction": ["RunInstances"]}}
    yield _allow("TagWhatStarts", ["ec2:CreateTags"], of.arns["launch"][:2], made)


def attaching(of: Places) -> Iterator[Statement]:
    """Policies on the stack's roles: its own, and those of AWS that it uses."""
    listed = {"ArnLike": {"iam:PolicyARN": list(of.attached)}}
    yield _allow("Attach", ATTACHING, of.arns["roles"], listed)


def passing(of: Places) -> Iterator[Statement]:
    """The stack's roles go to EKS, to its pods and its nodes; no other role goes anywhere."""
    services = [*PASSED_TO, f"ec2.{of.at.partition.dns_suffix}"]
    yield _allow("Pass", ["iam:PassRole"], of.passed, {"StringEquals": {"iam:PassedToService": services}})


def service_roles(of: Places) -> Iterator[Statement]:
    """Roles that AWS's services have for themselves."""
    arns = [of.at.partition.arn("iam", f"role/aws-service-role/{it}/*", account=of.at.account) for it in SERVICES]
    names = {"StringEquals": {"iam:AWSServiceName": list(SERVICES)}}
    yield _allow("ServiceRoles", ["iam:CreateServiceLinkedRole"], arns, names)


def existing_key(arn: str) -> Iterator[Statement]:
    """EKS encrypts its secrets with a key that was there, by a grant that it makes with the deployer's rights."""
    yield _allow("ExistingKey", ["kms:CreateGrant", "kms:DescribeKey"], [arn])


def _by_subject(rows: Iterable[Row], what: What) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        for action in getattr(row, what):
            # what EKS's types look at in EC2 is no ARN of EKS
            if action not in found.setdefault(row.on, []) and (what != "look" or takes_an_arn(action)):
                found[row.on].append(action)
    return {on: actions for on, actions in found.items() if actions}


def _allow(
    sid: str, actions: Iterable[str], resources: Sequence[str], condition: Mapping[str, Any] | None = None
) -> Statement:
    statement = {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": list(resources)}
    return {**statement, "Condition": condition} if condition else statement


def _word(on: str) -> str:
    return on[:1].upper() + on[1:]


def _region(of: Places) -> dict[str, Any]:
    return {"StringEquals": {"aws:RequestedRegion": of.at.region}}


def _tags(of: Places, key: str) -> dict[str, Any]:
    return {"StringEquals": {f"{key}/{tag}": value for tag, value in of.tags.items()}} if of.tags else {}


def _and(*conditions: Mapping[str, Any] | None) -> dict[str, Any]:
    together: dict[str, Any] = {}
    for condition in conditions:
        for operator, keys in (condition or {}).items():
            together[operator] = {**together.get(operator, {}), **keys}
    return together
