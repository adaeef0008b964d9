"""What runs now: ask it something, see how it stands, put it to sleep."""
