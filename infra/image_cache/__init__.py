"""Images through ECR: which reference nodes pull, the pull-through rules behind it, and repositories of one's own."""
