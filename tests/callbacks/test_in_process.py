"""The sandbox in the process of a test sends callbacks, too."""

from pathlib import Path

from tests.callbacks.test_berlin_group import CONSENT
from tests.support.doors import wait_until
from tests.support.listener import Listener
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.pytest.in_process import LoopThread
from xs2a_sandbox.features.pytest.sandbox import Blueprint, Sandbox


def test_a_sandbox_without_a_port_calls_the_app(tmp_path: Path) -> None:
    loop = LoopThread()
    settings = Settings(state="memory:", confdir=tmp_path, dialect="berlin-group-1.3")
    sandbox = Sandbox(Blueprint.read(settings), loop)
    try:
        with Listener() as app:
            sandbox.add_rule({"id": "own", "match": {"path": "/own"}, "respond": {"text": "own"}}, optional=True)
            headers = {"TPP-Notification-URI": app.url}
            made = sandbox.request("POST", "/v1/consents", json=CONSENT, headers=headers)
            assert sandbox.request("DELETE", f"/v1/consents/{made.json()['consentId']}").status == 204
            (sent,) = app.wait_for(1)
            assert sent.json()["consentStatus"] == "terminatedByTpp"
            wait_until(lambda: len(sandbox.journal) == 3)
            sandbox.journal.assert_called("POST", "/notify", source="app", times=1)
            assert [one.method for one in sandbox.asked] == ["POST", "DELETE"]
    finally:
        loop.close()
