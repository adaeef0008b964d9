"""Buckets that everybody reads, or nobody can mend."""

from __future__ import annotations

from collections.abc import Iterator

from guardrails.documents import Statement, statements
from guardrails.exceptions import excepted
from guardrails.reading import Gathering, each
from guardrails.rule import Around, Resource, Rule, whole
from guardrails.value import Value

BUCKETS = frozenset({"aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2"})
ACLS = frozenset({"aws:s3/bucketAcl:BucketAcl", "aws:s3/bucketAclV2:BucketAclV2"})
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
ACCOUNT_BLOCK = "aws:s3/accountPublicAccessBlock:AccountPublicAccessBlock"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
_FLAGS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
_EVERYBODY = ("/global/AllUsers", "/global/AuthenticatedUsers")
_MENDING = ("s3:GetBucketPolicy", "s3:PutBucketPolicy", "s3:DeleteBucketPolicy")
_SPARING = ("aws:principalarn", "aws:principalaccount", "aws:principalorg", "aws:userid", "aws:principaltag/")
"""Condition keys that can leave the deployer out."""
_NOBODYS_WAY = frozenset({"aws:securetransport", "s3:tlsversion"})
"""Condition keys of what no deployer does: plain HTTP, old TLS."""


def _public(_: Value, around: Around) -> Iterator[str]:
    if excepted(around.resource.name, around):
        return
    gathering = Gathering()
    yield from _granted(around.resource, gathering)
    if around.resource.kind in BUCKETS:
        yield from _unblocked(around, gathering)
    yield from gathering.ended()


def _granted(resource: Resource, gathering: Gathering) -> Iterator[str]:
    props = resource.props
    with gathering.reading():
        acl = props["acl"].text()
        if acl.startswith("public-") or acl == "authenticated-read":
            yield f"its acl is {acl}; take it away"
    with gathering.reading():
        grants = props["grants"] if resource.kind in BUCKETS else props.at("accessControlPolicy", "grants")
        for it in each(grants):
            with gathering.reading():
                uri = (it if resource.kind in BUCKETS else it["grantee"])["uri"]
                if uri.text().endswith(_EVERYBODY):
                    yield f"{uri.path}: grants to {uri.text().rpartition('/')[2]}; take it away"


def _unblocked(around: Around, gathering: Gathering) -> Iterator[str]:
    before = gathering.missed
    blocks = [it for it in around.of(BLOCK) if around.resource in it.sources.get("bucket", ())]
    if not blocks:
        for it in around.of(BLOCK):
            # one that comes from another bucket is for that
            if not any(other.kind in BUCKETS for other in it.sources.get("bucket", ())):
                with gathering.reading(it):
                    if it.props["bucket"].text() == around.resource.props["bucket"].text() != "":
                        blocks.append(it)
    for it in blocks:
        yield from _off(it, gathering)
    if not blocks and any(not list(_off(it, gathering)) for it in around.of(ACCOUNT_BLOCK)):
        return
    if not blocks and gathering.missed == before:
        yield "no BucketPublicAccessBlock of this stack is for it; add one with all four flags"


def _off(block: Resource, gathering: Gathering) -> Iterator[str]:
    off = []
    for flag in _FLAGS:
        with gathering.reading(block):
            # each is off where it is not given
            if block.props[flag].flag() is not True:
                off.append(flag)
    if off:
        yield f"{block.name} leaves {', '.join(off)} off; set all four"


def _lockout(statement: Statement, _: Around) -> Iterator[str]:
    if statement.allows or not any(it == "*" or it.endswith(":root") for it in statement.principals):
        return
    mending = [it for it in _MENDING if statement.covers(it)]
    keys = {key.lower() for _, key in statement.conditions}
    if not mending or keys & _NOBODYS_WAY or any(key.startswith(_SPARING) for key in keys):
        return
    if statement.resources and all(_of_objects(it) for it in statement.resources):
        return
    others = [it.text() for it in statement.value["NotResource"].one_or_more()]
    if any(not _of_objects(it) for it in others):
        return
    yield (
        f"{statement.title}: denies {', '.join(mending)} to everybody, the deployer too; deny actions on objects alone,"
        " or exempt a role by aws:PrincipalArn"
    )


def _of_objects(arn: str) -> bool:
    return "/" in arn.rpartition(":")[2]


RULES = (
    Rule(
        id="bucket-public",
        says="No bucket is open to the public.",
        why="Weights and compiled code are read, or replaced, by anybody.",
        source="S3 documentation, Block Public Access",
        kinds=BUCKETS | ACLS,
        parts=whole,
        check=_public,
        over="stack",
        config={"exceptions": []},
    ),
    Rule(
        id="bucket-lockout",
        says="A bucket's policy leaves somebody who can change it.",
        why="A denial that holds for the deployer too can be taken back by the account's root user alone.",
        source="cloudposse/terraform-aws-s3-bucket#269 (aws.md 33)",
        kinds=BUCKETS | {POLICY},
        parts=statements,
        check=_lockout,
    ),
)
