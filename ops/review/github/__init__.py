"""What is written on GitHub: a comment of a pull request, an issue of a stack."""
