"""What was seen of a start: the API's answers as plain values, and those as phases. Pure functions."""
