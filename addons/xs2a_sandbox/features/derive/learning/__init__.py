"""Learns from a recording how its bank differs from a documented dialect, to derive a new one."""
