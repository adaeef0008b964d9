"""What the bucket's settings ask of the stack's account and of its policy. A check yields path and problem."""

from collections.abc import Callable, Iterator

from infra.iam import foreign
from infra.model_bucket.documents import LARGEST_POLICY, Owner, policy
from infra.model_bucket.settings import ModelBucketSettings
from infra.naming import Place
from infra.section import shown

Problem = tuple[tuple[str, ...], str]
"""Path below `modelBucket`, and what is wrong."""


def _key(settings: ModelBucketSettings, place: Place) -> Iterator[Problem]:
    if settings.key is None:
        return
    path, arn = ("encryption",), shown(settings.key)
    _, partition, _, region, account, _ = settings.key.split(":")
    if partition != place.partition.name:
        yield path, foreign(settings.key, place.partition.name, place.region)
    elif region != place.region:
        yield path, f"{arn} is a key of {region}; S3 takes one of the bucket's region, {place.region}"
    elif account != place.account:
        yield (
            path,
            f"{arn} is a key of account {account}, whose key policy would have to let in each identity of this stack;"
            f" expected a key of {place.account}",
        )


def _readers(settings: ModelBucketSettings, place: Place) -> Iterator[Problem]:
    for reader in settings.readers:
        _, partition, _, _, account, resource = reader.split(":")
        if partition != place.partition.name:
            yield ("readers",), foreign(reader, place.partition.name, place.region)
        elif (account, resource) == (place.account, "root"):
            yield (
                ("readers",),
                f"{shown(reader)} is this account, where IAM alone decides already; expected roles of it, or another"
                " account",
            )


def _writers(settings: ModelBucketSettings, place: Place) -> Iterator[Problem]:
    for writer in settings.writers:
        _, partition, _, _, account, _ = writer.split(":")
        if partition != place.partition.name:
            yield ("writers",), foreign(writer, place.partition.name, place.region)
        elif account != place.account:
            yield ("writers",), f"{shown(writer)} is of account {account}; expected one of {place.account}"


BUCKET_RULES: tuple[Callable[[ModelBucketSettings, Place], Iterator[Problem]], ...] = (_key, _readers, _writers)
"""What each key asks of the account."""


def policy_problems(settings: ModelBucketSettings, owner: Owner) -> Iterator[Problem]:
    """Yield a policy that S3 would not take."""
    size = len(policy(settings, owner))
    if size > LARGEST_POLICY:
        yield (
            ("readers",),
            f"{len(settings.readers)} readers (each twice) and {len(settings.writers)} writers make a bucket policy of"
            f" {size} bytes > {LARGEST_POLICY}; expected fewer, or whole accounts",
        )
