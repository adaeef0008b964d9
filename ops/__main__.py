"""`python -m ops`."""

from ops import streams
from ops.cli import app

streams.fit()
app(prog_name="python -m ops")
