"""From settings to an engine."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import facts
from tests.support.engine_client import Client
from xs2a_sandbox.bank.loading import check, data_files, read
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine.build import build
from xs2a_sandbox.errors import ConfigError, Unreadable, UserMistake

STATUS = f"/v1/consents/{facts.consent()}/status"
CASE = "cassette: 1\ntitle: t\nrules: [{id: mine, match: {operation: consent-status}, respond: {body: {who: WHO}}}]\n"


@pytest.fixture(autouse=True)
def empty_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def settings(tmp_path: Path, **values: Any) -> Settings:
    return Settings(**{"state": "memory:", "confdir": tmp_path / "conf", **values})


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_the_bundled_bank(tmp_path: Path) -> None:
    assert Client(build(settings(tmp_path))).get(STATUS).json() == {"consentStatus": "valid"}


def test_each_part_in_the_working_directory_is_taken_alone(tmp_path: Path) -> None:
    write(Path("cassettes/cases/mine.yaml"), CASE.replace("WHO", "here"))

    client = Client(build(settings(tmp_path)))

    assert client.get(STATUS).json() == {"who": "here"}
    assert client.get("/v1/accounts", consent=facts.consent()).status == 200


def test_later_directories_win(tmp_path: Path) -> None:
    write(Path("cassettes/cases/mine.yaml"), CASE.replace("WHO", "cases"))
    for name in ("a", "b"):
        write(tmp_path / name / "deep" / "x.yaml", CASE.replace("WHO", name))

    client = Client(build(settings(tmp_path, cassettes=(tmp_path / "b", tmp_path / "a"))))

    assert client.get(STATUS).json() == {"who": "a"}


def test_test_data_of_ones_own(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.yaml", f"testdata: 2\nconsents: {{{facts.consent()}: null}}\n")

    assert Client(build(settings(tmp_path, testdata=file))).get(STATUS).status == 403


def test_the_test_data_of_the_dialect_come_before_those_beside_it(tmp_path: Path) -> None:
    empty = "testdata: 2\nreplace: true\n"
    beside = write(Path("cassettes/testdata.yaml"), empty)
    assert data_files(settings(tmp_path)) == [beside.resolve()]

    own = write(Path("cassettes/xs2a-1.84/testdata.yaml"), empty)
    assert data_files(settings(tmp_path)) == [own.resolve()]
    assert data_files(settings(tmp_path, dialect="berlin-group-1.3")) == [beside.resolve()]

    beside.unlink()
    assert data_files(settings(tmp_path, dialect="berlin-group-1.3"))[0].parent.name == "berlin-group-1.3"


def test_a_dialect_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope.*xs2a-1\.84"):
        build(settings(tmp_path, dialect="nope"))


def test_all_mistakes_of_all_files(tmp_path: Path) -> None:
    write(tmp_path / "a" / "a.yaml", CASE.replace("consent-status", "nope"))
    data = write(tmp_path / "data.yaml", "testdata: 2\nwrong: 1\n")
    configured = settings(tmp_path, cassettes=(tmp_path / "a",), testdata=data)

    with pytest.raises(Unreadable) as error:
        build(configured)

    assert {problem.file.name for problem in error.value.problems} == {"a.yaml", "data.yaml"}
    assert [str(p) for p in check(configured, [])] == [str(p) for p in error.value.problems]


def test_reset_forgets_what_was_kept(tmp_path: Path) -> None:
    state = f"sqlite:{tmp_path / 'state.db'}"
    assert Client(build(settings(tmp_path, state=state))).delete(STATUS.removesuffix("/status")).status == 204

    assert Client(build(settings(tmp_path, state=state))).get(STATUS).status == 403
    assert Client(build(settings(tmp_path, state=state, reset=True))).get(STATUS).status == 200


def test_a_state_that_cannot_be_used(tmp_path: Path) -> None:
    file = write(tmp_path / "state.db", "no database " * 200)

    with pytest.raises(UserMistake, match="--state"):
        build(settings(tmp_path, state=f"sqlite:{file}"))


def test_links_lead_to_the_public_url(tmp_path: Path) -> None:
    client = Client(build(settings(tmp_path, public_url="https://bank.test/x"))).named("ci")
    body = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": False}

    made = client.post("/v1/consents", json={**body, "validUntil": "9999-12-31", "frequencyPerDay": 1}).json()

    assert made["_links"]["scaRedirect"]["href"].startswith("https://bank.test/x/s/ci/sca/consents?consent_id=")
    assert made["_links"]["self"]["href"].startswith("/v1/consents/")


def test_files_are_read_as_far_as_they_can_be(tmp_path: Path) -> None:
    data = write(tmp_path / "data.yaml", "testdata: 2\nwrong: 1\n")
    case = write(tmp_path / "case.yaml", CASE)

    files = read(settings(tmp_path), [data, case])

    assert files.interface
    assert files.interface.entry("mine")
    assert files.testdata is None
    assert (files.layers[-1], files.data[-1]) == ([case], data)
    assert [problem.code for problem in files.problems] == ["unknown-key"]
