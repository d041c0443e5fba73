"""A test's control of the sandbox: the time, documents, and the payment user's decisions."""

import json
from dataclasses import dataclass
from typing import Any

from tests.contract.doors import Answer, Bank, Send


@dataclass(frozen=True, slots=True)
class Control:
    bank: Bank
    send: Send
    token: str

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        assert self.bank.session
        headers = [("Authorization", f"Bearer {self.token}"), ("X-Sandbox-Session", self.bank.session)]
        content = b"" if body is None else json.dumps(body).encode()
        answer = self.send(method, f"/_sandbox/{path}", headers, content)
        assert answer.status < 300, answer.body
        return answer

    def move(self, duration: str) -> None:
        self.ask("POST", "clock", {"move": duration})

    def decide(self, authorisation_id: str, decision: str) -> Any:
        return self.ask("POST", f"sca/{authorisation_id}", {"decide": decision}).json()

    def change(self, collection: str, id: str, **members: Any) -> None:
        """Set members of a document."""
        path = f"state/{collection}/{id}"
        self.ask("PUT", path, {**self.ask("GET", path).json(), **members})
