"""Says who answers a request and why, and who came near."""
