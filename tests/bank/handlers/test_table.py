"""The declarations of handlers match their behaviour."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import bundled_engine, speaking
from xs2a_sandbox.bank.handlers.approaches import APPROACH_OPTIONS, HABITS
from xs2a_sandbox.bank.handlers.table import HANDLERS
from xs2a_sandbox.cassette.dialect.error_table import ENGINE_ERRORS

ROOT = Path(__file__).resolve().parents[3]


def test_every_error_exists_in_a_bundled_dialect() -> None:
    errors = frozenset().union(*(handler.errors for handler in HANDLERS.values()))
    assert len(errors) > 15
    assert errors <= bundled_engine().interface.errors.keys() | speaking("berlin-group-1.3").interface.errors.keys()
    assert errors & ENGINE_ERRORS == {"format-error"}


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_every_handler_is_documented(handler: Any) -> None:
    assert handler.doc.endswith(".")
    assert all(option.doc.endswith(".") for option in handler.options.values())
    assert handler.act({"family": "payment"})


_FORM = "client_id client_secret grant_type code code_verifier redirect_uri refresh_token scope token"
UNNOTED = {f"token.{name}": {f"body/{part}" for part in _FORM.split()} for name in ("issue", "revoke")}
"""In the body of a form, which is read as a whole."""
UNNOTED["token.issue"].add("headers.dpop")  # read from the request, because the fault counts repetitions


def noted(file: Path) -> dict[str, dict[str, list[str]]]:
    """Return what the handlers do in the contract tests, and in the tests of single handlers.

    The other tests take as long as these, and handlers do nothing new in them.
    """
    command = "-m pytest -q -p tests.support.noted_handlers -p no:cacheprovider -p no:xdist -m".split()
    others = "test_table or each_quirk or tools or recorded or campaign or requests or bad_input or further"
    chosen = f"(process or handlers or families) and not ({others})"
    where = ["tests/contract", "tests/families", "tests/bank/handlers", "-k", chosen]
    done = subprocess.run(
        [sys.executable, *command, "not slow", *where],
        cwd=ROOT, env={**os.environ, "NOTES": str(file)}, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    notes: dict[str, dict[str, list[str]]] = json.loads(file.read_text())
    return notes


@pytest.mark.slow
def test_everything_declared_occurs(tmp_path: Path) -> None:
    """This is one test for all handlers, because in several processes each process records only its own handlers."""
    notes = noted(tmp_path / "notes.json")
    left: dict[str, set[str]] = {}
    for name, handler in HANDLERS.items():
        reads = {*handler.deeds.reads}
        for option in handler.options.values():
            reads |= option.deeds.reads.union(*(deeds.reads for deeds in option.choices.values()))

        left[f"{name} reads"] = {*map(str, reads)} - UNNOTED.get(name, set()) - {*notes["reads"][name]}
        left[f"{name} raises"] = {*handler.errors} - {*notes["raises"][name]}
        left[f"{name} returns"] = {*handler.returns} ^ {*notes["returns"][name]}
        # Options of approaches are merged with the operation's options before anything reads them.
        options = handler.options.keys() - APPROACH_OPTIONS.keys() - HABITS.keys()
        left[f"{name} options"] = options - {*notes["options"][name]}
    assert {what: names for what, names in left.items() if names} == {}
