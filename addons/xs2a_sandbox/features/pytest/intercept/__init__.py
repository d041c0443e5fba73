"""Answers all HTTP clients in a process, with a hook in each library where it opens connections."""

from xs2a_sandbox.features.pytest.intercept.interception import Interception

__all__ = ["Interception"]
