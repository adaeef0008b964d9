"""One comment for a pull request over all stack files, and what workflows need around it."""
