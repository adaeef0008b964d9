"""Where objects and images lie."""

from rehearsal.providers.aws.storage import ecr, s3

KINDS = ecr.KINDS | s3.KINDS
INVOKES = s3.INVOKES
