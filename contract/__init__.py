"""The promise to other stacks: what of a change of `outputs.py` breaks its readers, and the schema of every release."""
