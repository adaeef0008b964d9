"""Rules for events and queues. Sources in brackets: `table.py`."""

from __future__ import annotations

from rehearsal.providers.aws.change.rules import Rule

RULES: dict[str, Rule] = {
    "aws:sqs/queue:Queue": Rule(
        schema="AWS::SQS::Queue",
        names={"QueueName": "name"},
        replaces=("namePrefix",),  # tf
        keeps=(
            *("deduplicationScope", "fifoThroughputLimit", "kmsDataKeyReusePeriodSeconds", "policy"),  # tf
            *("redriveAllowPolicy", "redrivePolicy", "sqsManagedSseEnabled"),  # tf
        ),
        defaults={
            "contentBasedDeduplication": False,  # tf
            "delaySeconds": 0,  # tf
            "fifoQueue": False,  # tf
            "maxMessageSize": 262144,  # tf, and the SDK's docstring
            "messageRetentionSeconds": 345600,  # tf
            "receiveWaitTimeSeconds": 0,  # tf
            "visibilityTimeoutSeconds": 30,  # tf
        },
    ),
    "aws:sqs/queuePolicy:QueuePolicy": Rule(replaces=("queueUrl",)),  # tf
    "aws:cloudwatch/eventRule:EventRule": Rule(
        schema="AWS::Events::Rule",
        replaces=("eventBusName", "namePrefix"),  # tf
        keeps=("isEnabled", "state"),  # tf: DiffSuppressFunc
        defaults={"eventBusName": "default", "forceDestroy": False},  # tf
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Rule(
        replaces=("eventBusName", "rule", "targetId"),  # tf
        defaults={"eventBusName": "default", "forceDestroy": False},  # tf
    ),
}
