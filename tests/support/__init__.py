"""What tests of several modules share, one thing a module."""
