"""The documented interface, tested from outside through every door; each test names the statements it proves."""
