"""Rights to Pulumi's state in a bucket, and to the key of its secrets."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from infra.iam import KMS_KEY
from infra.naming import Place
from ops.failures import UsageError
from ops.rights.statements import Statement
from ops.terminal import echo

_BACKEND = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/[A-Za-z0-9_./-]*)?(\?.*)?")


@dataclass(frozen=True, kw_only=True)
class State:
    """Where the engine keeps what it knows; None: not in this account, or not asked for."""

    backend: str | None
    """As `pulumi login` takes it: s3://bucket/prefix."""
    secrets_key: str | None
    """ARN of the KMS key of `awskms://`."""


def check(state: State, at: Place) -> None:
    """Refuse what is no bucket and no key.

    Raises:
        UsageError: with what is expected.
    """
    if state.backend is not None and not _BACKEND.fullmatch(state.backend):
        raise UsageError(f"--backend {echo(state.backend)}: expected s3://BUCKET or s3://BUCKET/PREFIX")
    if state.secrets_key is not None and not re.fullmatch(KMS_KEY, state.secrets_key):
        form = f"arn:{at.partition.name}:kms:...:key/..."
        raise UsageError(
            f"--secrets-key {echo(state.secrets_key)}: expected the ARN of a key, {form};"
            " an alias is none, no policy can name it"
        )


def statements(state: State, at: Place, *, writes: bool) -> Iterator[Statement]:
    """Return rights to the state, `.pulumi/` below the prefix; a preview only reads.

    It takes no lock: of the engine's commands `up`, `refresh` and `destroy` do (backend/diy/backend.go of 3.274.1).
    """
    if state.backend is not None:
        found = _BACKEND.fullmatch(state.backend)
        assert found is not None, "checked before"  # noqa: S101 - `check` has refused it
        bucket, prefix = found[1], (found[2] or "").strip("/")
        below = f"{prefix}/.pulumi" if prefix else ".pulumi"
        arn = at.partition.arn("s3", bucket)
        # the engine asks whether the bucket is there, which has no prefix
        yield {"Sid": "ListState", "Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": [arn]}
        actions = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"] if writes else ["s3:GetObject"]
        yield {
            "Sid": "WriteState" if writes else "ReadState",
            "Effect": "Allow",
            "Action": actions,
            "Resource": [f"{arn}/{below}/*"],
        }
    if state.secrets_key is not None:
        yield {
            "Sid": "Secrets",
            "Effect": "Allow",
            "Action": ["kms:Decrypt", "kms:Encrypt"] if writes else ["kms:Decrypt"],
            "Resource": [state.secrets_key],
        }
