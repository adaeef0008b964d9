"""What opens a door."""

from guardrails.security import buckets, endpoints, identities, network, pods, secrets, writers

RULES = (
    *identities.RULES,
    *writers.RULES,
    *buckets.RULES,
    *network.RULES,
    *endpoints.RULES,
    *pods.RULES,
    *secrets.RULES,
)
