"""Replaces personal data and credentials. The same value always gets the same pseudonym."""
