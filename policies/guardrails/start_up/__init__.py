"""What makes a start slow, or keeps a server from starting."""

from guardrails.start_up import caches, fit, images, probes, rollout

RULES = (*rollout.RULES, *probes.RULES, *images.RULES, *fit.RULES, *caches.RULES)
