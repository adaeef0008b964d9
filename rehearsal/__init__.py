"""Rehearse the Pulumi program: the real engine, the unmodified program, an offline cloud."""
