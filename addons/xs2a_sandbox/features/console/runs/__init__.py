"""Campaigns and comparisons that the console starts in the background, with their progress and reports."""
