"""What the engine plans or did: as data, and on the terminal."""
