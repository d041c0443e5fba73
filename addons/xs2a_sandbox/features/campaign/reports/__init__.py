"""Tells what a campaign has found: a table of points and faults for terminals, browsers and CI."""
