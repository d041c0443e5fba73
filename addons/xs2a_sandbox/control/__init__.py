"""The control interface below `/_sandbox/`: access, operations, and client."""
