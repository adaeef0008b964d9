"""Karpenter: its rights and queue in AWS, its charts in the cluster, and the role of the nodes that it starts."""
