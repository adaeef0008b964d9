"""`python -m ops`."""

from ops import COMMAND, streams
from ops.cli import app

streams.fit()
app(prog_name=COMMAND)
