"""Rights that are wider than what they are for, and trust that is wider than who it is for."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails.accounts import ROLE, is_for
from guardrails.documents import ALL, IDENTITY, OF_ENDPOINTS, Statement, statements, trust
from guardrails.exceptions import excepted
from guardrails.reading import Gathering, below, each
from guardrails.rule import Around, Resource, Rule, whole
from guardrails.value import Value

ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
_ATTACHMENTS = frozenset(
    {
        ATTACHMENT,
        "aws:iam/userPolicyAttachment:UserPolicyAttachment",
        "aws:iam/groupPolicyAttachment:GroupPolicyAttachment",
        "aws:iam/policyAttachment:PolicyAttachment",
    }
)
_KEYS = frozenset({"aws:kms/key:Key", "aws:kms/keyPolicy:KeyPolicy"})
_PODS = "pods.eks.amazonaws.com"
_NOT_WHO = frozenset({"aws:securetransport", "s3:tlsversion", "aws:currenttime", "aws:epochtime"})
"""Condition keys that say how or when, and so leave everybody in."""


def _wide(statement: Statement, around: Around) -> Iterator[str]:
    if excepted(around.resource.name, around) or not statement.allows:
        return
    title = statement.title
    for key in ("NotAction", "NotPrincipal"):
        if not statement.value[key].is_missing:
            yield f"{title}: allows all but what {key} names; name what it allows"
    if not (around.resource.kind in _KEYS and _own_account(statement)):
        for action in statement.actions:
            service, _, verb = action.partition(":")
            if (service == "*" or not verb.strip("*?")) and action not in around.config["actions"]:
                yield f"{title}: allows {action}; name the actions"
    if "*" in statement.principals and not _says_who(statement):
        yield f"{title}: allows everybody, without a condition that says who; name who"


def _own_account(statement: Statement) -> bool:
    """Whether it hands a key to its account, where IAM says who: so KMS makes each key (KMS, default key policy)."""
    who = statement.principals
    return bool(who) and all(it.isdigit() or it.endswith(":root") for it in who)


def _says_who(statement: Statement) -> bool:
    return any(
        key.lower() not in _NOT_WHO and any(value.strip("*") for value in values)
        for (_, key), values in statement.conditions.items()
    )


def _managed(arn: Value, around: Around) -> Iterator[str]:
    if any(it.kind in IDENTITY for it in around.resource.sources.get("policyArn", ())):
        return  # the program's own document, which another rule looks at
    name = arn.text().rpartition("/")[2]
    if ":aws:policy/" not in arn.text() or excepted(name, around):
        return
    if name in {"AdministratorAccess", "PowerUserAccess"} or name.endswith("FullAccess"):
        yield f"attaches {name}, which allows all actions of its services; write a policy that names the actions"


def _attached(resource: Resource) -> Iterator[Value]:
    if resource.kind == ROLE:
        yield from each(below(resource.props, "managedPolicyArns"))
    else:
        yield resource.props["policyArn"]


def _trust(_: Value, around: Around) -> Iterator[str]:
    gathering = Gathering()
    trusting = []
    for statement in trust(around.resource):
        with gathering.reading():
            if statement.allows and _PODS in statement.principals:
                trusting.append(statement)
    needed = ("sts:AssumeRole", "sts:TagSession")
    if trusting and (missing := [it for it in needed if not any(each.covers(it) for each in trusting)]):
        yield f"{trusting[0].title}: {_PODS} needs {' and '.join(missing)} too; add it"
    yield from gathering.ended()


def _federated(statement: Statement, _: Around) -> Iterator[str]:
    if not statement.allows or not statement.covers("sts:AssumeRoleWithWebIdentity"):
        return
    providers = [it for it in statement.principals if ":oidc-provider/" in it]
    for provider in providers:
        issuer = provider.partition(":oidc-provider/")[2]
        subjects = [
            value
            for (operator, key), values in statement.conditions.items()
            if key.lower() == f"{issuer}:sub".lower() and operator.partition(":")[2 if ":" in operator else 0] in _IS
            for value in values
        ]
        if not any(it.strip("*?") for it in subjects):
            yield f"{statement.title}: takes every token of {issuer}; add a condition StringEquals on {issuer}:sub"


_IS = frozenset({"StringEquals", "StringLike", "StringEqualsIgnoreCase"})


def _twice(props: Value, around: Around) -> Iterator[str]:
    gathering = Gathering()
    for key, kind in (("managedPolicyArns", ATTACHMENT), ("inlinePolicies", ROLE_POLICY)):
        if props[key].is_missing:
            continue
        for it in around.of(kind):
            with gathering.reading(it):
                if is_for(it, around.resource):
                    yield f"{key} is all that it may have, so each up takes {it.name} away or back; use one of both"
    yield from gathering.ended()


RULES = (
    Rule(
        id="iam-wildcards",
        says="Documents name actions and principals.",
        why="A wildcard left from a test is what an intruder uses.",
        source="IAM documentation, least privilege",
        # what an endpoint's policy allows it does not give, and `*` is its default
        kinds=ALL - OF_ENDPOINTS,
        parts=statements,
        check=_wide,
        config={"exceptions": [], "actions": []},
    ),
    Rule(
        id="managed-wildcards",
        says="No identity has one of AWS's policies of all actions.",
        why="AmazonS3FullAccess on a server is the right to replace the code of all others.",
        source="IAM documentation, least privilege; aws.md 35",
        kinds=_ATTACHMENTS | {ROLE},
        parts=_attached,
        check=_managed,
        over="stack",
        config={"exceptions": []},
    ),
    Rule(
        id="pod-identity-trust",
        says="A role for pods may be assumed with session tags.",
        why="Without sts:TagSession the denial names neither the action nor the tags.",
        source="EKS documentation, Pod Identity; terrapod#1500, #1546 (IAM-01)",
        kinds=frozenset({ROLE}),
        parts=whole,
        check=_trust,
    ),
    Rule(
        id="federated-trust",
        says="A role for tokens of an OIDC provider says whose tokens.",
        why="Without a subject every pod of the cluster, or every repository of GitHub, may take the role.",
        source="IAM documentation, roles for OIDC federation",
        kinds=frozenset({ROLE}),
        parts=trust,
        check=_federated,
    ),
    Rule(
        id="rights-twice",
        says="A role's rights are given in one way.",
        why="What the role itself lists is exclusive, so every second up takes away what the first has attached.",
        source="pulumi-policy-aws#107, pulumi-aws#2246 (TST-03)",
        kinds=frozenset({ROLE}),
        parts=whole,
        check=_twice,
        over="stack",
    ),
)
