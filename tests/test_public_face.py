"""What `import xs2a_sandbox` offers: all that users are told to import."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import xs2a_sandbox
from xs2a_sandbox import Sandbox, UserMistake, plugin

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs").glob("**/*.md"))


@pytest.mark.parametrize("name", xs2a_sandbox.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(xs2a_sandbox, name)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'xs2a_sandbox' has no attribute 'Sandbix'"):
        _ = xs2a_sandbox.Sandbix  # type: ignore[attr-defined]


def test_the_fixture_is_of_this_type(xs2a: Sandbox) -> None:
    assert type(xs2a) is Sandbox
    with pytest.raises(UserMistake, match="there is no consent, payment, basket or authorisation no-such-thing"):
        xs2a.approve("no-such-thing")


def test_the_engine_waits_for_who_needs_it() -> None:
    code = "import sys; from xs2a_sandbox import UserMistake; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert not {name for name in run.stdout.split() if name.startswith("xs2a_sandbox.")} - {"xs2a_sandbox.errors"}


def test_no_page_tells_users_to_import_anything_else() -> None:
    imported = {line for page in PAGES for line in re.findall(r"from xs2a_sandbox[.\w]* import .*", page.read_text())}
    assert imported, "docs/pytest.md says what to import"
    for line in imported:
        names = re.match(r"from xs2a_sandbox(\.plugin)? import ((?:\w+, )*\w+)", line)
        assert names, line
        assert set(names[2].split(", ")) <= set((plugin if names[1] else xs2a_sandbox).__all__), line
