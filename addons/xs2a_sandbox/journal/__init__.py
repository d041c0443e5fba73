"""Keeps the last exchanges, checks assertions on them, and logs each on one line."""
