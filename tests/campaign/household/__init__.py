"""A small app of a customer of a bank, with six bugs to choose from, and its tests, which know nothing of faults."""
