"""Runs an app's tests repeatedly, each time with one fault at one point, and judges what a bank can see of the app.

`campaign.Campaign` learns the calls, plans the faults of each, runs them, and returns the results for `reports/`.
Nothing is random: the same campaign gives the same result.
"""
