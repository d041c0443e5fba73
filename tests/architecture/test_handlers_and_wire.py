"""Handlers know only the domain. The wording of messages belongs to the dialect."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.engine_client import DIALECT
from xs2a_sandbox.bank.handlers import table

BANK = Path(table.__file__).parents[1]
FILES = sorted(file for folder in ("handlers", "domain", "formats") for file in (BANK / folder).glob("*.py"))
ERRORS = yaml.load((DIALECT / "errors.yaml").read_text(), yaml.BaseLoader)["errors"].values()
CODES = {error["code"] for error in ERRORS}


def constants(file: Path) -> Iterator[object]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant):
            yield node.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_handlers_contain_no_status(file: Path) -> None:
    assert not [value for value in constants(file) if type(value) is int and 100 <= value <= 599]
    assert not re.search(r"\bHTTPStatus\b|\b[1-5]\d\d\b", _without_styles(file.read_text()))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.name}")
def test_handlers_contain_no_codes_and_no_message_numbers(file: Path) -> None:
    text = file.read_text()

    assert len(CODES) > 10
    assert not [code for code in CODES if code in text]
    assert not re.search(r"XS2A\d|tppMessages|_Left|\{sensitive\}", text)


def _without_styles(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("_STYLE"))
