"""Attack through the environment of `serve`, and through files from other people."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import requests
import yaml

from tests.support.doors import START
from tests.support.far_bank import Authority, FarBank, ok
from tests.support.recorded_bank.process import Listener
from tests.support.serving import served

HERE = Path(__file__).parent
LINTED = 20.0
"""Seconds within which a cassette is refused on a busy machine."""


def environments() -> list[dict[str, str]]:
    return list(yaml.safe_load((HERE / "environments.yaml").read_text())["environments"])


def cassettes() -> list[dict[str, str]]:
    return list(yaml.safe_load((HERE / "cassettes.yaml").read_text())["cassettes"])


def used_variables(environment: dict[str, str], directory: Path) -> Iterator[str]:
    """Return the variables that a running `serve` has used."""
    folder = directory / "theirs"
    folder.mkdir()
    authority = Authority(directory)
    with FarBank(ok(b"{}"), tls=authority.server("localhost")) as bank, Listener(0) as proxy:
        places = {"${folder}": str(folder), "${proxy}": f"http://127.0.0.1:{proxy.port}"}
        filled = dict(environment)
        for placeholder, place in places.items():
            filled = {name: value.replace(placeholder, place) for name, value in filled.items()}
        entry = {"url": bank.named("localhost"), "ca": str(authority.file)}
        with patch.dict(os.environ, filled):
            started = served(directory, "--mode", "spy", settings={"banks": [entry]})
            serving = started.__enter__()
        try:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.get(f"{serving.direct}/elsewhere".replace("127.0.0.1", "localhost"), timeout=START)
            if answer.status_code != 200 or not bank.seen:
                yield f"the bank is not reached: {answer.status_code} {answer.text}"
            if proxy.connections:
                yield f"{proxy.connections} connections to a proxy"
            yield from (f"{file} was written" for file in folder.rglob("*"))
        finally:
            started.__exit__(None, None, None)


def accepted(cassette: dict[str, str], directory: Path) -> Iterator[str]:
    """Return the problem with the result of `lint`, if there is one."""
    file = directory / "case.yaml"
    file.write_text(cassette["text"].replace("${folder}", str(directory)))
    command = [sys.executable, "-m", "xs2a_sandbox", "lint", str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LINTED, cwd=directory, check=False)
    except subprocess.TimeoutExpired:
        yield f"lint has not ended within {LINTED:g} s"
        return
    output = done.stdout + done.stderr
    if done.returncode not in (1, 2) or cassette["says"] not in output or str(file) not in output:
        yield f"lint ends with {done.returncode} and says {output[-500:]}"
    if "Traceback" in output:
        yield f"a traceback: {output[-1000:]}"
    yield from (f"{made} was made" for made in directory.iterdir() if made != file)
