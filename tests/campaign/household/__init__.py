"""A small app of a customer of a bank, with bugs to choose from, and its tests, which know nothing of faults."""
