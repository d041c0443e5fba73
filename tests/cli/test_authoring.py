"""`new-case` and `coverage` on the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.doors import opened
from tests.support.engine_client import Client, an_engine
from tests.support.roads import direct_door
from xs2a_sandbox.cli import main
from xs2a_sandbox.config import Settings
from xs2a_sandbox.config.table import SETTINGS
from xs2a_sandbox.control.access import ensure_token
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.features.authoring.lint import check

CONSENT = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    return tmp_path / "here"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    engine = an_engine()
    engine.use(admin_token=ensure_token(tmp_path / "home/.xs2a-sandbox"))
    return engine


@pytest.fixture
def port(engine: Engine) -> Iterator[str]:
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        yield str(door.port)


def run(*words: str) -> Result:
    return CliRunner().invoke(main.cli, words, prog_name="xs2a-sandbox")


def settings(tmp_path: Path) -> Settings:
    return Settings(state="memory:", confdir=tmp_path)


def test_a_case_from_an_exchange_gives_the_same_answer(engine: Engine, port: str, here: Path, tmp_path: Path) -> None:
    first = Client(engine, "ci").get(f"/s/ci/v1/consents/{CONSENT}/status?x=1", headers={"PSU-ID": "anna"})
    result = run("new-case", "--from-journal", "1", "--port", port)
    assert result.exit_code == 0, result.output
    file = here / "cassettes/cases/consent-status-1.yaml"
    assert f"{file.relative_to(here)} written. Edit it" in result.output

    assert [str(p) for p in check(settings(tmp_path), [])] == []
    client = Client(build.build(settings(tmp_path)))
    again = client.get(f"/v1/consents/{CONSENT}/status?x=1", headers={"PSU-ID": "anna"})
    assert (again.status, again.json(), again.headers["x-sandbox-rule"]) == (200, first.json(), "consent-status-1")
    other = client.get(f"/v1/consents/{CONSENT}/status?x=1", headers={"PSU-ID": "bert"})
    assert other.headers["x-sandbox-rule"] == "consent-status"


def test_a_case_can_be_made_from_a_refused_request_with_a_body(
    engine: Engine, port: str, here: Path, tmp_path: Path
) -> None:
    sent = {"access": {}, "amount": 1.1, "text": "a: b # {{ c }}"}
    first = Client(engine).post("/v1/consents", json=sent)
    assert run("new-case", "--from-journal", "1", "--to", "mine.yaml", "--port", port).exit_code == 0
    assert [str(p) for p in check(settings(tmp_path), [here / "mine.yaml"])] == []
    client = Client(build.build(Settings(state="memory:", confdir=tmp_path, cassettes=(here / "mine.yaml",))))
    again = client.post("/v1/consents", json=sent)
    assert (again.status, again.json()) == (first.status, first.json())
    assert again.headers["x-sandbox-rule"] == "create-consent-1"


def test_numbers_keep_the_digits_that_were_sent(engine: Engine, port: str, here: Path) -> None:
    Client(engine).post("/v1/consents", body=b'{"rate": 12345678901234567.10}')
    assert run("new-case", "--from-journal", "1", "--to", "mine.yaml", "--port", port).exit_code == 0
    assert (here / "mine.yaml").read_text().count("rate: 12345678901234567.10") == 2


def test_the_id_is_unique_and_no_file_is_overwritten(engine: Engine, port: str, here: Path) -> None:
    Client(engine).get("/v1/accounts")
    assert run("new-case", "--from-journal", "1", "--port", port).exit_code == 0
    again = run("new-case", "--from-journal", "1", "--port", port)
    assert again.exit_code == 2
    assert "nothing was written" in again.output
    assert len(list(here.rglob("*.yaml"))) == 1


def test_exchanges_that_cannot_become_a_case(engine: Engine, port: str, here: Path) -> None:
    gone = run("new-case", "--from-journal", "7", "--port", port)
    assert (gone.exit_code, "the journal has no exchange 7" in gone.output) == (2, True)
    Client(engine).post("/v1/consents", body=b" " * 100_000)
    large = run("new-case", "--from-journal", "1", "--port", port)
    assert (large.exit_code, "has only a part of it" in large.output) == (2, True)
    assert not list(here.rglob("*.yaml"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give METHOD and PATH, or use --from-journal N"),
        (["GET"], "give METHOD and PATH, or use --from-journal N"),
        (["GET", "/v1/accounts", "--from-journal", "1"], "use either --from-journal or METHOD, not both"),
        (["--from-journal", "1", "--status", "403"], "use either --from-journal or --status, not both"),
        (["--from-journal", "0"], "0 is not in the range"),
    ],
)
def test_mistakes(words: list[str], message: str) -> None:
    result = run("new-case", *words)
    assert result.exit_code == 2
    assert message in result.output


def test_init_in_the_working_directory_prints_no_cd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main.cli, ["init", "."])
    assert (told.exit_code, told.output.splitlines()[-1]) == (0, "  xs2a-sandbox serve")
