"""VPCs, and everything through which traffic passes."""

from rehearsal.providers.aws.network import ec2, vpc

KINDS = ec2.KINDS | vpc.KINDS
