"""Tells the differences to terminals, programs, CI and browsers."""
