"""bench/wide.md: figures of several commands, each of which writes its own part."""

import platform
from datetime import UTC, datetime
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "bench" / "wide.md"


def write(part: str, text: str) -> None:
    """Write the text in place of that part, with the day and the machine."""
    begin, end = f"<!-- {part} -->\n", f"<!-- end of {part} -->"
    before, mark, rest = FILE.read_text().partition(begin)
    after = rest.partition(end)[2]
    assert mark, f"{FILE} has no part {part}"
    machine = f"{platform.system()}, Python {platform.python_version()}"
    FILE.write_text(f"{before}{begin}{text}\n\n({datetime.now(UTC).date().isoformat()}, {machine})\n{end}{after}")
