"""`serve` and `record`: the commands, what they say before the first request, and a run from its start to its end."""

from xs2a_sandbox.cli.serve.commands import record, serve

__all__ = ["record", "serve"]
