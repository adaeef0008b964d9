"""Who may do what, and who is asking."""

from rehearsal.providers.aws.identity import iam, sts

KINDS = iam.KINDS
INVOKES = sts.INVOKES
