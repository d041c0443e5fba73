"""Learns what a bank does whose interface nobody has described.

`learned_dialect.learn_dialect` runs everything and returns the text of the dialect. No module here knows a bank.
"""
