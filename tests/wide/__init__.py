"""Two sandboxes on one Redis while everything is killed from time to time: journeys, and a checker of their log."""
