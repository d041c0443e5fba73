"""The console at `/_sandbox/`: pages made of what the control interface says. They change nothing past it."""
