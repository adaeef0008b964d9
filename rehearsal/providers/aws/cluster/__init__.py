"""Clusters, and how their nodes start."""

from rehearsal.providers.aws.cluster import eks, launch_template

KINDS = eks.KINDS | launch_template.KINDS
