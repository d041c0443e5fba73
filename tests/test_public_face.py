"""`import xs2a_sandbox` offers everything that users need to import."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import xs2a_sandbox
from xs2a_sandbox import Sandbox, UserMistake, plugin

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs").glob("**/*.md"))


@pytest.mark.parametrize("name", xs2a_sandbox.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(xs2a_sandbox, name)


def test_an_unknown_name_raises_an_error() -> None:
    with pytest.raises(AttributeError, match="module 'xs2a_sandbox' has no attribute 'Sandbix'"):
        _ = xs2a_sandbox.Sandbix  # type: ignore[attr-defined]


def test_the_fixture_has_the_public_type(xs2a: Sandbox) -> None:
    assert type(xs2a) is Sandbox
    with pytest.raises(UserMistake, match="there is no consent, payment, basket or authorisation no-such-thing"):
        xs2a.approve("no-such-thing")


def test_importing_an_error_does_not_load_the_engine() -> None:
    code = "import sys; from xs2a_sandbox import UserMistake; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not {name for name in run.stdout.split() if name.startswith("xs2a_sandbox.")} - {"xs2a_sandbox.errors"}


def test_docs_import_only_public_names() -> None:
    imported = {line for page in PAGES for line in re.findall(r"from xs2a_sandbox[.\w]* import .*", page.read_text())}
    assert imported, "docs/pytest.md contains no import"
    for line in imported:
        names = re.match(r"from xs2a_sandbox(\.plugin)? import ((?:\w+, )*\w+)", line)
        assert names, line
        assert set(names[2].split(", ")) <= set((plugin if names[1] else xs2a_sandbox).__all__), line
