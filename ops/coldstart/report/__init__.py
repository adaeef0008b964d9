"""Measured starts as a page, as Markdown, and as new figures for the budget."""
