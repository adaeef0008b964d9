"""A revision of program and stack file, and what its own code says of it."""
