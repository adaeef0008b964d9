"""All rules, by theme."""

from guardrails import money, operations, security, start_up

RULES = (*start_up.RULES, *money.RULES, *security.RULES, *operations.RULES)
