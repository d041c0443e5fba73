"""One run of the command in its own session."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.seeing import INDEX
from tests.support.admin import CONSENT, STATUS
from tests.support.doors import opened
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.features.campaign.bank import SandboxAddresses
from xs2a_sandbox.features.campaign.command import Command
from xs2a_sandbox.features.campaign.run import RunSession
from xs2a_sandbox.features.pytest.injected_fault import InjectedFault

APP = f"""
import json, os, pathlib, urllib.error, urllib.request
kept = pathlib.Path(os.environ["XS2A_SANDBOX_RUN_DIR"]) / "runs"
kept.write_text(kept.read_text() + "x" if kept.exists() else "x")
print("run", len(kept.read_text()), os.environ.get("XS2A_SANDBOX_FAULT", "no fault"))
headers = {{"X-Request-ID": "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"}}
try:
    urllib.request.urlopen(urllib.request.Request(os.environ["XS2A_SANDBOX_URL"] + "{STATUS}", headers=headers))
except urllib.error.HTTPError as error:
    with open(os.environ["XS2A_SANDBOX_FINDINGS"], "a") as findings:
        findings.write(json.dumps({{"test": "t", "text": f"got {{error.code}}"}}) + "\\n")
    raise SystemExit(3)
"""
BUSY = InjectedFault("busy", "consent-status", 1, status=503)
ORDER = {"operation": "consent-status", "skip": 0, "next": 1, "error": "busy"}


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[SandboxAddresses]:
    engine = an_engine()
    engine.use(admin_token=ensure_token(tmp_path / "conf"))
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield SandboxAddresses(f"http://127.0.0.1:{door.port}", tmp_path / "conf")


def a_session(sandbox: SandboxAddresses, tmp_path: Path, code: str = APP) -> RunSession:
    command = Command((sys.executable, "-c", code), {}, tmp_path)
    return RunSession(sandbox, "run", command, 60.0, tmp_path / "scratch", INDEX)


def test_a_fault_applies_to_one_run_only(sandbox: SandboxAddresses, tmp_path: Path) -> None:
    with a_session(sandbox, tmp_path) as session:
        usual = session.run()
        wrong = session.run(BUSY, ORDER)
        after = session.run()

    assert [run.ended.status for run in (usual, wrong, after)] == [0, 3, 0]
    assert [run.hits for run in (usual, wrong, after)] == [0, 1, 0]
    assert wrong.assertions == ({"test": "t", "text": "got 503"},)
    assert (usual.assertions, after.assertions) == ((), ())
    assert [call.status for call in wrong.seen.calls] == [503]
    # Data stored by the app is available in the next run. The fault is in the environment only of the run that has one.
    assert [run.ended.output.partition(" {")[0].strip() for run in (usual, wrong, after)] == [
        "run 1 no fault",
        "run 2",
        "run 3 no fault",
    ]


def test_a_session_starts_empty_and_leaves_nothing(sandbox: SandboxAddresses, tmp_path: Path) -> None:
    client = Client(sandbox.direct, "run", confdir=sandbox.confdir)
    client.put_document("notes", "left", {"by": "somebody"})
    for _ in range(2):
        with a_session(sandbox, tmp_path) as session:
            assert client.collection("notes") == {}
            assert session.run().ended.output.startswith("run 1 ")
    assert not (tmp_path / "scratch").exists()
    assert "run" not in [one["id"] for one in client.sessions()["sessions"]]


def test_an_expired_consent_of_the_test_data_is_restored(sandbox: SandboxAddresses, tmp_path: Path) -> None:
    with a_session(sandbox, tmp_path) as session:
        consent = session.client.document("consents", CONSENT)
        session.client.put_document("consents", CONSENT, {**consent, "status": "expired"})
        session.lift()
        assert session.client.document("consents", CONSENT) == consent
