"""Writes what was learned as a cassette."""
