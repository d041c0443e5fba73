"""The command line. Each command imports what it needs itself, so that `--help` is fast."""
