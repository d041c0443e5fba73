"""Explains which rule or operation answers a request and why, and which others are similar."""
