"""The pages behind `scaRedirect` and `scaOAuth`, on which the payment user logs in and approves or declines."""

PAGES = "sca"
"""The first segment of the path of these pages."""
