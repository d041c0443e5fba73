"""Guesses about what was not recorded: mistakes that only other operations show, and states that nobody has seen."""
