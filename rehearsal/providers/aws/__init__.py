"""The offline `aws` provider: a folder for each subject, and in it a module for each AWS service."""

from __future__ import annotations

from importlib.metadata import version

from rehearsal.providers.aws import cluster, events, identity, network, secrets, storage
from rehearsal.providers.aws.change import diff, diff_config
from rehearsal.providers.aws.common import check
from rehearsal.providers.package import Kind, Package

KINDS: dict[str, Kind] = network.KINDS | cluster.KINDS | identity.KINDS | storage.KINDS | secrets.KINDS | events.KINDS


def find(token: str) -> Kind:
    """The kind of an aws type token. Raises LookupError naming the places to extend."""
    try:
        return KINDS[token]
    except KeyError:
        raise LookupError(
            f"the offline aws provider does not know the resource type `{token}`: add it to KINDS of its subject "
            "in rehearsal/providers/aws/ and its rule to change/rows/"
        ) from None


def package() -> Package:
    """The provider, with the version of the installed SDK."""
    return Package(
        name="aws",
        version=version("pulumi-aws"),
        find=find,
        check=check,
        diff=diff,
        diff_config=diff_config,
        invokes={**identity.INVOKES, **storage.INVOKES},
    )
