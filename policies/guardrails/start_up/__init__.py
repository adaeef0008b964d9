"""What makes a start slow, or keeps a server from starting."""

from guardrails.start_up import caches, fit, images, probes, rollout, shutdown, taints

RULES = (
    *rollout.RULES,
    *probes.RULES,
    *shutdown.RULES,
    *images.RULES,
    *fit.RULES,
    *taints.RULES,
    *caches.RULES,
)
