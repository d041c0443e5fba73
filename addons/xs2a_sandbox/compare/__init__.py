"""Finds where two answers, recordings or banks differ, and whether that matters."""
