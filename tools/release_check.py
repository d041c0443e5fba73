"""Tries a release: `python -m tools.release_check` builds wheel and sdist, installs each into nothing and walks the
first journey with it, and writes what is installed with it, as CycloneDX, beside them in dist/."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from xs2a_sandbox import __version__

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BESIDE_OTHERS = ("3.12", "3.13")
"""The versions of Python of which mitmproxy pins other versions of what httpx needs, too."""

_IBAN = "AT459880000010204711"
_ACCESS = {"balances": [{"iban": _IBAN}], "transactions": [{"iban": _IBAN}]}
_CONSENT = {"access": _ACCESS, "recurringIndicator": True, "validUntil": "9999-12-31", "frequencyPerDay": 4}
_PAYMENT = {
    "debtorAccount": {"iban": _IBAN, "currency": "EUR"},
    "instructedAmount": {"amount": "12.50", "currency": "EUR"},
    "creditorAccount": {"iban": "AT379821100040023757"},
    "creditorName": "Nahversorger Talblick",
}


def check(dist: Path) -> None:
    """Fill `dist` with wheel, sdist and bill of materials. A journey that fails ends it with what was answered."""
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tools = _environment(place / "tools")
        _run(tools, "-m", "pip", "install", "--quiet", "build", "cyclonedx-bom")
        _run(tools, "-m", "build", "--outdir", str(dist), str(ROOT))
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        for archive in (wheel, sdist):
            python = _environment(place / archive.suffix)
            _run(python, "-m", "pip", "install", "--quiet", str(archive))
            empty = place / f"empty{archive.suffix}"
            empty.mkdir()
            _run(python, "-m", "pip", "check")
            with _served(python.parent / "xs2a-sandbox", empty) as url:
                for step in journey(url):
                    print(f"{archive.name}: {step}")
        for version in BESIDE_OTHERS:
            _check_beside_others(version, wheel, place / version)
            print(f"{wheel.name}: goes together with httpx and requests on Python {version}")
        bill = dist / f"xs2a_sandbox-{__version__}.cdx.json"
        _run(tools, "-m", "cyclonedx_py", "environment", str(python), "--output-file", str(bill))
    components = json.loads(bill.read_text())["components"]
    print(f"{bill.name}: {len(components)} packages")


def _check_beside_others(version: str, wheel: Path, place: Path) -> None:
    """Install the wheel as docs/pytest.md says, and see that all versions go together."""
    (words,) = re.findall(r"^pip install (xs2a-sandbox .+)$", (ROOT / "docs" / "pytest.md").read_text(), re.MULTILINE)
    python = _environment(place, _interpreter(version))
    _run(python, "-m", "pip", "install", "--quiet", str(wheel), *words.split()[1:])
    _run(python, "-m", "pip", "check")


def _interpreter(version: str) -> str:
    """The path of that Python. Raises ValueError; pyenv leaves commands behind that do not run."""
    asked = [f"python{version}", "-c", "import sys; print(sys.executable)"]
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    raise ValueError(f"python{version} is needed to try the wheel with it: install it, or let it be found in PATH")


def journey(url: str) -> Iterator[str]:
    """Walk the README's journey; yields a line for each step. Raises ValueError where the bank answers otherwise."""
    consent = _ask(url, "POST", "/v1/consents", 200, _CONSENT)
    yield f"consent {consent['consentStatus']}"
    by_consent = {"Consent_ID": consent["consentId"]}
    accounts = _ask(url, "GET", "/v1/accounts/?withBalance=true", 200, **by_consent)
    yield f"{len(accounts['accounts'])} account"
    target = f"/v1/accounts/{_IBAN}/transactions?bookingStatus=pending"
    transactions = _ask(url, "GET", target, 200, **by_consent)
    yield f"{len(transactions['transactions']['pending'])} pending transactions"
    payment = _ask(url, "POST", "/v1/payments/sepa-credit-transfers", 200, _PAYMENT, PSU_IP_Address="192.0.2.1")
    yield f"payment {payment['transactionStatus']}"


def _ask(url: str, method: str, target: str, status: int, body: object = None, **headers: str) -> Any:
    fields = {"X-Request-ID": str(uuid.uuid4()), "Content-Type": "application/json"}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url + target, json.dumps(body).encode() if body else None, fields, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as response:
            answered, text = response.status, response.read()
    except urllib.error.HTTPError as error:
        answered, text = error.code, error.read()
    if answered != status:
        raise ValueError(f"{method} {target}: {answered}, not {status}: {text.decode(errors='replace')}")
    return json.loads(text)


def _environment(place: Path, interpreter: str = sys.executable) -> Path:
    subprocess.run([interpreter, "-m", "venv", str(place)], check=True)
    return place / "bin" / "python"


def _run(python: Path, *words: str) -> None:
    subprocess.run([str(python), *words], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _served(program: Path, at: Path) -> Iterator[str]:
    """Yields the base URL of a sandbox that runs in an empty folder, with a home of its own."""
    words = [str(program), "serve", "--port", "0", "--proxy-port", "0", "--tls-port", "0"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(at), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words, cwd=at, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        printed = []
        for line in process.stdout or ():
            printed.append(line)
            if address := re.search(r"base URL +(http://\S+)", line):
                break
        else:
            raise ValueError("it does not serve: " + "".join(printed))
        try:
            yield address[1]
        finally:
            process.terminate()
            process.communicate()


if __name__ == "__main__":
    try:
        check(DIST)
    except (ValueError, subprocess.CalledProcessError) as failure:
        sys.exit(f"release-check: {failure}")
