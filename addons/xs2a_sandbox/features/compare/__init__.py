"""Finds where the sandbox and a real bank differ: the commands `compare` and `watch`."""
