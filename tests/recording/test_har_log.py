import asyncio
import errno
import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.program import program
from tests.support.taping import START, URL, tape, taped
from xs2a_sandbox.errors import ConfigError, RecordingFailed
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.har_log import Recording, export, raw_files, read_head, read_raw

HEAD = {"bank": URL, "redacted": "1a2b3c4d"}


def record(directory: Path, *entries: Exchange) -> Path:
    async def add() -> None:
        for entry in entries:
            await recording.add(entry)

    recording = Recording(directory, None, HEAD)
    asyncio.run(add())
    assert recording.file
    recording.close()
    return recording.file


def targets(file: Path) -> list[str]:
    return [entry.target for entry in read_raw(file)]


def test_no_folder_is_created_before_the_first_exchange(tmp_path: Path) -> None:
    Recording(tmp_path / "tape", None, HEAD).close()
    assert not (tmp_path / "tape").exists()


def test_a_recording_without_exchanges_is_removed(tmp_path: Path) -> None:
    recording = Recording(tmp_path, None, HEAD)
    recording.check()
    assert raw_files(tmp_path) == [recording.file]
    recording.close()
    assert raw_files(tmp_path) == []


def test_each_exchange_is_a_complete_line_when_add_returns(tmp_path: Path) -> None:
    async def add() -> None:
        for number in range(3):
            await recording.add(taped(f"/v1/{number}"))
            assert recording.file
            assert targets(recording.file)[-1] == f"/v1/{number}"

    recording = Recording(tmp_path / "tape", None, HEAD)
    asyncio.run(add())
    recording.close()

    assert recording.exchanges == 3
    assert recording.file
    head, *lines = recording.file.read_text().splitlines()
    assert json.loads(head)["log"].keys() == {"version", "creator", "comment", "_bank", "_redacted"}
    assert len(lines) == 3
    assert read_head(recording.file) == HEAD


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    file = record(tmp_path / "tape", taped("/v1/a"))

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert file.parent.parent.stat().st_mode & 0o777 == 0o700


def test_concurrent_exchanges_are_not_mixed(tmp_path: Path) -> None:
    async def add() -> None:
        await asyncio.gather(*(recording.add(taped(f"/v1/{n}", "x" * 50_000)) for n in range(20)))

    recording = Recording(tmp_path, None, HEAD)
    asyncio.run(add())
    recording.close()

    assert recording.file
    assert targets(recording.file) == [f"/v1/{n}" for n in range(20)]


def test_an_exchange_is_recorded_even_if_the_client_disconnects(tmp_path: Path) -> None:
    async def go_away() -> None:
        tasks = [asyncio.ensure_future(recording.add(taped(f"/v1/{n}"))) for n in range(3)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*tasks, return_exceptions=True)
        )

    recording = Recording(tmp_path, None, HEAD)
    asyncio.run(go_away())
    recording.close()

    assert recording.file
    assert targets(recording.file) == ["/v1/0", "/v1/1", "/v1/2"]


def test_redacted_values_are_never_written(tmp_path: Path) -> None:
    recording = Recording(tmp_path, lambda entry: replace(entry, target="/v1/hidden"), HEAD)
    asyncio.run(recording.add(taped("/v1/secret")))
    recording.close()

    assert b"secret" not in b"".join(file.read_bytes() for file in raw_files(tmp_path))


def test_an_exchange_that_cannot_be_redacted_is_not_written(tmp_path: Path) -> None:
    def fail(entry: Exchange) -> Exchange:
        raise ZeroDivisionError

    recording = Recording(tmp_path, fail, HEAD)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(recording.add(taped("/v1/secret")))
    recording.close()
    assert raw_files(tmp_path) == []


def test_two_recordings_in_the_same_second_have_different_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xs2a_sandbox.clock.Clock.now", lambda self: START)
    files = [record(tmp_path, taped(f"/v1/{n}")) for n in range(11)]

    assert [file.name for file in files[:2]] == ["20261121T101112Z.har.jsonl", "20261121T101112Z-2.har.jsonl"]
    assert raw_files(tmp_path) == files


@pytest.mark.parametrize("text", ["\ud800", "\u2028\x85\r\n", "ä"])
def test_any_text_can_be_written(text: str, tmp_path: Path) -> None:
    file = record(tmp_path, taped("/v1/a", headers=[("X", text)]), taped("/v1/b"))
    assert [entry.headers.get("X") for entry in read_raw(file)] == [text, None]


# Write errors


def test_a_folder_that_cannot_be_created_is_reported_before_any_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    recording = Recording(tmp_path / "file" / "tape", None, HEAD)
    with pytest.raises(RecordingFailed, match=r"file/tape: .*no request goes to the bank"):
        recording.check()
    with pytest.raises(RecordingFailed):
        asyncio.run(recording.add(taped("/v1/a")))
    recording.close()


def test_check_succeeds_again_after_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(descriptor: int, content: memoryview) -> int:
        if len(content) > 3:
            return write(descriptor, content[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write = os.write
    recording = Recording(tmp_path, None, HEAD)
    asyncio.run(recording.add(taped("/v1/a")))
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", no_room)
        with pytest.raises(RecordingFailed, match="No space left"):
            asyncio.run(recording.add(taped("/v1/b")))
        with pytest.raises(RecordingFailed):
            recording.check()
    recording.check()
    asyncio.run(recording.add(taped("/v1/c")))
    recording.close()

    assert recording.file
    assert targets(recording.file) == ["/v1/a", "/v1/b", "/v1/c"]
    assert (recording.exchanges, recording.lost) == (3, 0)


def test_a_failed_first_line_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    recording = Recording(tmp_path, None, HEAD)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", broken)
        with pytest.raises(RecordingFailed):
            recording.check()
    assert raw_files(tmp_path) == []
    recording.check()
    asyncio.run(recording.add(taped("/v1/a")))
    recording.close()
    assert [read_head(file) for file in raw_files(tmp_path)] == [HEAD]


def test_a_killed_recording_keeps_every_answered_exchange(tmp_path: Path) -> None:
    lines = """
        import asyncio, sys
        from pathlib import Path
        from tests.support.taping import taped
        from xs2a_sandbox.recording.har_log import Recording

        async def add():
            for number in range(100_000):
                await recording.add(taped(f"/v1/{number}", "x" * 5000))
                print(number, flush=True)

        recording = Recording(Path(sys.argv[1]), None, {})
        asyncio.run(add())
    """
    process = program(lines, str(tmp_path))
    assert process.stdout
    answered = [int(process.stdout.readline()) for _ in range(20)]
    process.send_signal(signal.SIGKILL)
    answered += [int(line) for line in process.stdout.read().splitlines()]
    process.wait(30)

    (file,) = raw_files(tmp_path)
    assert set(answered) <= {int(target.rpartition("/")[2]) for target in targets(file)}


# Reading


def test_an_incomplete_line_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tape(tmp_path, taped("/v1/a"), taped("/v1/b"))
    file.write_bytes(file.read_bytes()[:-40])

    assert targets(file) == ["/v1/a"]
    assert f"{file}:3" in caplog.text


def test_an_invalid_line_is_a_mistake(tmp_path: Path) -> None:
    file = tape(tmp_path, taped("/v1/a"))
    file.write_text(file.read_text() + '\n{"request": {}}\n')

    with pytest.raises(
        ConfigError, match=r"har\.jsonl:4: this line is not a valid entry of a recording: request.url is missing"
    ):
        read_raw(file)


def test_other_files_are_ignored(tmp_path: Path) -> None:
    file = tape(tmp_path, taped("/v1/a"))
    (file.parent / "notes.txt").write_text("")
    assert raw_files(tmp_path) == [file]
    assert raw_files(tmp_path / "nowhere") == []


def test_an_export_is_one_document_in_chronological_order(tmp_path: Path) -> None:
    tape(tmp_path, taped("/v1/late", at=60), name="20261121T000000Z")
    tape(tmp_path, taped("/v1/early"), name="20261122T000000Z")

    assert export(tmp_path, tmp_path / "new" / "all.har") == 2

    entries = json.loads((tmp_path / "new" / "all.har").read_text())["log"]["entries"]
    assert [entry["_target"] for entry in entries] == ["/v1/early", "/v1/late"]
    assert (tmp_path / "new" / "all.har").stat().st_mode & 0o777 == 0o600


def test_an_empty_recording_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no recording"):
        export(tmp_path, tmp_path / "all.har")


def test_an_export_that_cannot_be_written_is_a_mistake(tmp_path: Path) -> None:
    tape(tmp_path, taped("/v1/a"))
    with pytest.raises(ConfigError, match="cannot write"):
        export(tmp_path, tmp_path / "raw")
    assert {file.name for file in tmp_path.iterdir()} == {"raw"}


def test_a_system_without_fdatasync_can_record_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fdatasync")  # as on macOS
    assert targets(record(tmp_path, taped("/v1/a"))) == ["/v1/a"]
