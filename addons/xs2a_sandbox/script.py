"""What is played to a bank and the sandbox: the examples of cassettes, or exchanges that were recorded."""

import uuid
from collections.abc import Sequence
from pathlib import Path

from xs2a_sandbox import recording
from xs2a_sandbox.comparison import Step
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.example import compose, examples
from xs2a_sandbox.foreign import read_har, read_json
from xs2a_sandbox.har import Entry
from xs2a_sandbox.interface import Interface
from xs2a_sandbox.messages import Headers, Request
from xs2a_sandbox.session import HEADER

_FRAMING = frozenset("accept-encoding connection content-length expect host te transfer-encoding upgrade".split())


def of_examples(interface: Interface, places: Sequence[Path] = ()) -> list[Step]:
    """All that the cassettes have; with `places`, those of these files and of the files in these folders."""
    within = [place.resolve() for place in places]
    steps = []
    for entry in examples(interface):
        file = entry.owner.origin.document.file.resolve()
        if within and not any(file == place or place in file.parents for place in within):
            continue
        try:
            steps.append(Step(f"{entry.owner.id}, example {entry.number + 1}", compose(entry)))
        except ValueError as error:
            raise ConfigError(f"{entry.place}: {error}") from None
    return steps


def of_entries(entries: Sequence[Entry]) -> list[Step]:
    """In the order of the recording, all in one new session of the sandbox."""
    session = (HEADER, f"compare-{uuid.uuid4().hex[:16]}")
    return [
        Step(
            f"recorded exchange {number}",
            Request(
                entry.method,
                entry.target,
                Headers((*(pair for pair in entry.headers if pair[0].lower() not in _FRAMING), session)),
                entry.body,
                host="bank.example",
            ),
            entry,
        )
        for number, entry in enumerate(entries, 1)
    ]


def entries(path: Path) -> tuple[list[Entry], bool]:
    """Of a recording's folder, one of its files, or a HAR document; and whether it says that it is redacted.

    Raises:
        ConfigError: there is nothing to read there.
    """
    if path.suffix == ".har":
        document = read_har(read_json(path), path)
        return list(document.entries), document.redacted is not None
    files = recording.raw_files(path) if path.is_dir() else [path]
    if not files:
        raise ConfigError(f"there is no recording in {path}; name a folder that has raw/*.har.jsonl, or such a file")
    if not path.is_dir() and not recording.is_raw(path):
        known = "a recording is a folder that has raw/*.har.jsonl, or such a file, and a HAR document ends in .har"
        raise ConfigError(f"{path} is no recording: {known}")
    found = [entry for file in files for entry in recording.read_raw(file)]
    return found, all(bool(recording.read_head(file).get("redacted")) for file in files)
