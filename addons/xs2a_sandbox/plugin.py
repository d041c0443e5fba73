"""Everything that a plugin may import (docs/plugins.md)."""

from xs2a_sandbox.bank import Answer
from xs2a_sandbox.bank.admission import Check
from xs2a_sandbox.cassette.handler import Option, action, handler
from xs2a_sandbox.cli.serve.run_part import RunPart
from xs2a_sandbox.config.modes import Mode
from xs2a_sandbox.control.route import ControlRequest, ControlRoute
from xs2a_sandbox.engine.route import Route
from xs2a_sandbox.errors import BankError
from xs2a_sandbox.explain.explanation import Explanation, own
from xs2a_sandbox.http import Request, Response
from xs2a_sandbox.http.messages import json_answer
from xs2a_sandbox.plugins import hookimpl

__all__ = [
    "Answer",
    "BankError",
    "Check",
    "ControlRequest",
    "ControlRoute",
    "Explanation",
    "Mode",
    "Option",
    "Request",
    "Response",
    "Route",
    "RunPart",
    "action",
    "handler",
    "hookimpl",
    "json_answer",
    "own",
]
