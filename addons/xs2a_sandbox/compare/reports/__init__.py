"""Writes differences for terminals, programs, CI and browsers."""
