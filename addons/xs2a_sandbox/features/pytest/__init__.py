"""The pytest plugin, and a bank in the process of a test."""
