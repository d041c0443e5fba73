"""The interface below `/_sandbox/`: who may use it, what it does, and its client."""
