"""The states of things over time, and what changes them."""
