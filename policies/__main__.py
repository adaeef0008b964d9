"""The policy pack. Its constructor serves the engine and does not return."""

from pulumi_policy import EnforcementLevel, PolicyPack

from guardrails.crossguard import policies
from guardrails.pack import RULES

PolicyPack("vllm-eks", policies(RULES), EnforcementLevel.MANDATORY)
