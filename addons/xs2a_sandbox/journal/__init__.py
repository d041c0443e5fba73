"""Keeps the last exchanges, asserts over them, and writes each as a line of log."""
