"""Build an engine from settings."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract import facts
from tests.support.engine_client import Client
from xs2a_sandbox.bank.loading import check, data_files, read
from xs2a_sandbox.bundled import are_untouched, bundled, dialects
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


def test_the_bundled_bank_is_built_by_default(tmp_path: Path) -> None:
    assert Client(build(settings(tmp_path))).get(STATUS).json() == {"consentStatus": "valid"}


def test_cases_in_the_working_directory_are_loaded_without_other_parts(tmp_path: Path) -> None:
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


def test_own_test_data_are_used(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.yaml", f"testdata: 2\nconsents: {{{facts.consent()}: null}}\n")

    assert Client(build(settings(tmp_path, testdata=file))).get(STATUS).status == 403


def test_test_data_of_the_dialect_precede_those_next_to_it(tmp_path: Path) -> None:
    empty = "testdata: 2\nreplace: true\n"
    beside = write(Path("cassettes/testdata.yaml"), empty)
    assert data_files(settings(tmp_path)) == [beside.resolve()]

    own = write(Path("cassettes/xs2a-1.84/testdata.yaml"), empty)
    assert data_files(settings(tmp_path)) == [own.resolve()]
    assert data_files(settings(tmp_path, dialect="berlin-group-1.3")) == [beside.resolve()]

    write(Path("cassettes/mine/a.yaml"), "cassette: 1\nextends: xs2a-1.84\n")
    mine = settings(tmp_path, dialect="mine")
    assert data_files(mine, foundation=[bundled("cassettes") / "xs2a-1.84"]) == [own.resolve()]
    assert data_files(mine, foundation=[bundled("cassettes") / "berlin-group-1.3"]) == [beside.resolve()]

    beside.unlink()
    assert data_files(settings(tmp_path, dialect="berlin-group-1.3"))[0].parent.name == "berlin-group-1.3"


def test_an_unknown_dialect_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope.*xs2a-1\.84"):
        build(settings(tmp_path, dialect="nope"))


def test_mistakes_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    write(tmp_path / "a" / "a.yaml", CASE.replace("consent-status", "nope"))
    data = write(tmp_path / "data.yaml", "testdata: 2\nwrong: 1\n")
    configured = settings(tmp_path, cassettes=(tmp_path / "a",), testdata=data)

    with pytest.raises(Unreadable) as error:
        build(configured)

    assert {problem.file.name for problem in error.value.problems} == {"a.yaml", "data.yaml"}
    assert [str(p) for p in check(configured, [])] == [str(p) for p in error.value.problems]


@pytest.mark.parametrize("dialect", dialects())
def test_trusted_files_have_no_mistakes(tmp_path: Path, dialect: str) -> None:
    assert check(settings(tmp_path, dialect=dialect), []) == []


def test_schemas_of_the_user_are_not_trusted(tmp_path: Path) -> None:
    write(Path("schemas/mine.schema.json"), '{"type": "nothing"}')

    with pytest.raises(Unreadable, match="mine"):
        build(settings(tmp_path))


def test_bundled_files_in_the_working_directory_are_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout the user edits these files."""
    files = [bundled("cassettes") / "testdata.yaml", bundled("schemas")]
    assert are_untouched(files)

    monkeypatch.chdir(bundled("cassettes").parent)
    assert not are_untouched(files)


def test_reset_deletes_the_stored_state(tmp_path: Path) -> None:
    state = f"sqlite:{tmp_path / 'state.db'}"
    assert Client(build(settings(tmp_path, state=state))).delete(STATUS.removesuffix("/status")).status == 204

    assert Client(build(settings(tmp_path, state=state))).get(STATUS).status == 403
    assert Client(build(settings(tmp_path, state=state, reset=True))).get(STATUS).status == 200


def test_an_unusable_state_file_is_a_mistake(tmp_path: Path) -> None:
    file = write(tmp_path / "state.db", "no database " * 200)

    with pytest.raises(UserMistake, match="--state"):
        build(settings(tmp_path, state=f"sqlite:{file}"))


def test_redirect_links_use_the_public_url(tmp_path: Path) -> None:
    client = Client(build(settings(tmp_path, public_url="https://bank.test/x"))).named("ci")
    body = {"access": {"availableAccounts": "allAccounts"}, "recurringIndicator": False}

    made = client.post("/v1/consents", json={**body, "validUntil": "9999-12-31", "frequencyPerDay": 1}).json()

    assert made["_links"]["scaRedirect"]["href"].startswith("https://bank.test/x/s/ci/sca/consents?consent_id=")
    assert made["_links"]["self"]["href"].startswith("/v1/consents/")


def test_valid_files_are_read_despite_mistakes_in_others(tmp_path: Path) -> None:
    data = write(tmp_path / "data.yaml", "testdata: 2\nwrong: 1\n")
    case = write(tmp_path / "case.yaml", CASE)

    files = read(settings(tmp_path), [data, case])

    assert files.interface
    assert files.interface.entry("mine")
    assert files.testdata is None
    assert (files.layers[-1], files.data[-1]) == ([case], data)
    assert [problem.code for problem in files.problems] == ["unknown-key"]
