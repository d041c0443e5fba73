"""Learns from a recording how its bank speaks: held against a documented dialect, of which a new one is made."""
