"""`python -m ops`: what people do to a stack that stands. Reads its settings, and never makes a resource of it."""
