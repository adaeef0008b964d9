"""`ops cache`: the key of a start-up cache, its build, its proof, and what lies in the bucket."""
