"""`ops idle plan`: from how long a server is idle at a time to the settings that cost least."""
