"""What the recording does not show: mistakes that other operations show, and states that were never seen."""
