"""The destinations of requests. Each answers requests, and explains its answers."""
