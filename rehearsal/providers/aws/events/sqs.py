"""Queues (`aws.sqs`).

For 60 s after a queue was deleted AWS refuses its name (QueueDeletedRecently). That is not simulated: the AWS provider
tries again for 90 s (resourceQueueCreate in sqs/queue.go of terraform-provider-aws), so an `up` is slower and succeeds.
"""

from __future__ import annotations

from rehearsal.providers.aws.change.table import RULES
from rehearsal.providers.aws.common import account, arn, dns_suffix, partition, region
from rehearsal.providers.change.unique import Clash, Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made
from rehearsal.providers.values import Properties

_QUEUE = "aws:sqs/queue:Queue"
_DEFAULTS = RULES[_QUEUE].defaults
_MANAGED_KEY = "sqsManagedSseEnabled"
# Of CreateQueue, besides those with a default. Tags are no attributes.
_ATTRIBUTES = (
    *(*_DEFAULTS, "deduplicationScope", "fifoThroughputLimit", "kmsDataKeyReusePeriodSeconds", "kmsMasterKeyId"),
    *("policy", "redriveAllowPolicy", "redrivePolicy", _MANAGED_KEY),
)


def _queue(birth: Birth) -> Made:
    name, where = birth.inputs["name"], region(birth)
    url = f"https://sqs.{where}.{dns_suffix(partition(where))}/{account(birth.instance)}/{name}"
    return Made(id=url, outputs={"arn": arn(birth, "sqs", name), "url": url, **_filled(birth.inputs)})


def _filled(given: Properties) -> Properties:
    # SQS encrypts with a key of its own where it is told nothing else [memory].
    encrypted = not given.get("kmsMasterKeyId")
    return {**_DEFAULTS, "kmsDataKeyReusePeriodSeconds": 300, _MANAGED_KEY: encrypted, **given}


def _differs(new: Properties, existing: Properties) -> bool:
    """Whether CreateQueue refuses `new`: it compares the attributes that it is sent, and no others.

    Sent are numbers with their defaults, texts that are not empty, what is true, and a managed key that is turned off
    (attrmap/attrmap.go and sqs/queue.go of terraform-provider-aws).
    """
    wanted, there = {**_DEFAULTS, **new}, _filled(existing)
    sent = [
        key
        for key in _ATTRIBUTES
        if wanted.get(key) not in {None, ""} and (wanted[key] is not False or key == _MANAGED_KEY)
    ]
    return any(wanted[key] != there.get(key) for key in sent)


def _policy(birth: Birth) -> Made:
    return Made(id=birth.inputs["queueUrl"])


KINDS = {
    # With the attributes of the queue that is there, CreateQueue answers with that queue: two resources share it, and
    # the removal of one takes it away from the other.
    _QUEUE: Kind(
        make=_queue,
        tagged=True,
        auto_name=AutoName(property="name", limit=80),
        unique=(
            Unique(error="QueueAlreadyExists", same=("name",), also=Clash(name="other attributes", test=_differs)),
        ),
    ),
    # SetQueueAttributes overwrites what is there. So does a replacement with the same id, and then the removal of the
    # old one takes the new one away.
    "aws:sqs/queuePolicy:QueuePolicy": Kind(make=_policy),
}
