"""What the people and pipelines around a stack need in IAM: its deployer, and the previews of its pull requests."""
