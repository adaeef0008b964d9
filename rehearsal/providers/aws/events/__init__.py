"""Events, and the queues that they end in. No event ever happens here."""

from rehearsal.providers.aws.events import cloudwatch, sqs

KINDS = cloudwatch.KINDS | sqs.KINDS
