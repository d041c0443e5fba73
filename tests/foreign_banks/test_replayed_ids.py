"""A recording is played at a dialect with the dialect's ids, also where they are short or look like words."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.taping import tape, taped
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.http.exchange import Exchange


def journey(slip: str, accounts: tuple[str, str], holder: int) -> Iterator[Exchange]:
    """Yield a journey with ids in bodies. The accounts have short words as ids, holders numbers."""
    main, saving = accounts
    yield taped("/svc/ask", {"slip": slip, "state": "OPEN"}, "POST", status=201, body={"days": 30}, at=1)
    yield taped("/svc/look", {"slip": slip, "state": "OPEN"}, "POST", body={"slip": slip}, at=2)
    yield taped("/svc/look", {"code": "NO_SLIP"}, "POST", status=404, body={"slip": "zz9zz9zz9"}, at=3)
    yield taped("/svc/agree", {"slip": slip, "state": "DONE"}, "POST", body={"slip": slip}, at=3)
    yield taped("/svc/look", {"slip": slip, "state": "DONE"}, "POST", body={"slip": slip}, at=3)
    rows = {"rows": [{"acc": main, "holder": holder}, {"acc": saving, "holder": holder}]}
    yield taped("/svc/accounts", rows, "POST", body={"slip": slip}, at=4)
    for at, account in enumerate(accounts, 5):
        yield taped(
            "/svc/saldo", {"acc": account, "sum": f"{at}0,25"}, "POST", body={"slip": slip, "acc": account}, at=at
        )
    yield taped(f"/svc/holder/{holder}", {"holder": holder, "name": "Olle"}, at=7)


def test_a_check_sends_the_ids_of_the_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape(tmp_path / "tape", *journey("g6zq8nj5t", ("JM20", "KP31"), 865), redacted=None)
    tape(tmp_path / "other", *journey("k9j88jm4c", ("FPKJ", "JRTW"), 498), redacted=None)
    monkeypatch.chdir(tmp_path)
    command = ["derive", "--dialect", "mine", "--confdir", "conf"]
    assert CliRunner().invoke(cli, [*command, "tape"]).exit_code == 0
    checked = CliRunner().invoke(cli, [*command, "--check", "other"])
    assert checked.output == "9 of 9 requests get the recorded answer from the dialect mine\n"
