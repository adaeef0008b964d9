"""The rules, by the same subjects as the kinds."""
