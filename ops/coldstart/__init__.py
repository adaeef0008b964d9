"""`ops coldstart`: where the seconds of a start go, from a cluster or from logs that somebody has."""
