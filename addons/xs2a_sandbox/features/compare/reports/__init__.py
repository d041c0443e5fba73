"""A comparison as it is shown: in a terminal, and as files for programs, CI and browsers."""
