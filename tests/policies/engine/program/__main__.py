"""Another team's program, which knows nothing of ours: it makes what its stack file lists, by type token."""

from __future__ import annotations

from functools import cache
from typing import Any

import pulumi

listed = pulumi.Config().require_object("resources")


@cache
def made(name: str) -> pulumi.CustomResource:
    """Make a resource, after those that it needs."""
    it = listed[name]
    options = pulumi.ResourceOptions(
        depends_on=[made(other) for other in it.get("needs", ())], protect=it.get("protect")
    )
    return pulumi.CustomResource(it["type"], name, given(it.get("props", {})), options)


def given(value: Any) -> Any:
    """Return a value with the ids of other resources in place of `{ref: NAME}`."""
    if isinstance(value, dict):
        return made(value["ref"]).id if set(value) == {"ref"} else {key: given(it) for key, it in value.items()}
    return [given(it) for it in value] if isinstance(value, list) else value


for each in listed:
    made(each)
