"""The bank's logic that needs state or dates. The dialect defines the responses and their statuses.

A handler returns plain data, or raises BankError with the name of an error. `table` lists all handlers.
"""
