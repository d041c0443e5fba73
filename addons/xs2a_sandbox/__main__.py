"""`python -m xs2a_sandbox`."""

from xs2a_sandbox.cli.main import main

main()
