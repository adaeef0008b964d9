"""The versions of EKS add-ons, as EKS tells them for a Kubernetes minor."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from infra.cluster.addons import AWS_NAMES, AddonVersions
from ops.preflight.asking import Asked, NoAnswer, answer

VERSION = re.compile(r"v([0-9]+)\.([0-9]+)\.([0-9]+)-eksbuild\.([0-9]+)")
"""What `cluster.addons` takes as a pin."""


def spelled(key: str) -> str:
    """Return a key of `cluster.addons` as the stack file spells it."""
    return str(AddonVersions.model_fields[key].alias)


def published(asked: Asked, key: str) -> Mapping[str, bool] | NoAnswer:
    """Return an add-on's versions for the stack's Kubernetes minor, and whether EKS would take each by default."""
    minor, eks = asked.stack.settings.cluster.version, asked.aws.client("eks")
    return answer("eks:DescribeAddonVersions", lambda: versions(eks, AWS_NAMES[key], minor))


def versions(eks: Any, name: str, minor: str) -> Mapping[str, bool]:
    """Return an add-on's versions and whether each is the default, of all pages."""
    pages = eks.get_paginator("describe_addon_versions").paginate(kubernetesVersion=minor, addonName=name)
    return {
        it["addonVersion"]: any(
            each.get("defaultVersion", False)
            for each in it.get("compatibilities", ())
            if each.get("clusterVersion") == minor
        )
        for page in pages
        for addon in page["addons"]
        if addon["addonName"] == name
        for it in addon.get("addonVersions", ())
    }


def newest(names: Iterable[str]) -> str | None:
    """Return the newest of versions that can be pinned, by number: v1.9 comes before v1.10."""
    known: Sequence[tuple[tuple[int, ...], str]] = [
        (tuple(map(int, found.groups())), name) for name in names if (found := VERSION.fullmatch(name))
    ]
    return max(known)[1] if known else None
