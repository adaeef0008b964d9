"""`ops idle status`: what is idle now, and what it costs."""
