"""Explains what answers a request and why, and which rules and operations are similar."""
