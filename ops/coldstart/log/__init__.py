"""What an engine's log says about its start."""

from ops.coldstart.log.read import read, read_bytes
from ops.coldstart.log.start import EngineStart

__all__ = ["EngineStart", "read", "read_bytes"]
