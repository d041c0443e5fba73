"""Reading a folder from other people does not reveal files outside of it, does not hang, and uses limited memory."""

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
def outside_file(tmp_path: Path) -> Path:
    """Return a file outside of the folder. Errors of YAML, JSON and HAR would quote its first line."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}: [\n")
    return file


@pytest.fixture
def cases(tmp_path: Path, outside_file: Path) -> Path:
    folder = tmp_path / "cases"
    folder.mkdir()
    return folder


def case(folder: Path, file: str) -> None:
    folder.joinpath("case.yaml").write_text(
        "cassette: 1\ntitle: A case\nrules:\n"
        f"  - {{id: leak, match: {{path: /leak}}, respond: {{file: {json.dumps(file)}}}}}\n"
    )


def link(folder: Path, outside_file: Path) -> None:
    (folder / "stolen.yaml").symlink_to(outside_file)


def pipe(folder: Path, outside_file: Path) -> None:
    os.mkfifo(folder / "pipe.yaml")


def piped_answer(folder: Path, outside_file: Path) -> None:
    os.mkfifo(folder / "pipe")
    case(folder, "pipe")


TRAPS: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "a path": (
        lambda folder, _: case(folder, "../secret"),
        "case.yaml:4:54: error answer: ../secret cannot be read: it resolves to",
    ),
    "an absolute path": (lambda folder, outside_file: case(folder, str(outside_file)), "it resolves to"),
    "a device": (lambda folder, _: case(folder, "/dev/zero"), "/dev/zero cannot be read: it resolves to"),
    "a pipe to answer with": (piped_answer, "pipe cannot be read: it is not a regular file but a pipe"),
    "a link": (link, "stolen.yaml:1:1: error unreadable: cannot be read: it resolves to"),
    "a pipe": (pipe, "pipe.yaml:1:1: error unreadable: cannot be read: it is not a regular file but a pipe"),
}
trapped = pytest.mark.parametrize("trap", TRAPS)


@pytest.mark.by_turns("command", "trap")
@trapped
@pytest.mark.parametrize("command", ["lint", "serve"])
def test_commands_refuse_a_folder_with_traps(
    command: str, trap: str, cases: Path, outside_file: Path, tmp_path: Path
) -> None:
    make, reason = TRAPS[trap]
    make(cases, outside_file)
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
def test_a_trap_added_while_the_sandbox_runs_is_refused(
    trap: str, cases: Path, outside_file: Path, tmp_path: Path
) -> None:
    make, reason = TRAPS[trap]
    settings = Settings(state="memory:", confdir=tmp_path / "confdir", cassettes=(cases,))
    cases.joinpath("good.yaml").write_text(
        "cassette: 1\ntitle: Good\nrules: [{id: good, match: {path: /good}, respond: {text: good}}]\n"
    )
    engine, lines = build.build(settings), []
    reload = Reload(engine, settings, lambda: settings, lambda text, level="info": lines.append(text))
    make(cases, outside_file)
    cases.joinpath("good.yaml").touch()

    asyncio.run(asyncio.wait_for(reload._look(), PATIENCE))

    (text,) = lines
    assert reason in text
    assert "the files that were loaded before stay in use" in text
    assert SECRET not in text
    assert Client(engine).get("/good").body == b"good"
    assert Client(engine).get("/leak").status == 404


def test_the_answer_files_of_one_cassette_are_limited_in_total(
    cases: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("xs2a_sandbox.cassette.reader.LARGEST_TOGETHER", 1024 * 1024)
    for name in ("a", "b"):
        cases.joinpath(name).write_bytes(bytes(600 * 1024))
    rules = [{"id": f"r{i}", "match": {"path": f"/r{i}"}, "respond": {"file": name}} for i, name in enumerate("aaab")]
    cases.joinpath("case.yaml").write_text(json.dumps({"cassette": 1, "title": "Large", "rules": rules}))

    (problem,) = loading.check(Settings(confdir=tmp_path / "confdir"), [cases])

    assert problem.text == "b cannot be read: the body files of one cassette must not exceed 1 MiB in total"


@pytest.mark.parametrize("make", [link, pipe])
def test_traps_in_test_data_are_refused(make: Callable[[Path, Path], None], cases: Path, outside_file: Path) -> None:
    make(cases, outside_file)
    (file,) = cases.iterdir()

    with pytest.raises(Unreadable) as failure:
        testdata.load([file])

    assert failure.value.problems[0].code == "unreadable"
    assert SECRET not in str(failure.value)


def test_traps_in_schemas_are_refused(cases: Path, outside_file: Path) -> None:
    outside_file.with_name("beside.schema.json").write_text("{}")
    (cases / "linked.schema.json").symlink_to(outside_file)
    os.mkfifo(cases / "pipe.schema.json")
    schemas = Schemas([cases])

    for name in ("../beside", str(outside_file.with_name("beside")), "below/../../beside"):
        assert name not in schemas
    for name, reason in (("linked", "it resolves to"), ("pipe", "it is not a regular file but a pipe")):
        with pytest.raises(Unreadable, match=reason):
            schemas[name]


@pytest.mark.parametrize("make", [link, pipe])
def test_traps_next_to_derived_rules_are_refused(
    make: Callable[[Path, Path], None], tmp_path: Path, outside_file: Path
) -> None:
    cassettes = tmp_path / "recording" / derive.CASSETTES
    cassettes.mkdir(parents=True)
    make(cassettes, outside_file)
    raw = tmp_path / "recording" / har_log.RAW
    raw.mkdir()
    (raw / "20260101T000000Z-1.har.jsonl").write_text('{"log": {}}\n')

    with pytest.raises(Unreadable) as failure:
        derive.derive(tmp_path / "recording", None)

    assert SECRET not in str(failure.value)


@pytest.mark.parametrize(("make", "reason"), [(link, "it resolves to"), (pipe, "it is not a regular file")])
def test_traps_in_recordings_are_refused(
    make: Callable[[Path, Path], None], reason: str, cases: Path, outside_file: Path
) -> None:
    make(cases, outside_file)
    (file,) = cases.iterdir()

    for read in (har_log.read_raw, har_log.read_head):
        with pytest.raises(ConfigError, match=reason):
            read(file)


def test_traps_in_stub_mappings_are_refused(cases: Path, outside_file: Path) -> None:
    (cases / "__files").mkdir()
    (cases / "mappings").mkdir()
    (cases / "mappings" / "linked.json").symlink_to(outside_file)
    with pytest.raises(ConfigError, match="it resolves to") as failure:
        wiremock.rules(wiremock.read_directory(cases), None, REAL.now())
    assert SECRET not in str(failure.value)

    (cases / "mappings" / "linked.json").unlink()
    os.mkfifo(cases / "mappings" / "pipe.json")
    with pytest.raises(ConfigError, match="it is not a regular file but a pipe"):
        wiremock.rules(wiremock.read_directory(cases), None, REAL.now())

    (cases / "mappings" / "pipe.json").unlink()
    (cases / "__files" / "linked").symlink_to(outside_file)
    os.mkfifo(cases / "__files" / "pipe")
    for name, reason in (("linked", "it resolves to"), ("pipe", "its body file is not in")):
        mapping = {"request": {"method": "GET", "url": "/a"}, "response": {"bodyFileName": name}}
        (cases / "mappings" / "a.json").write_text(json.dumps(mapping))
        imported = wiremock.rules(wiremock.read_directory(cases), None, REAL.now())
        assert (imported.rules, imported.bodies) == ((), {})
        assert reason in imported.left_out[0]


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_an_import_ends_in_limited_time(name: str, tmp_path: Path) -> None:
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
    assert "it is not a regular file" in run.stderr


def test_a_settings_file_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "xs2a-sandbox.yaml")

    run = subprocess.run(
        [*COMMAND, "testdata"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert run.returncode == 2
    assert "xs2a-sandbox.yaml: it is not a regular file but a pipe" in run.stderr


def test_init_does_not_copy_a_link_out_of_the_folder(
    tmp_path: Path, outside_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "stolen.yaml").symlink_to(outside_file)
    monkeypatch.setattr(starter, "bundled", lambda _: source)

    with pytest.raises(ConfigError, match="it resolves to"):
        starter.write(tmp_path / "own")

    assert not (tmp_path / "own").exists()
