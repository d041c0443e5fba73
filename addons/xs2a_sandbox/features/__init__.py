"""Features beyond answering like a bank. Each folder is a feature, which the rest of the package does not import.

The module `feature` of each declares what it adds, with the hooks of `plugins.py`, and in `USES` the features that it
imports. If a feature is missing or cannot be imported, only its additions are missing.
"""
