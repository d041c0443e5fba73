"""Answers every HTTP client of a process, each library where it opens its connections."""

from xs2a_sandbox.features.pytest.intercept.interception import Interception

__all__ = ["Interception"]
