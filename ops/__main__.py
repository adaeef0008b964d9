"""`python -m ops`."""

from ops.cli import app

app(prog_name="python -m ops")
