"""The model bucket, and whether each server's model has arrived in it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from infra.model_bucket import ModelBucketSettings
from ops import COMMAND
from ops.cache.shelf import bucket_of
from ops.preflight.asking import Asked, NoAnswer, answer, code_of
from ops.preflight.finding import Finding, fail, ok, unknown, warn
from ops.programs import MARKER
from ops.stack.stack_file import Stack

NOT_THERE = frozenset({"404", "NoSuchBucket", "NoSuchKey", "NotFound"})
REFUSED = frozenset({"403", "AccessDenied", "Forbidden"})
FOREIGN = "foreign"
"""In place of a region: the bucket is another account's."""


def check(asked: Asked) -> Iterator[Finding]:
    """Ask S3 for the bucket and for the marker of each server's model."""
    stack, s3 = asked.stack, asked.aws.client("s3")
    settings = stack.settings.model_bucket
    where = answer("s3:ListBucket", lambda: region_of(s3, bucket_of(stack)), absent=dict.fromkeys(NOT_THERE))
    yield bucket_finding(settings, stack.settings.account.id, stack.region, where)
    if where == FOREIGN or isinstance(where, NoAnswer):
        return
    keys = {name: f"{server.model.uri.prefix}{MARKER}" for name, server in stack.settings.servers.items()}
    for name, key in keys.items():
        there = False if where is None else answer("s3:GetObject", _marker(s3, stack, key), absent=_nothing())
        yield model_finding(name, stack, there, to_come=where is None and not settings.existing)


def region_of(s3: Any, bucket: Mapping[str, str]) -> str | None:
    """Return the region of a bucket, `foreign` when it is another account's.

    S3 answers 403 in both cases: no rights, or another owner than expected. Asked without an owner the first stays 403.

    Raises:
        ClientError: among others there is none.
    """
    try:
        head = s3.head_bucket(**bucket)
    except ClientError as error:
        if code_of(error) not in REFUSED:
            raise
        s3.head_bucket(Bucket=bucket["Bucket"])
        return FOREIGN
    return str(head["BucketRegion"])


def bucket_finding(settings: ModelBucketSettings, account: str, region: str, where: str | NoAnswer | None) -> Finding:
    """Return what the bucket's place means.

    Args:
        settings: `modelBucket`.
        account: of the stack.
        region: of the stack.
        where: its region, `foreign`, or None when there is no such bucket.
    """
    name = settings.name
    if isinstance(where, NoAnswer):
        fix = where.fix
        if fix.startswith("allow "):
            # a name is taken in all of AWS, and of a stranger's bucket S3 says no more
            fix = f"{fix}; if the bucket is not account {account}'s, another modelBucket.name"
        return unknown(name, where.why, fix)
    if where is None:
        if settings.existing:
            return fail(name, "no such bucket, and modelBucket.existing is true", "make it, or existing: false")
        return ok(name, "not there yet; `pulumi up` makes it")
    if where == FOREIGN:
        return fail(name, f"belongs to another account than {account}", "another modelBucket.name")
    if where != region:
        return fail(
            name,
            f"lies in {where}, the stack in {region}: each byte would be paid for, and the S3 endpoint leads nowhere",
            f"a bucket of {region} in modelBucket.name",
        )
    return ok(name, f"in {where}, of account {account}")


def model_finding(name: str, stack: Stack, there: bool | NoAnswer, *, to_come: bool) -> Finding:
    """Return whether a server's model is whole in the bucket.

    Args:
        name: of the server.
        stack: whose it is.
        there: the marker is.
        to_come: the bucket itself is still to be made: nothing could be in it.
    """
    uri = stack.server(name).model.uri
    subject = f"servers.{name}.model"
    if isinstance(there, NoAnswer):
        return there.about(subject)
    if there:
        return ok(subject, f"{uri}{MARKER} is there")
    onboard = (
        f"{COMMAND} weights onboard --stack {stack.name} --server {name} --repository OWNER/NAME --revision COMMIT"
    )
    if to_come:
        return warn(subject, f"{uri} is still to be filled", f"after `pulumi up`: {onboard}")
    return fail(subject, f"no {uri}{MARKER}: the model is not there, or not whole", onboard)


def _marker(s3: Any, stack: Stack, key: str) -> Callable[[], bool]:
    def ask() -> bool:
        s3.head_object(**bucket_of(stack), Key=key)
        return True

    return ask


def _nothing() -> Mapping[str, bool]:
    return dict.fromkeys(NOT_THERE, False)
