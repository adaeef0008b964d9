"""What a server costs before it is deployed: memory, disk, and the seconds of its start.

Pure functions of plain values. Those that judge yield problems: `refusals` of what cannot work, `warnings` of what may
not, each with its sum.
"""

Problem = tuple[tuple[str, ...], str]
"""Path below `servers.<name>`, and what is wrong."""
