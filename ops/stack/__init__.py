"""The stack file as `ops` reads it: settings, cache keys, and the file at a git revision."""
