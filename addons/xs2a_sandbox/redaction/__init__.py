"""Replaces what belongs to people and what opens doors, the same value always by the same pseudonym."""
