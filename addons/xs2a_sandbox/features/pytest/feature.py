"""What the feature adds: nothing to a running sandbox. Tests import `xs2a_sandbox`, and pytest finds its plugin."""

USES = ("derive",)
