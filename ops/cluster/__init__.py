"""The stack's cluster: how it is found, and the Jobs that are made in it."""
