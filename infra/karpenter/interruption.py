"""The queue that tells Karpenter two minutes ahead which instances end, and the rules that fill it.

Without it Spot notices are never handled (KRP-07), and a forgotten rule is a kind of notice that is never handled.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_aws import cloudwatch, sqs

from infra.iam import Statement, deny_plaintext, document
from infra.naming import Place, interruption_queue

EVENTS: Mapping[str, tuple[str, str]] = {
    "health": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
}
"""Source and kind of what goes into the queue: every event that Karpenter reads, the last one since 1.10."""

RETENTION_SECONDS = 300
"""A notice that is older is about an instance that is gone."""

TARGET = "karpenter"
"""The one target of each rule, by its id inside the rule."""


@dataclass(frozen=True, kw_only=True)
class InterruptionQueueArgs:
    """Plain values: the queue's name and ARN are known before it exists, so that a preview shows who may use it."""

    cluster_name: str
    place: Place


class InterruptionQueue(pulumi.ComponentResource):
    """One queue for one cluster. Two clusters on one queue would take each other's notices away."""

    name: pulumi.Output[str]
    """What Karpenter is given: a name, not an ARN and not a URL (karpenter-provider-aws#6024)."""
    arn: pulumi.Output[str]

    def __init__(self, name: str, args: InterruptionQueueArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("vllm-eks:infra:InterruptionQueue", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)

        queue = sqs.Queue(
            name,
            name=interruption_queue(args.cluster_name),
            message_retention_seconds=RETENTION_SECONDS,
            # EventBridge needs no right to a key then
            sqs_managed_sse_enabled=True,
            opts=child,
        )
        arn = pulumi.Output.concat(args.place.arn("sqs", ""), queue.name)
        policy = sqs.QueuePolicy(name, queue_url=queue.url, policy=document(*queue_statements(arn)), opts=child)
        for key, (source, kind) in EVENTS.items():
            rule = cloudwatch.EventRule(
                f"{name}-{key}",
                description=f"{kind}, for the Karpenter of {args.cluster_name}",
                event_pattern=pulumi.Output.json_dumps({"source": [source], "detail-type": [kind]}),
                opts=child,
            )
            cloudwatch.EventTarget(
                f"{name}-{key}",
                rule=rule.name,
                target_id=TARGET,
                arn=arn,
                # what is sent before the queue lets it in is lost, and nobody is told
                opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
            )

        self.name, self.arn = queue.name, arn
        self.register_outputs({"name": self.name, "arn": self.arn})


def queue_statements(arn: pulumi.Input[str]) -> tuple[Statement, ...]:
    """Who may do what with the queue, as in Karpenter's CloudFormation template (v1.14): its own notices come in."""
    return (
        {
            "Sid": "EventsDeliver",
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
            "Action": "sqs:SendMessage",
            "Resource": arn,
        },
        deny_plaintext("sqs", arn),
    )
