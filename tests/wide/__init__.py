"""Two sandboxes on one Redis while everything is killed now and then: journeys, and a checker that judges their log."""
