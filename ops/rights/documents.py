"""The documents of deployer and preview, by name."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ops.failures import RefusedError
from ops.rights import statements
from ops.rights.places import places
from ops.rights.state import State
from ops.rights.state import statements as of_state
from ops.rights.statements import Statement
from ops.rights.table import THEMES
from ops.rights.table.row import Row
from ops.stack.stack_file import Stack

LIMIT = 6144
"""Characters of a managed policy, white space aside ("IAM and AWS STS quotas")."""

Documents = Mapping[str, Mapping[str, Any]]


def deployer(stack: Stack, state: State) -> Documents:
    """Return what `pulumi up`, `refresh` and `destroy` need, one document for each theme.

    Raises:
        RefusedError: one is too big.
    """
    of = places(stack)
    key = stack.settings.cluster.secrets_key
    more: dict[str, list[Statement]] = {
        "network": [*statements.tagging(of)],
        "cluster": [
            *statements.starting(of),
            *statements.service_roles(of),
            *(statements.existing_key(key) if key.startswith("arn:") else ()),
        ],
        "identities": [*statements.attaching(of), *statements.passing(of)],
        "data": [],
    }
    found = {
        theme: [*statements.looking(rows, of), *statements.changing(rows, of), *more[theme]]
        for theme, rows in ((theme, _rows(stack, table)) for theme, table in THEMES.items())
    }
    return _written({**found, "state": [*of_state(state, of.at, writes=True)]})


def preview(stack: Stack, state: State) -> Documents:
    """Return what `pulumi preview` needs, with `--refresh` too: it reads, and changes nothing.

    Raises:
        RefusedError: it is too big.
    """
    of = places(stack)
    rows = [row for table in THEMES.values() for row in _rows(stack, table)]
    return _written({"preview": [*statements.looking(rows, of), *of_state(state, of.at, writes=False)]})


def _rows(stack: Stack, table: Mapping[str, Row]) -> list[Row]:
    """The table's rows; an existing bucket is looked up, and neither changed nor read any further."""
    if not stack.settings.model_bucket.existing:
        return list(table.values())
    looked_up = Row(on="bucket", look=("s3:ListBucket", "s3:GetBucketLocation"))
    return [looked_up if it.on == "bucket" else it for it in table.values()]


def _written(found: Mapping[str, Iterable[Statement]]) -> Documents:
    documents = {
        name: {"Version": "2012-10-17", "Statement": said} for name, them in found.items() if (said := _some(them))
    }
    for name, document in documents.items():
        size = len("".join(json.dumps(document).split()))
        if size > LIMIT:
            raise RefusedError(
                f"{name}: {size} characters > {LIMIT} of a managed policy; fewer servers, or shorter names"
            )
    return documents


def _some(them: Iterable[Statement]) -> list[Statement]:
    return [it for it in them if it["Action"]]
