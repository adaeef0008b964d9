"""Look-ups about the caller and where it is."""

from __future__ import annotations

from rehearsal.providers.aws.common import account, dns_suffix, partition
from rehearsal.providers.package import Instance
from rehearsal.providers.values import Properties


def _partition(instance: Instance, _args: Properties) -> Properties:
    name = partition(instance.config["region"])
    suffix = dns_suffix(name)
    return {
        "id": name,
        "partition": name,
        "dnsSuffix": suffix,
        "reverseDnsPrefix": ".".join(reversed(suffix.split("."))),
    }


def _region(instance: Instance, args: Properties) -> Properties:
    name = args.get("region") or instance.config["region"]
    return {
        "id": name,
        "name": name,
        "region": name,
        "description": name,
        "endpoint": f"ec2.{name}.{dns_suffix(partition(name))}",
    }


def _caller(instance: Instance, _args: Properties) -> Properties:
    number = account(instance)
    return {
        "id": number,
        "accountId": number,
        "arn": f"arn:{partition(instance.config['region'])}:iam::{number}:user/rehearsal",
        "userId": "AIDAREHEARSAL",
    }


INVOKES = {
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
}
