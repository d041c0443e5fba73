"""The console at `/_sandbox/`: pages that read and change the sandbox only through the control interface."""
