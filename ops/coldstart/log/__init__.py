"""What an engine's log says about its start."""

from ops.coldstart.log.read import EngineStart, read, read_bytes

__all__ = ["EngineStart", "read", "read_bytes"]
