"""Attacks on a real `serve`: cases as data, the expected outcomes, and the code that runs them."""
