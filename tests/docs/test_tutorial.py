"""docs/tutorial.md: a reader who saves its files and types its commands sees the documented output.

A block in `python` is the file `pay.py`, or its new end. A block in `sh` contains commands; a block in `text` after it
contains their output. The blocks before the first `sh` are not run: they install the app, and start `make run`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.doors import START
from tests.support.serving import Serving, served
from xs2a_sandbox.config.kinds import PREFIX

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tutorial.md").read_text()
BASE_URL, CONFDIR = "http://127.0.0.1:8081", "~/.xs2a-sandbox"
CAMPAIGNS = 9 * START
"""Seconds for all commands."""
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
VARYING = {
    r"\d{4}-\d\d-\d\d [\d:.]+\+\d\d:\d\d": r"\d{4}-\d\d-\d\d \S+",
    r"[\d.]+ms": r"[\d.]+ms",
    r"tried in \d+ s": r"tried in [^,\n]+",
    # Each new error and quirk of the sandbox adds faults.
    r" +\d+ tried": r" +\d+ tried",
    r"\d+ faults tried in \d+ s": r"\d+ faults tried in [^,\n]+",
    r"\d+ faults were left out": r"\d+ faults were left out",
    "…": ".*",
}
"""Texts in the output that differ between runs, and their replacements."""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    output: str = ""

    @property
    def status(self) -> int:
        """Return the expected exit status: a campaign with findings fails."""
        return int(bool(re.search("[1-9] with findings", self.output)))


def read_blocks() -> list[Block]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    pairs = zip(found, [*found[1:], ("", "")], strict=True)
    blocks = [
        Block(language, text, output if follower == "text" else "") for (language, text), (follower, output) in pairs
    ]
    first = next(number for number, block in enumerate(blocks) if block.language == "sh")
    return [block for block in blocks[first:] if block.language in ("python", "sh")]


def script(blocks: Sequence[Block]) -> str:
    """Return the input of the reader for a single shell, with a line after each command that marks the end of its
    output.
    """
    lines, app = [], ""
    for block in blocks:
        if block.language == "python":
            kept, _, _ = app.partition(block.text.splitlines()[0])
            app = kept + block.text
            lines.append(f"cat >pay.py <<'END OF FILE'\n{app}END OF FILE\n")
        else:
            lines.append(f'{block.text}echo "END OF OUTPUT $?"\n')
    return "".join(lines)


def pattern(expected: str) -> str:
    """Return a pattern for the output. The same id on the page must be the same id in the output."""
    names: dict[str, str] = {}
    made, end = "", 0
    for match in re.finditer("|".join([UUID, *VARYING]), expected):
        text = match.group()
        made += re.escape(expected[end : match.start()])
        end = match.end()
        if text in names:
            made += f"(?P={names[text]})"
        elif re.fullmatch(UUID, text):
            names[text] = f"id{len(names)}"
            made += f"(?P<{names[text]}>{UUID})"
        else:
            made += next(varied for one, varied in VARYING.items() if re.fullmatch(one, text))
    return made + re.escape(expected[end:])


def play(blocks: Sequence[Block], sandbox: Serving, folder: Path, seconds: float) -> None:
    def here(text: str) -> str:
        return text.replace(BASE_URL, sandbox.direct).replace(CONFDIR, str(sandbox.confdir))

    checkout = folder / "checkout"
    checkout.mkdir()
    (checkout / ".venv").symlink_to(sys.prefix)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    environ |= {f"{PREFIX}PORT": sandbox.direct.rpartition(":")[2], f"{PREFIX}CONFDIR": str(sandbox.confdir)}
    done = subprocess.run(
        ["bash", "-c", here(script(blocks))],
        cwd=checkout,
        env=environ,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    ends = re.split(r"END OF OUTPUT (\d+)\n", done.stdout)
    outputs = list(zip(ends[::2], ends[1::2], strict=False))
    for block, (output, status) in zip([one for one in blocks if one.language == "sh"], outputs, strict=True):
        shown = f"{block.text}{output}{done.stderr}"
        assert int(status) == block.status, shown
        assert re.fullmatch(pattern(here(block.output).strip()), output.strip()), shown


needs_shell = pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="needs bash and curl")


@needs_shell
@pytest.mark.slow
def test_a_reader_finds_the_bug_and_the_fixed_app_survives_all_faults(tmp_path: Path) -> None:
    with served(tmp_path / "sandbox") as sandbox:
        play(read_blocks(), sandbox, tmp_path, CAMPAIGNS)
        assert "POST /v1/payments/sepa-credit-transfers 200" in sandbox.line("amended=fault-1")


def test_the_page_contains_an_app_its_fix_and_campaigns() -> None:
    blocks = read_blocks()
    files = [block.text for block in blocks if block.language == "python"]
    campaigns = [block for block in blocks if "xs2a-sandbox campaign" in block.text]

    assert [text.count("def ") for text in files] == [3, 0]
    assert files[0].count(f"\n{files[1].splitlines()[0]}\n") == 1, "the fix replaces from this line on"
    assert [block.status for block in campaigns] == [1, 0, 0]
    assert campaigns[-1] is blocks[-1]
    assert not re.search("--choose|--only", blocks[-1].text)
