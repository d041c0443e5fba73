"""`serve` and `record`: the commands, their first lines of output, and a run from start to end."""

from xs2a_sandbox.cli.serve.commands import record, serve

__all__ = ["record", "serve"]
