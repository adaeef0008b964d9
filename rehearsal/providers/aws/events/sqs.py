"""Queues (`aws.sqs`)."""

from __future__ import annotations

from rehearsal.providers.aws.common import account, arn, partition, region
from rehearsal.providers.change.unique import Unique
from rehearsal.providers.naming import AutoName
from rehearsal.providers.package import Birth, Kind, Made

_SUFFIXES = {"aws-cn": "amazonaws.com.cn"}


def _queue(birth: Birth) -> Made:
    name, where = birth.inputs["name"], region(birth)
    suffix = _SUFFIXES.get(partition(where), "amazonaws.com")
    url = f"https://sqs.{where}.{suffix}/{account(birth.instance)}/{name}"
    return Made(id=url, outputs={"arn": arn(birth, "sqs", name), "url": url})


def _policy(birth: Birth) -> Made:
    return Made(id=birth.inputs["queueUrl"])


KINDS = {
    # CreateQueue answers with the queue that is there if all attributes are the same; ours is refused all the same.
    "aws:sqs/queue:Queue": Kind(
        make=_queue,
        tagged=True,
        auto_name=AutoName(property="name", limit=80),
        unique=(Unique(error="QueueAlreadyExists", same=("name",)),),
    ),
    # SetQueueAttributes overwrites what is there. So does a replacement with the same id, and then the removal of the
    # old one takes the new one away.
    "aws:sqs/queuePolicy:QueuePolicy": Kind(make=_policy),
}
