"""The stack's bucket."""
