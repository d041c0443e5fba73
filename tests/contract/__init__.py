"""Tests of the documented interface through every door. Each test names the statements that it proves."""
