"""The only way to a real bank."""
