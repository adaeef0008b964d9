"""`ops weights`: models on their way into the bucket, and whether they arrived whole."""
