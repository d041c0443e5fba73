"""A request of a client, with its times and its result: a line of the log that the checker reads."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Operation:
    """`status` is None if the connection broke. `state` is the reported state of `resource`, which is of a `kind`.

    `label` is in the document that a creation makes, and in nothing else. Only one operation of a `race` may succeed.
    """

    name: str
    session: str
    kind: str
    resource: str
    began: float
    ended: float
    status: int | None
    state: str = ""
    label: str = ""
    race: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether its outcome is unknown."""
        return self.status is None or self.status >= 500

    @property
    def has_succeeded(self) -> bool:
        return self.status is not None and self.status < 300


class Log:
    """Appends to a file, one line each."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("w")
        self.count = 0

    def add(self, operation: Operation) -> None:
        self.count += 1
        self._file.write(json.dumps(asdict(operation)) + "\n")

    def close(self) -> None:
        self._file.close()


def read(file: Path) -> Iterator[Operation]:
    with file.open() as lines:
        for line in lines:
            yield Operation(**json.loads(line))
