"""Reports on a comparison: in a terminal, and as files for programs, CI and browsers."""
