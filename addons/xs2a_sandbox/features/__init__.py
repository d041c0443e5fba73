"""What the sandbox can do beyond answering like a bank: each folder is a feature, which the rest does not import.

The module `feature` of each says, by the hooks of `plugins.py`, what it adds, and in `USES` which other features it
imports. A feature that is not there, or cannot be imported, costs what it would have added.
"""
