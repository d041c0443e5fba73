"""Code shared by several tests. Each module contains one thing."""
