"""The bank's logic, where state or dates are needed. What it says, and with which status, is the dialect's.

A handler returns its result as plain data, or raises a BankError by name. `table` lists them all.
"""
