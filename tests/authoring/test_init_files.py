"""The files that `init` writes."""

import shutil
from datetime import datetime
from ipaddress import ip_network
from pathlib import Path

import pytest
import yaml

from xs2a_sandbox.bank import loading
from xs2a_sandbox.bundled import QUIRKS, SCA_PAGES, SCENARIOS, bundled
from xs2a_sandbox.clock import BANK_ZONE
from xs2a_sandbox.config import Settings, settings
from xs2a_sandbox.config.known_banks import known_banks
from xs2a_sandbox.config.readers import quirk_files
from xs2a_sandbox.config.table import SETTINGS
from xs2a_sandbox.documents.yaml_reader import parse
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.authoring import init_files as starter
from xs2a_sandbox.features.authoring.lint import check


def files(directory: Path) -> dict[Path, bytes]:
    return {
        file.relative_to(directory): file.read_bytes()
        for file in directory.rglob("*")
        if file.is_file() and not file.name.startswith(".") and not {SCENARIOS, QUIRKS, SCA_PAGES} & {*file.parts}
    }


def test_init_writes_the_bundled_files_and_the_settings(tmp_path: Path) -> None:
    new = tmp_path / "new/place"

    listed = starter.write(new)

    assert {file.relative_to(new) for file in listed} == files(new).keys()
    for name in ("cassettes", "schemas"):
        assert files(new / name) == files(bundled(name))
    assert (new / "cassettes/cases").is_dir()
    assert settings.load({}, {}, new) == Settings()


def test_init_does_not_copy_local_cases_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(bundled("cassettes"), checkout)
    (checkout / "cases/mine.yaml").write_text("cassette: 1\nruls: []\n")
    monkeypatch.setattr(starter, "bundled", lambda name: checkout if name == "cassettes" else bundled(name))
    monkeypatch.setattr(loading, "bundled", lambda name: checkout if name == "cassettes" else bundled(name))
    monkeypatch.chdir(tmp_path)

    assert tmp_path / "new/cassettes/cases/example.yaml" in starter.write(tmp_path / "new")
    assert not (tmp_path / "new/cassettes/cases/mine.yaml").exists()
    assert loading.read(Settings()).problems == []


def test_the_settings_are_valid_if_uncommented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my-testdata.yaml").touch()
    (tmp_path / "my-ca.pem").touch()
    (tmp_path / "my-redaction.yaml").write_text("redaction: 1\n")
    text = starter.settings()
    active = "\n".join(line[1:] if line.startswith("#") and line[1] != " " else line for line in text.splitlines())
    assert list(parse(active, Path("x")).value) == [setting.name for setting in SETTINGS]
    (tmp_path / settings.FILE).write_text(active)

    assert settings.load({}, {}, tmp_path) == Settings(
        like="n26",
        quirk=quirk_files(known_banks()["n26"].quirks, tmp_path),
        testdata=tmp_path / "my-testdata.yaml",
        redaction=tmp_path / "my-redaction.yaml",
        frozen_at=datetime(2026, 11, 21, 9, tzinfo=BANK_ZONE),
        seed="spring",
        public_url="http://localhost:8081",
        proxy_auth="user:password",
        client_cert_header="X-SSL-Client-Cert",
        client_cert_from=(ip_network("127.0.0.1"),),
        callback_host=("localhost", ip_network("172.17.0.0/16")),
        callback_ca=tmp_path / "my-ca.pem",
        app_command=("pytest", "tests/bank"),
        bank="https://api.bank.example/psd2",
        to=tmp_path / "recordings",
    )
    assert yaml.safe_load(text) is None


def test_init_overwrites_nothing_and_writes_nothing_if_a_file_exists(tmp_path: Path) -> None:
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes/testdata.yaml").write_text("mine")
    (tmp_path / "xs2a-sandbox.yaml").write_text("port: 1")
    (tmp_path / "schemas").write_text("a file where a folder would be")
    before = files(tmp_path)

    with pytest.raises(UserMistake) as caught:
        starter.write(tmp_path)

    in_the_way = [str(tmp_path / name) for name in ("cassettes/testdata.yaml", "schemas", "xs2a-sandbox.yaml")]
    assert str(caught.value).splitlines()[1:] == [f"  {name}" for name in in_the_way]
    assert files(tmp_path) == before


def test_a_broken_link_also_prevents_init(tmp_path: Path) -> None:
    (tmp_path / "xs2a-sandbox.yaml").symlink_to("nowhere")

    with pytest.raises(UserMistake, match="already exist"):
        starter.write(tmp_path)


def dialect_in(directory: Path, name: str = "mybank", base: str = "berlin-group-1.3") -> Path:
    starter.write_dialect(directory, name, base)
    return directory / "cassettes" / name / "dialect.yaml"


def problems_in(directory: Path, monkeypatch: pytest.MonkeyPatch, name: str = "mybank") -> list[str]:
    monkeypatch.chdir(directory)
    return [str(problem) for problem in check(settings.load({"dialect": name, "state": "memory:"}, {}, directory))]


@pytest.mark.parametrize("base", ["berlin-group-1.3", "xs2a-1.84"])
def test_a_new_dialect_has_no_lint_problems(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = dialect_in(tmp_path, base=base)
    assert "\nextends: " + base + "\n" in file.read_text()
    assert "\ntestdata: 2\n" in (file.parent / "testdata.yaml").read_text()
    assert problems_in(tmp_path, monkeypatch) == []
    assert settings.load({}, {}, tmp_path).dialect == "mybank"
    schema = file.read_text().splitlines()[0].partition("$schema=")[2]
    assert (file.parent / schema).resolve().is_file()


def test_the_commented_examples_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = dialect_in(tmp_path)
    lines = file.read_text().splitlines()
    active = [line[1:] if line.startswith("#") and line[1:2] != " " else line for line in lines]
    active = [line[1:] if line.startswith("#  ") else line for line in active]
    file.write_text("\n".join(active) + "\n")
    assert problems_in(tmp_path, monkeypatch) == []
    for key in ("without:", "changes:", "every_answer:", "sca_pages:", "operations:"):
        assert any(line.startswith(key) for line in active), key


def test_a_dialect_can_extend_another_one_in_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dialect_in(tmp_path)
    before = files(tmp_path)
    dialect_in(tmp_path, "second", "mybank")
    assert problems_in(tmp_path, monkeypatch, "second") == []
    assert {name: files(tmp_path)[name] for name in before} == before


@pytest.mark.parametrize(
    ("name", "base", "text"),
    [
        (
            "mybank",
            "berlin-grup-1.3",
            "unknown dialect 'berlin-grup-1.3' to extend; did you mean berlin",
        ),
        ("mybank", "mybank", "unknown dialect 'mybank' to extend; the dialects are berlin-group-1.3, "),
        ("berlin-group-1.3", "xs2a-1.84", "the dialect berlin-group-1.3 already exists in "),
        ("cases", "xs2a-1.84", "'cases' cannot be the name of a dialect"),
        ("../other", "xs2a-1.84", "'../other' cannot be the name of a dialect"),
        ("", "xs2a-1.84", "'' cannot be the name of a dialect"),
    ],
)
def test_invalid_names_are_reported_and_nothing_is_written(name: str, base: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(UserMistake) as raised:
        starter.write_dialect(tmp_path, name, base)
    assert str(raised.value).startswith(text)
    assert files(tmp_path) == {}


def test_an_existing_dialect_is_kept(tmp_path: Path) -> None:
    dialect_in(tmp_path).write_text("mine")
    with pytest.raises(UserMistake, match="the dialect mybank already exists in "):
        dialect_in(tmp_path)
    assert (tmp_path / "cassettes/mybank/dialect.yaml").read_text() == "mine"
