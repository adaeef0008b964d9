"""`python -m ops`."""

from ops.cli import app
from ops.unheard import bear_with_standard_error

bear_with_standard_error()
app(prog_name="python -m ops")
