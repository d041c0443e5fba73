"""Whoever reads a folder that somebody else has made shows nothing from beside it, and neither hangs nor fills up."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.engine_client import Client
from xs2a_sandbox.bank import loading, testdata
from xs2a_sandbox.clock import REAL
from xs2a_sandbox.config import Settings
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.engine import build
from xs2a_sandbox.engine.reload import Reload
from xs2a_sandbox.errors import ConfigError, Unreadable
from xs2a_sandbox.features.authoring import init_files as starter
from xs2a_sandbox.features.derive import derive
from xs2a_sandbox.features.importing import wiremock
from xs2a_sandbox.recording import har_log

SECRET = "TOP-SECRET"
COMMAND = [str(Path(sys.executable).with_name("xs2a-sandbox"))]
PATIENCE = 60


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A file that is nobody's business: YAML, JSON and HAR would all quote its first line."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}: [\n")
    return file


@pytest.fixture
def cases(tmp_path: Path, beside: Path) -> Path:
    folder = tmp_path / "cases"
    folder.mkdir()
    return folder


def case(folder: Path, file: str) -> None:
    folder.joinpath("case.yaml").write_text(
        "cassette: 1\ntitle: A case\nrules:\n"
        f"  - {{id: leak, match: {{path: /leak}}, respond: {{file: {json.dumps(file)}}}}}\n"
    )


def link(folder: Path, beside: Path) -> None:
    (folder / "stolen.yaml").symlink_to(beside)


def pipe(folder: Path, beside: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")


def piped_answer(folder: Path, beside: Path) -> None:
    os.mkfifo(folder / "pipe")
    case(folder, "pipe")


TRAPS: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "a path": (
        lambda folder, _: case(folder, "../secret"),
        "case.yaml:4:54: error answer: ../secret cannot be read: it leads out",
    ),
    "an absolute path": (lambda folder, beside: case(folder, str(beside)), "it leads out of the folder"),
    "a device": (lambda folder, _: case(folder, "/dev/zero"), "/dev/zero cannot be read: it leads out of the folder"),
    "a pipe to answer with": (piped_answer, "pipe cannot be read: it is no regular file but a pipe"),
    "a link": (link, "stolen.yaml:1:1: error unreadable: cannot be read: it leads out of the folder"),
    "a pipe": (pipe, "pipe.yaml:1:1: error unreadable: cannot be read: it is no regular file but a pipe"),
}
trapped = pytest.mark.parametrize("trap", TRAPS)


@pytest.mark.by_turns("command", "trap")
@trapped
@pytest.mark.parametrize("command", ["lint", "serve"])
def test_commands_refuse_a_folder_with_traps(
    command: str, trap: str, cases: Path, beside: Path, tmp_path: Path
) -> None:
    make, reason = TRAPS[trap]
    make(cases, beside)
    arguments = ["lint", str(cases)] if command == "lint" else ["serve", "--cassettes", str(cases), "--port", "0"]

    run = subprocess.run(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        env={**os.environ, "XS2A_SANDBOX_CONFDIR": str(tmp_path / "confdir")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert run.returncode in (1, 2)
    assert reason in run.stdout + run.stderr
    assert SECRET not in run.stdout + run.stderr
    assert "Traceback" not in run.stderr


@trapped
def test_a_trap_that_is_laid_while_the_sandbox_runs(trap: str, cases: Path, beside: Path, tmp_path: Path) -> None:
    make, reason = TRAPS[trap]
    settings = Settings(state="memory:", confdir=tmp_path / "confdir", cassettes=(cases,))
    cases.joinpath("good.yaml").write_text(
        "cassette: 1\ntitle: Good\nrules: [{id: good, match: {path: /good}, respond: {text: good}}]\n"
    )
    engine, lines = build.build(settings), []
    reload = Reload(engine, settings, lambda: settings, lambda text, level="info": lines.append(text))
    make(cases, beside)
    cases.joinpath("good.yaml").touch()

    asyncio.run(asyncio.wait_for(reload._look(), PATIENCE))

    (text,) = lines
    assert reason in text
    assert "kept what was loaded before" in text
    assert SECRET not in text
    assert Client(engine).get("/good").body == b"good"
    assert Client(engine).get("/leak").status == 404


def test_what_one_cassette_answers_with_is_limited_as_a_whole(
    cases: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("xs2a_sandbox.cassette.reader.LARGEST_TOGETHER", 1024 * 1024)
    for name in ("a", "b"):
        cases.joinpath(name).write_bytes(bytes(600 * 1024))
    rules = [{"id": f"r{i}", "match": {"path": f"/r{i}"}, "respond": {"file": name}} for i, name in enumerate("aaab")]
    cases.joinpath("case.yaml").write_text(json.dumps({"cassette": 1, "title": "Large", "rules": rules}))

    (problem,) = loading.check(Settings(confdir=tmp_path / "confdir"), [cases])

    assert problem.text == "b cannot be read: the files of one cassette may be 1 MiB together"


@pytest.mark.parametrize("make", [link, pipe])
def test_test_data(make: Callable[[Path, Path], None], cases: Path, beside: Path) -> None:
    make(cases, beside)
    (file,) = cases.iterdir()

    with pytest.raises(Unreadable) as failure:
        testdata.load([file])

    assert failure.value.problems[0].code == "unreadable"
    assert SECRET not in str(failure.value)


def test_schemas(cases: Path, beside: Path) -> None:
    beside.with_name("beside.schema.json").write_text("{}")
    (cases / "linked.schema.json").symlink_to(beside)
    os.mkfifo(cases / "pipe.schema.json")
    schemas = Schemas([cases])

    for name in ("../beside", str(beside.with_name("beside")), "below/../../beside"):
        assert name not in schemas
    for name, reason in (("linked", "it leads out of the folder"), ("pipe", "it is no regular file but a pipe")):
        with pytest.raises(Unreadable, match=reason):
            schemas[name]


@pytest.mark.parametrize("make", [link, pipe])
def test_derived_rules_beside_which_something_lies(
    make: Callable[[Path, Path], None], tmp_path: Path, beside: Path
) -> None:
    cassettes = tmp_path / "recording" / derive.CASSETTES
    cassettes.mkdir(parents=True)
    make(cassettes, beside)
    raw = tmp_path / "recording" / har_log.RAW
    raw.mkdir()
    (raw / "20260101T000000Z-1.har.jsonl").write_text('{"log": {}}\n')

    with pytest.raises(Unreadable) as failure:
        derive.derive(tmp_path / "recording", None)

    assert SECRET not in str(failure.value)


@pytest.mark.parametrize(("make", "said"), [(link, "it leads out of the folder"), (pipe, "it is no regular file")])
def test_recordings(make: Callable[[Path, Path], None], said: str, cases: Path, beside: Path) -> None:
    make(cases, beside)
    (file,) = cases.iterdir()

    for read in (har_log.read_raw, har_log.read_head):
        with pytest.raises(ConfigError, match=said):
            read(file)


def test_stub_mappings(cases: Path, beside: Path) -> None:
    (cases / "__files").mkdir()
    (cases / "mappings").mkdir()
    (cases / "mappings" / "linked.json").symlink_to(beside)
    with pytest.raises(ConfigError, match="it leads out of the folder") as failure:
        wiremock.rules(wiremock.read_directory(cases), None, REAL.now())
    assert SECRET not in str(failure.value)

    (cases / "mappings" / "linked.json").unlink()
    os.mkfifo(cases / "mappings" / "pipe.json")
    with pytest.raises(ConfigError, match="it is no regular file but a pipe"):
        wiremock.rules(wiremock.read_directory(cases), None, REAL.now())

    (cases / "mappings" / "pipe.json").unlink()
    (cases / "__files" / "linked").symlink_to(beside)
    os.mkfifo(cases / "__files" / "pipe")
    for name, reason in (("linked", "it leads out of the folder"), ("pipe", "its body's file is not in")):
        mapping = {"request": {"method": "GET", "url": "/a"}, "response": {"bodyFileName": name}}
        (cases / "mappings" / "a.json").write_text(json.dumps(mapping))
        imported = wiremock.rules(wiremock.read_directory(cases), None, REAL.now())
        assert (imported.rules, imported.bodies) == ((), {})
        assert reason in imported.left_out[0]


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_an_import_neither_waits_nor_goes_on_for_ever(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    run = subprocess.run(
        [*COMMAND, "import", str(tmp_path / name), "--to", str(tmp_path / "out")],
        cwd=tmp_path,
        env={**os.environ, "XS2A_SANDBOX_CONFDIR": str(tmp_path / "confdir")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert run.returncode == 2
    assert "it is no regular file" in run.stderr


def test_settings_that_are_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "xs2a-sandbox.yaml")

    run = subprocess.run(
        [*COMMAND, "testdata"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert run.returncode == 2
    assert "xs2a-sandbox.yaml: it is no regular file but a pipe" in run.stderr


def test_what_init_copies(tmp_path: Path, beside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "stolen.yaml").symlink_to(beside)
    monkeypatch.setattr(starter, "bundled", lambda _: source)

    with pytest.raises(ConfigError, match="it leads out of the folder"):
        starter.write(tmp_path / "own")

    assert not (tmp_path / "own").exists()
