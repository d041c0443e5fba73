"""Adds nothing to a running sandbox: tests import `xs2a_sandbox`, and pytest finds its plugin."""

USES = ("callbacks", "derive")
