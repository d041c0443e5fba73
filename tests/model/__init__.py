"""A model of the bank, based only on the specification and the readings, and comparisons with the sandbox."""
