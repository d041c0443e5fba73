"""Sends the bank's callbacks to apps, again and again until they are accepted."""
