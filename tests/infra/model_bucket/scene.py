"""One bucket, and everybody who might want something from it: roles, users and accounts, with their policies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infra.iam import Statement
from infra.model_bucket import CACHES, MODELS, ModelBucketSettings
from infra.model_bucket.documents import Owner, statements
from infra.model_bucket.rights import onboarding, publisher, reader
from infra.naming import Place, onboarding_path, partition_of, publisher_path

ACCOUNT, ANOTHER, THIRD = "123456789012", "111122223333", "444455556666"
CLUSTER = "c1"
REGIONS = ("us-west-2", "cn-north-1", "us-gov-west-1")
"""One of each partition."""

MODEL, CACHE = f"{MODELS}m/r1/", f"{CACHES}e/g/m/"
EVERYTHING: Statement = {"Sid": "Everything", "Effect": "Allow", "Action": "s3:*", "Resource": "*"}
"""What administrators have: the bucket's policy is all that stands in their way."""


def place(region: str = REGIONS[0]) -> Place:
    return Place(partition_of(region), region, ACCOUNT)


def role(at: Place, path_and_name: str, account: str = ACCOUNT) -> str:
    return at.partition.arn("iam", f"role/{path_and_name}", account=account)


def owner(at: Place, cluster: str = CLUSTER) -> Owner:
    return Owner(place=at, cluster=cluster, deployer=role(at, "ci/deployer"))


def key(at: Place) -> str:
    return at.arn("kms", "key/1234abcd-12ab-34cd-56ef-1234567890ab")


def settings(at: Place, **changed: Any) -> ModelBucketSettings:
    return ModelBucketSettings.model_validate(
        {
            "name": "b-models",
            "existing": False,
            "keepOnDestroy": True,
            "encryption": "s3",
            "oldVersionDays": 30,
            "readers": [role(at, "team/app", ANOTHER), at.partition.arn("iam", "root", account=THIRD)],
            "writers": [role(at, "pipelines/quantizer")],
            **changed,
        }
    )


def bucket_arn(at: Place) -> str:
    return at.partition.arn("s3", settings(at).name)


def bucket_policy(at: Place, **changed: Any) -> Sequence[Statement]:
    return statements(settings(at, **changed), owner(at))


@dataclass(frozen=True)
class Somebody:
    """Who asks."""

    arn: str
    """Of the role itself: `aws:PrincipalArn` of its sessions."""
    rights: Sequence[Statement]

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    @property
    def session(self) -> str:
        """Of a role's session, in which no path is left."""
        _, partition, _, _, account, resource = self.arn.split(":")
        return f"arn:{partition}:sts::{account}:assumed-role/{resource.rpartition('/')[2]}/x"


def identities(at: Place, key: str | None) -> Mapping[str, Sequence[Statement]]:
    """The documents that the stack writes, by identity."""
    arn = bucket_arn(at)
    return {
        "server": reader(arn, MODEL, CACHES, key=key),
        "mountpoint": reader(arn, MODELS, key=key),
        "publisher": publisher(arn, model=MODEL, folders=[f"{CACHE}0123/", f"{CACHE}base/"], key=key),
        "onboarding": onboarding(arn, key=key),
    }


def everybody(at: Place, key: str | None) -> Mapping[str, Somebody]:
    ours = identities(at, key)
    publishes, onboards = (path(CLUSTER).strip("/") for path in (publisher_path, onboarding_path))
    all_of_s3 = (EVERYTHING,)
    return {
        "server": Somebody(role(at, "server-1"), ours["server"]),
        "mountpoint": Somebody(role(at, "mountpoint-1"), ours["mountpoint"]),
        "publisher": Somebody(role(at, f"{publishes}/m-1"), ours["publisher"]),
        "onboarding": Somebody(role(at, f"{onboards}/onboarding-1"), ours["onboarding"]),
        # a mistake in their own rights, and what is left then
        "publisher-with-all-rights": Somebody(role(at, f"{publishes}/m-1"), all_of_s3),
        "onboarding-with-all-rights": Somebody(role(at, f"{onboards}/onboarding-1"), all_of_s3),
        "publisher-of-another-cluster": Somebody(role(at, "vllm-eks/c1-2/publisher/m-1"), all_of_s3),
        "role-called-publisher": Somebody(role(at, "publisher"), all_of_s3),
        "deployer": Somebody(role(at, "ci/deployer"), all_of_s3),
        "administrator": Somebody(role(at, "admin"), all_of_s3),
        "server-with-all-rights": Somebody(role(at, "server-1"), all_of_s3),
        "writer": Somebody(role(at, "pipelines/quantizer"), all_of_s3),
        "writer-without-rights": Somebody(role(at, "pipelines/quantizer"), ()),
        "reader": Somebody(role(at, "team/app", ANOTHER), all_of_s3),
        "colleague-of-the-reader": Somebody(role(at, "team/other", ANOTHER), all_of_s3),
        "somebody-of-a-reading-account": Somebody(role(at, "any", THIRD), all_of_s3),
        "stranger": Somebody(role(at, "any", "999900001111"), all_of_s3),
    }
