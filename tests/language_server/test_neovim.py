"""Neovim, an editor by others, with the server: problems, a description and a definition of a case."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.language_server.test_server import CASE, needs_pygls

NEOVIM = shutil.which("nvim")
SCRIPT = Path(__file__).with_name("neovim.lua")


@needs_pygls
@pytest.mark.slow
@pytest.mark.skipif(NEOVIM is None, reason="nvim is not installed: make clients")
def test_neovim_shows_what_the_server_says(tmp_path: Path) -> None:
    case = tmp_path / "cassettes/cases/mine.yaml"
    case.parent.mkdir(parents=True)
    case.write_text(CASE)
    command = [str(NEOVIM), "--headless", "-u", "NONE", "-i", "NONE", "-S", str(SCRIPT)]
    sandbox = Path(sys.executable).with_name("xs2a-sandbox")
    environment = {**os.environ, "XS2A_SANDBOX": str(sandbox), "HOME": str(tmp_path)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    # Neovim counts bytes, of which the symbol before the mistake has four.
    assert (shown["line"], shown["column"]) == (5, 62)
    assert "did you mean product?" in shown["message"]
    assert shown["description"].startswith("`POST /v1/payments/{product}`")
    assert shown["definition"].endswith("/payments.yaml")
    assert case.read_text() == CASE.replace("produkt", "product")
