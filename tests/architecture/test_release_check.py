"""The flow that `make release-check` runs with the installed package, and the formula that it writes."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from tools.release_check import FORMULA, journey, write_formula

from tests.support.doors import opened
from tests.support.engine_client import an_engine
from tests.support.roads import direct_door
from xs2a_sandbox import __version__
from xs2a_sandbox.http import Request, Response


def test_the_flow_runs_to_its_end() -> None:
    engine = an_engine()
    with opened(lambda: direct_door(engine.answer)) as (door, _):
        steps = list(journey(f"http://127.0.0.1:{door.port}"))
    assert steps == ["consent received", "1 account", "3 pending transactions", "payment RCVD"]


def test_an_unexpected_answer_ends_the_flow() -> None:
    async def down(request: Request) -> Response:
        return Response(503, (), b"down")

    with (
        opened(lambda: direct_door(down)) as (door, _),
        pytest.raises(ValueError, match="POST /v1/consents: 503, not 200: down"),
    ):
        list(journey(f"http://127.0.0.1:{door.port}"))


def test_the_formula_names_the_version_and_the_checksum_of_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(b"an archive")
    formula = write_formula(FORMULA.read_text(), archive)
    assert f'xs2a_sandbox-{__version__}.tar.gz"' in formula
    assert f'sha256 "{hashlib.sha256(b"an archive").hexdigest()}"' in formula
    if ruby := shutil.which("ruby"):
        checked = subprocess.run([ruby, "-c"], input=formula, capture_output=True, text=True)
        assert checked.stdout == "Syntax OK\n", checked.stderr
