"""What a server costs before it is deployed: memory, disk, and the seconds of its start."""
