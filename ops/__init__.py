"""`python -m ops`: what people do to a stack that stands. Reads its settings, and never makes a resource of it."""

COMMAND = ".venv/bin/python -m ops"
"""As it is typed in the project's folder: in help texts, and in messages that name another command."""
