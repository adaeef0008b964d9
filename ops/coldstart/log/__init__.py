"""What an engine's log says about its start."""
