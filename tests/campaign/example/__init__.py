"""An app for household accounts, and its tests. `check.py` is the command of a campaign."""
