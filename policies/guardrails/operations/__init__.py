"""What cannot be upgraded, found or taken down."""

from guardrails.operations import order, pins, protection

RULES = (*protection.RULES, *pins.RULES, *order.RULES)
