"""An app for household accounts, and what tries it: `check.py` is the command of a campaign."""
