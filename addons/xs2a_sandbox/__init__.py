"""A record/replay HTTP proxy sandbox that answers like a bank's PSD2 XS2A interface."""

__version__ = "0.1.0"
