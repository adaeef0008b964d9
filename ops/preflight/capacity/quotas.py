"""Quotas of vCPUs: what the stack file can take against what the account may have and has in use."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from infra.instances import catalogue
from infra.karpenter.policies import Scope
from infra.naming import Place, partition_of
from ops.preflight.asking import Asked, NoAnswer, answer
from ops.preflight.capacity.need import Part, Quota, pool_parts, quota_of, system_parts
from ops.preflight.finding import Finding, fail, ok, unknown, warn

SERVICE = "ec2"
RUNNING = ("pending", "running")
"""States of an instance that count in a quota."""

IN_NEITHER = ("capacity-block", "scheduled")
"""Lifecycles of instances whose vCPUs are bought ahead (EC2 user guide, Capacity Blocks: not in On-Demand limits)."""

_NOT_THERE = "NoSuchResourceException"


@dataclass(frozen=True, kw_only=True)
class Own:
    """What this stack's own nodes are known by."""

    tag: str
    reserved: Collection[str]
    """Reservations that its pools name. They are no part of what it needs (need.py), whoever uses them."""

    def needs(self, instance: Mapping[str, Any]) -> bool:
        """Whether an instance is a node within what the stack needs."""
        tags = {tag["Key"] for tag in instance.get("Tags", ())}
        return self.tag in tags and instance.get("CapacityReservationId") not in self.reserved


def check(asked: Asked) -> Iterator[Finding]:
    """Ask EC2 and Service Quotas, and yield a finding for each quota that the stack file takes from."""
    settings, ec2 = asked.stack.settings, asked.aws.client("ec2")
    running = answer("ec2:DescribeInstances", lambda: instances(ec2))
    held = answer("ec2:DescribeCapacityReservations", lambda: reservations(ec2))
    system = settings.cluster.system_nodes
    names = {*system.instance_types}
    for listed in (running, held):
        if not isinstance(listed, NoAnswer):
            names |= {it["InstanceType"] for it in listed}
    vcpus = answer("ec2:DescribeInstanceTypes", lambda: vcpus_of(ec2, names))

    parts = [part for name, pool in settings.pools.items() for part in pool_parts(name, pool)]
    if isinstance(vcpus, NoAnswer):
        yield vcpus.about("system nodes")
    elif lost := [name for name in system.instance_types if name not in vcpus]:
        yield unknown("system nodes", f"EC2 knows no type {', '.join(lost)} here", "correct cluster.systemNodes")
    else:
        parts += system_parts(system, len(settings.cluster.zones), vcpus)
    needs = by_quota(parts)
    yield from (
        unknown(part.who, f"{part.vcpus} vCPUs, and no quota is known for the type", "look it up in Service Quotas")
        for quota, part in parts
        if quota is None
    )

    place = Place(partition_of(asked.stack.region), asked.stack.region, settings.account.id)
    tag = Scope(place=place, cluster=settings.name).cluster_tag
    reserved = {each for it in settings.pools.values() if it.capacity.reserved for each in it.capacity.reserved.ids}
    used = _used(running, held, vcpus, Own(tag=tag, reserved=reserved))
    client = asked.aws.client("service-quotas")
    for quota, its in needs.items():
        yield finding(quota, its, value(client, quota.code), used, asked.stack.region)


def _used(
    running: list[Mapping[str, Any]] | NoAnswer,
    held: list[Mapping[str, Any]] | NoAnswer,
    vcpus: Mapping[str, int] | NoAnswer,
    ours: Own,
) -> Mapping[str, int] | NoAnswer:
    if isinstance(running, NoAnswer):
        return running
    if isinstance(held, NoAnswer):
        return held
    return vcpus if isinstance(vcpus, NoAnswer) else in_use(running, held, vcpus, ours)


def by_quota(parts: Iterable[tuple[Quota | None, Part]]) -> Mapping[Quota, Sequence[Part]]:
    """Return the parts of each quota."""
    found: dict[Quota, list[Part]] = {}
    for quota, part in parts:
        if quota:
            found.setdefault(quota, []).append(part)
    return found


def in_use(
    running: Iterable[Mapping[str, Any]],
    held: Iterable[Mapping[str, Any]],
    vcpus: Mapping[str, int],
    ours: Own,
) -> Mapping[str, int]:
    """Return the vCPUs in use, by code of quota: of everybody in the account but this stack.

    Its own nodes are within what it needs, and would be counted twice; those in its reservations are not.

    Args:
        running: instances, as DescribeInstances has them.
        held: capacity reservations. What of them no instance uses counts as if one did.
        vcpus: of each type.
        ours: how this stack's nodes are known.
    """
    found: dict[str, int] = {}
    for it in running:
        lifecycle = it.get("InstanceLifecycle", "")
        quota = quota_of(it["InstanceType"], "spot" if lifecycle == "spot" else "on-demand")
        own = ours.needs(it)
        if quota and not own and lifecycle not in IN_NEITHER:
            found[quota.code] = found.get(quota.code, 0) + _vcpus(it, vcpus)
    for it in held:
        quota = quota_of(it["InstanceType"], "on-demand")
        if quota and it.get("ReservationType", "default") not in IN_NEITHER:
            unused = it["AvailableInstanceCount"] * vcpus[it["InstanceType"]]
            found[quota.code] = found.get(quota.code, 0) + unused
    return found


def _vcpus(instance: Mapping[str, Any], vcpus: Mapping[str, int]) -> int:
    """Return an instance's vCPUs: its type's, or its own where EC2 describes the type no more."""
    if (found := vcpus.get(instance["InstanceType"])) is not None:
        return found
    cores = instance["CpuOptions"]
    return int(cores["CoreCount"] * cores["ThreadsPerCore"])


def finding(
    quota: Quota,
    parts: Sequence[Part],
    have: float | NoAnswer | None,
    used: Mapping[str, int] | NoAnswer,
    region: str,
) -> Finding:
    """Return what a quota comes to.

    What must run and does not fit fails. The fall-back to on-demand and the nodes that stand beside those that they
    replace are a warning: without them the stack starts, and then waits when Spot has none or nodes change.

    Args:
        quota: the quota.
        parts: what the stack takes of it.
        have: its value; None: neither the account nor AWS's defaults have one.
        used: vCPUs in use by others, by code.
        region: of the stack.
    """
    subject = f"{quota.code} {quota.name}"
    levels = [[it for it in parts if it.kind == kind] for kind in ("need", "fall-back", "beside")]
    needed = list(accumulate(sum(it.vcpus for it in level) for level in levels))
    figures: dict[str, Any] = {"need": needed[0], "needAtMost": needed[-1], "code": quota.code}
    said = _need([part for level in levels for part in level])
    if isinstance(have, NoAnswer):
        return unknown(subject, f"{said}; {have.why}", have.fix, **figures)
    if have is None:
        return unknown(
            subject, f"{said}; the account has no value for it, nor do AWS's defaults", "look it up in Service Quotas",
            **figures,
        )  # fmt: skip
    figures["have"] = _whole(have)
    if isinstance(used, NoAnswer):
        if needed[0] > have:
            said = _need(levels[0])
            return fail(
                subject, f"{said} > {have:g}, without what is in use", _ask(quota, needed[-1], region), **figures
            )
        return unknown(subject, f"{said}, have {have:g}; in use: {used.why}", used.fix, **figures)
    others = used.get(quota.code, 0)
    figures |= {"inUse": others, "request": needed[-1] + others}
    for place, make in ((0, fail), (1, warn), (2, warn)):
        if needed[place] + others > have:
            its = [part for level in levels[: place + 1] for part in level]
            sums = f"{_need(its)} + {others} in use = {needed[place] + others} > {have:g}"
            return make(subject, sums, _ask(quota, needed[-1] + others, region), **figures)
    return ok(subject, f"{said} + {others} in use = {needed[-1] + others} <= {have:g}", **figures)


def _need(parts: Sequence[Part]) -> str:
    return f"need {sum(it.vcpus for it in parts)} vCPUs ({' + '.join(map(str, parts))})"


def _whole(value: float) -> float:
    return int(value) if value.is_integer() else value


def _ask(quota: Quota, vcpus: int, region: str) -> str:
    return (
        f"ask for {vcpus} vCPUs: aws service-quotas request-service-quota-increase --region {region}"
        f" --service-code {SERVICE} --quota-code {quota.code} --desired-value {vcpus}"
    )


def value(client: Any, code: str) -> float | NoAnswer | None:
    """Return a quota of the account, or AWS's default where the account has no value of its own; None: neither.

    One request for each: a list of them has not all of them (aws-cli#4569).
    """
    asked = {"ServiceCode": SERVICE, "QuotaCode": code}

    def applied() -> float | None:
        return _value(client.get_service_quota(**asked))

    def default() -> float | None:
        return _value(client.get_aws_default_service_quota(**asked))

    found = answer("servicequotas:GetServiceQuota", applied, absent={_NOT_THERE: None})
    if found is not None:
        return found
    return answer("servicequotas:GetAWSDefaultServiceQuota", default, absent={_NOT_THERE: None})


def _value(answered: Mapping[str, Any]) -> float | None:
    found = answered["Quota"].get("Value")
    return None if found is None else float(found)


def instances(ec2: Any) -> list[Mapping[str, Any]]:
    """Return every instance of the region that counts in a quota, of all pages."""
    pages = ec2.get_paginator("describe_instances").paginate(
        Filters=[{"Name": "instance-state-name", "Values": list(RUNNING)}]
    )
    return [it for page in pages for group in page["Reservations"] for it in group["Instances"]]


def reservations(ec2: Any) -> list[Mapping[str, Any]]:
    """Return every capacity reservation that holds room, of all pages."""
    pages = ec2.get_paginator("describe_capacity_reservations").paginate(
        Filters=[{"Name": "state", "Values": ["active"]}]
    )
    return [it for page in pages for it in page["CapacityReservations"] if it["AvailableInstanceCount"]]


def vcpus_of(ec2: Any, names: Collection[str]) -> Mapping[str, int]:
    """Return the vCPUs of types: of the catalogue, or as EC2 tells them. What it does not know is not there.

    By a filter: a request by name fails as a whole on one that the region lacks.
    """
    known = {name: kind.vcpus for name, kind in catalogue().items() if name in names}
    others = sorted(set(names) - set(known))
    for start in range(0, len(others), 100):
        pages = ec2.get_paginator("describe_instance_types").paginate(
            Filters=[{"Name": "instance-type", "Values": others[start : start + 100]}]
        )
        known |= {it["InstanceType"]: it["VCpuInfo"]["DefaultVCpus"] for page in pages for it in page["InstanceTypes"]}
    return known
