"""Payments and statements in formats other than JSON."""
