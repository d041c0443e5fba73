"""Payments and statements in the formats that banks speak beside JSON."""
