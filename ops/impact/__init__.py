"""What a change does to a stack: two revisions of program and stack file, compared without a cloud."""
