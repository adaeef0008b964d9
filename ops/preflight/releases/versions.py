"""How long EKS supports the stack's Kubernetes, and whether its add-ons are there for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from infra.cluster.addons import AWS_NAMES
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.finding import Finding, fail, ok, unknown, warn
from ops.preflight.releases import addons

SOON = 60
"""Days before the end of standard support from which it is a warning."""


@dataclass(frozen=True, kw_only=True)
class Support:
    """Until when EKS supports a minor: standard, then at an extra price."""

    standard: date
    extended: date | None


def check(asked: Asked) -> Iterator[Finding]:
    """Ask EKS, and yield findings for Kubernetes and for each add-on."""
    minor, eks = asked.stack.settings.cluster.version, asked.aws.client("eks")
    found = answer("eks:DescribeClusterVersions", lambda: support(eks))
    yield support_finding(minor, found, datetime.now(UTC).date())
    for key in AWS_NAMES:
        pin = getattr(asked.stack.settings.cluster.addons, key)
        yield addon_finding(key, pin, minor, addons.published(asked, key))


def support(eks: Any) -> Mapping[str, Support | None]:
    """Return what EKS says of each minor that it knows, of all pages; None: it gives no date."""
    pages = eks.get_paginator("describe_cluster_versions").paginate(includeAll=True)
    return {it["clusterVersion"]: _support(it) for page in pages for it in page["clusterVersions"]}


def _support(it: Mapping[str, Any]) -> Support | None:
    standard, extended = it.get("endOfStandardSupportDate"), it.get("endOfExtendedSupportDate")
    return standard and Support(standard=_day(standard), extended=_day(extended) if extended else None)


def _day(at: datetime) -> date:
    """Botocore gives seconds since 1970 in the shell's time zone: midnight UTC would be the day before in America."""
    return at.astimezone(UTC).date()


def support_finding(minor: str, found: Mapping[str, Support | None] | NoAnswer, today: date) -> Finding:
    """Return how long the minor has. The program makes clusters with standard support: EKS upgrades them at its end."""
    subject = f"Kubernetes {minor}"
    if isinstance(found, NoAnswer):
        return found.about(subject)
    if minor not in found:
        known = ", ".join(sorted(found)) or "none at all"
        return fail(subject, f"EKS has no such version here; it has {known}", "one of those in cluster.version")
    its = found[minor]
    if its is None:
        return unknown(subject, "EKS gives no date for it", "look it up in the EKS user guide")
    days = (its.standard - today).days
    until = f"standard support until {its.standard}" + (f", extended until {its.extended}" if its.extended else "")
    if days < 0:
        return fail(
            subject,
            f"{until}: over since {-days} days, and EKS upgrades the cluster by itself",
            "a newer cluster.version",
        )
    if days < SOON:
        return warn(
            subject,
            f"{until}: {days} days < {SOON}, then EKS upgrades the cluster by itself",
            "a newer cluster.version",
        )
    return ok(subject, f"{until}: {days} days")


def addon_finding(key: str, pin: str, minor: str, there: Mapping[str, bool] | NoAnswer) -> Finding:
    """Return whether an add-on has the version that the stack file wants.

    Args:
        key: of `AddonVersions`.
        pin: its value: a version, or `default`.
        minor: of Kubernetes.
        there: versions, and whether each is the default.
    """
    subject = f"cluster.addons.{addons.spelled(key)}"
    if isinstance(there, NoAnswer):
        return there.about(subject)
    newest = addons.newest(there)
    if not there:
        return fail(subject, f"EKS has no {AWS_NAMES[key]} for Kubernetes {minor}", "another cluster.version")
    if pin == "default":
        taken = next((version for version, default in there.items() if default), "none")
        return ok(subject, f"default: today {taken}, the newest is {newest}")
    if pin not in there:
        return fail(subject, f"{pin} is not there for Kubernetes {minor}", f"{newest}, or default; all of them: --pins")
    return ok(subject, f"{pin} is there, the newest is {newest}")
