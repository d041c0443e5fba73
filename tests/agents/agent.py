"""An agent that calls tools of a sandbox in this process."""

import asyncio
import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.engine_client import Answer, Client
from xs2a_sandbox.errors import Refused, UserMistake
from xs2a_sandbox.features.agents.context import Context
from xs2a_sandbox.features.agents.tools import TOOLS

SESSION = "app"


@dataclass(frozen=True, slots=True)
class Agent:
    """Calls tools, while `app` sends requests to the bank in the session `app`."""

    context: Context
    app: Client

    def calls(self, name: str, /, **arguments: Any) -> Any:
        """Return the result of a tool, read if it is JSON."""
        text = asyncio.run(TOOLS[name].call(self.context, arguments))
        return json.loads(text) if text.startswith("{") else text

    def fails(self, name: str, /, **arguments: Any) -> str:
        with pytest.raises((UserMistake, Refused)) as caught:
            self.calls(name, **arguments)
        return str(caught.value)

    def pays(self, amount: str = "12.50", **more: Any) -> Answer:
        body = {
            "debtorAccount": {"iban": "AT459880000010204711", "currency": "EUR"},
            "instructedAmount": {"amount": amount, "currency": "EUR"},
            "creditorAccount": {"iban": "AT379821100040023757"},
            "creditorName": "Nahversorger Talblick",
            **more,
        }
        headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.1"}
        return self.app.post("/v1/payments/sepa-credit-transfers", json=body, headers=headers)
