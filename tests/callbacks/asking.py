"""An app and a tester of a served sandbox that sends callbacks."""

import json
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from typing import Any

from tests.support.doors import wait_until
from tests.support.serving import Serving

LAYER = {
    "cassette": 1,
    "callbacks": {
        "consent": {
            "doc": "A consent has another status.",
            "on": "consents",
            "when": "before",
            "to": "{{ document.notify }}",
            "request": {
                "headers": {"X-Request-ID": "{{ uuid() }}"},
                "body": {
                    "id": "{{ id }}",
                    "was": "{{ wire('consent', before) }}",
                    "consentStatus": "{{ wire('consent', document.status) }}",
                },
            },
            "retry": {"first": "60s", "factor": 3, "longest": "2m", "tries": 3},
        }
    },
}
"""Callbacks of consents, to the member `notify` of their documents."""

_ATTEMPTS = 5
"""On a busy machine, Redis may not answer in the time that the sandbox waits. It then says 503, and to ask again."""

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class ServedSession:
    """A session of a served sandbox."""

    serving: Serving
    session: str = field(default_factory=lambda: f"s-{uuid.uuid4().hex[:8]}")

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], Any]:
        """Send a request, and return status, headers in lower case, and JSON. `_` in names of headers is `-`."""
        fields = {
            "X-Request-ID": str(uuid.uuid4()),
            "PSU-IP-Address": "192.0.2.7",
            **({"Content-Type": "application/json"} if body is not None else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        content = None if body is None else json.dumps(body).encode()
        url = f"{self.serving.direct}/s/{self.session}{path}"
        request = urllib.request.Request(url, content, fields, method=method)
        try:
            with _OPENER.open(request, timeout=30) as answer:
                status, read, fields = answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            status, read, fields = error.code, error.read(), dict(error.headers)
        is_json = "json" in fields.get("Content-Type", "")
        return status, {n.lower(): v for n, v in fields.items()}, json.loads(read) if read and is_json else read

    def control(self, method: str, path: str, body: Any = None) -> Any:
        for _ in range(_ATTEMPTS):
            status, _, value = self.ask(method, f"/_sandbox/{path}", body, Authorization=f"Bearer {self.serving.token}")
            if status != 503:
                break
        assert status < 300, (status, value)
        return value

    def consent(self, notify: str | None, id: str | None = None) -> str:
        """Create a consent that waits for its customer, with this address."""
        id = id or str(uuid.uuid4())
        document = {
            "status": "awaiting", "access": [], "accounts": [], "recurring": True, "valid_until": "9999-12-31",
            "frequency_per_day": 4, "notify": notify,
        }  # fmt: skip
        self.control("PUT", f"state/consents/{id}", document)
        return id

    def happen(self, id: str, event: str, collection: str = "consents") -> None:
        self.control("POST", f"state/{collection}/{id}", {"event": event})

    def callbacks(self) -> list[dict[str, Any]]:
        return list(self.control("GET", "callbacks")["callbacks"])

    def wait_for_state(self, state: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until that many callbacks are in this state, and return them."""
        wait_until(lambda: len([one for one in self.callbacks() if one["state"] == state]) >= count)
        return [one for one in self.callbacks() if one["state"] == state]
