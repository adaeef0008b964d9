"""What a mistaken destroy would take, and what nobody can find."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from guardrails.pools import NODE_CLASS
from guardrails.rule import Around, Rule, whole
from guardrails.value import Value

BUCKETS = ("aws:s3/bucket:Bucket", "aws:s3/bucketV2:BucketV2")
CLUSTER = "aws:eks/cluster:Cluster"
REPOSITORY = "aws:ecr/repository:Repository"
KEY = "aws:kms/key:Key"
PROVIDER = "pulumi:providers:kubernetes"
FILE_SYSTEMS = ("aws:efs/fileSystem:FileSystem", "aws:fsx/lustreFileSystem:LustreFileSystem")
_KEPT_BY = {
    CLUSTER: "deletionProtection",
    "aws:rds/instance:Instance": "deletionProtection",
    "aws:rds/cluster:Cluster": "deletionProtection",
    "aws:dynamodb/table:Table": "deletionProtectionEnabled",
}
"""By which property AWS itself refuses to delete."""
_EMPTIED_BY = {**dict.fromkeys(BUCKETS, "forceDestroy"), REPOSITORY: "forceDelete"}
"""By which property a destroy takes what lies in it too; without, AWS refuses while something does."""
STATEFUL = frozenset({*BUCKETS, CLUSTER, REPOSITORY, KEY, *FILE_SYSTEMS, *_KEPT_BY})
BILLED = STATEFUL | {
    NODE_CLASS,
    "aws:ebs/volume:Volume",
    "aws:ec2/eip:Eip",
    "aws:ec2/instance:Instance",
    "aws:ec2/natGateway:NatGateway",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint",
    "aws:eks/nodeGroup:NodeGroup",
}


def _protected(props: Value, around: Around) -> Iterator[str]:
    resource = around.resource
    if not any(fnmatchcase(resource.stack, pattern) for pattern in around.config["stacks"]):
        return
    # of a repository its images are the state. A bucket's policy, block and versions are resources of their own:
    # they would go while it stays.
    if not resource.protect and resource.kind != REPOSITORY:
        flag = _KEPT_BY.get(resource.kind)
        if not flag:
            yield "nothing keeps a destroy from deleting it; set the option protect"
        elif not props[flag].flag():
            yield f"nothing keeps a destroy from deleting it; set {flag}"
    emptied = _EMPTIED_BY.get(resource.kind)
    if emptied and props[emptied].flag():
        yield f"{emptied} is true, so a destroy takes what lies in it too; take {emptied} away"


def _tags(props: Value, around: Around) -> Iterator[str]:
    started = around.resource.kind == NODE_CLASS  # by Karpenter
    places = [props.at("spec", "tags")] if started else [props["tags"], props["tagsAll"]]
    missing = list(around.config["tags"])
    for place in places:
        # the second may be unknown where the first has all
        missing = [tag for tag in missing if place[tag].raw in (None, "")]
    if not missing:
        return
    where = "the provider's defaultTags"
    if started:
        where = "spec.tags: the provider's defaultTags do not reach what Karpenter starts"
    yield f"it has no tag {', '.join(missing)}; add it to {where}"


def _unreachable(props: Value, _: Around) -> Iterator[str]:
    given = props["deleteUnreachable"]
    # a provider's arguments arrive as texts
    if given.known() == "true" or (given.known() not in ("false", "") and given.flag()):
        yield "deleteUnreachable is true; take it away, and delete by hand what is known to be gone"


RULES = (
    Rule(
        id="protect-stateful",
        says="What holds state is protected in the stacks that matter.",
        why="Weights take hours to come back, and an encryption key never does.",
        source="Pulumi documentation, protect; EKS documentation, deletion protection",
        kinds=STATEFUL,
        parts=whole,
        check=_protected,
        config={"stacks": ["prod", "prod-*", "*-prod", "production"]},
    ),
    Rule(
        id="required-tags",
        says="What AWS bills has the tags that this pack is configured with.",
        why="Nobody knows whose GPU it is when it was forgotten.",
        source="AWS documentation, cost allocation tags; EC2NodeClass definition, spec.tags",
        kinds=BILLED,
        parts=whole,
        check=_tags,
        config={"tags": []},
    ),
    Rule(
        id="delete-unreachable",
        says="A cluster that does not answer is not taken for one that is gone.",
        why="One unreachable moment drops NodePools from the state, and their GPUs run on.",
        source="pulumi-eks#207; aws.md 0.29",
        kinds=frozenset({PROVIDER}),
        parts=whole,
        check=_unreachable,
    ),
)
