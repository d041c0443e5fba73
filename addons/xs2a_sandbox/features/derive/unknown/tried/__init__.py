"""Tries a learned dialect: sends it the recorded requests, also with other values."""
