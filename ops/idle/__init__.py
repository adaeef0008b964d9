"""`ops idle`: which way of being idle costs least, and what is idle now."""
