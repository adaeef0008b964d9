"""The tables of the docs that the program makes: `.venv/bin/python -m tests.docs.tables` writes them."""

from tests.docs.tables import keys, phases, versions
from tests.docs.tables.part import Part

PARTS = (
    Part("cold-start.md", "phases", phases.phases),
    Part("cold-start.md", "bases", phases.bases),
    Part("cold-start.md", "effects", phases.effects),
    Part("cold-start.md", "presets", phases.presets),
    Part("cold-start.md", "techniques of no preset", phases.of_no_preset),
    Part("releases.md", "changes", keys.changes),
    Part("releases.md", "techniques", keys.techniques),
    Part("releases.md", "neutral facts", keys.neutral),
    Part("releases.md", "facts", keys.facts),
    Part("upgrades.md", "Karpenter", versions.karpenter),
    Part("upgrades.md", "flags", versions.flags),
    Part("upgrades.md", "images", versions.images),
)
