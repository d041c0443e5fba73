"""The steps that a request walks down before a destination answers it, and its answer up again."""
