"""Look-ups about the caller and where it is."""

from __future__ import annotations

from rehearsal.providers.aws.common import PARTITION, account
from rehearsal.providers.package import Instance
from rehearsal.providers.values import Properties

_DNS_SUFFIX = "amazonaws.com"


def _partition(_instance: Instance, _args: Properties) -> Properties:
    return {
        "id": PARTITION,
        "partition": PARTITION,
        "dnsSuffix": _DNS_SUFFIX,
        "reverseDnsPrefix": "com.amazonaws",
    }


def _region(instance: Instance, args: Properties) -> Properties:
    name = args.get("region") or instance.config["region"]
    return {
        "id": name,
        "name": name,
        "region": name,
        "description": name,
        "endpoint": f"ec2.{name}.{_DNS_SUFFIX}",
    }


def _caller(instance: Instance, _args: Properties) -> Properties:
    number = account(instance)
    return {
        "id": number,
        "accountId": number,
        "arn": f"arn:{PARTITION}:iam::{number}:user/rehearsal",
        "userId": "AIDAREHEARSAL",
    }


INVOKES = {
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
}
