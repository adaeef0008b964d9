"""Techniques that put something in front of the engine."""
