"""What a change does to the servers: their caches, their pods, and how long nothing serves."""
