"""A bank to record: a separate process with a different dialect, and with secrets at known places.

`planted` contains the secrets, `holdings` the data of its customers, `oddities` answers in unusual formats, `ledger`
the changing data, `server` the sockets, and `journey` a client. Nothing here imports the sandbox.
"""
