"""Answers all HTTP clients in a process; each library is hooked where it opens connections."""

from xs2a_sandbox.features.pytest.intercept.interception import Interception

__all__ = ["Interception"]
