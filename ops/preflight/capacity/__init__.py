"""Whether AWS has the machines: quotas, offerings, Spot, addresses."""
