"""The settings from file, environment and command line, and the limits. `table` declares each setting once."""

from xs2a_sandbox.config.real_bank import RealBank
from xs2a_sandbox.config.settings import load_settings
from xs2a_sandbox.config.table import Settings

__all__ = ["RealBank", "Settings", "load_settings"]
