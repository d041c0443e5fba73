"""A bank to be recorded: a process of its own, another dialect than the sandbox's, and secrets whose places are known.

`planted` holds the secrets, `holdings` what the bank knows of its customers, `oddities` answers of unusual forms,
`ledger` what moves, `server` the bank on its sockets, `journey` a client of it. Nothing here imports the sandbox.
"""
