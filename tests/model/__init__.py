"""A model of the bank, from the specification and the readings alone, and the sandbox against it."""
