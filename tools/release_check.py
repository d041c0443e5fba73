"""Check a release: `python -m tools.release_check` builds wheel and sdist, installs each into a clean environment, and
runs the quickstart with it. The wheel is tried with each version of Python, the sdist also in the way of the formula.

The Homebrew formula and a CycloneDX list of the installed packages are written next to them in dist/.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from xs2a_sandbox import __version__

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
FORMULA = ROOT / "deploy" / "homebrew" / "xs2a-sandbox.rb"
VERSIONS = ("3.12", "3.13")
"""Versions of Python with which the wheel must work. For each, mitmproxy pins different versions of packages that httpx
needs, too."""
NEWEST = "3.14"
"""The version with which the wheel must work if it is installed here."""

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
    """Fill `dist` with wheel, sdist and bill of materials. If the flow fails, exit with the answer."""
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tools = _environment(place / "tools")
        _run(tools, "-m", "pip", "install", "--quiet", "build", "cyclonedx-bom")
        _run(tools, "-m", "build", "--outdir", str(dist), str(ROOT))
        (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        for version in (*VERSIONS, *([NEWEST] if _is_there(NEWEST) else ())):
            python = _environment(place / f"wheel-{version}", _interpreter(version))
            _install(python, str(wheel))
            _run_journey(python, f"{wheel.name}, Python {version}")
        python = _environment(place / "sdist")
        _install(python, str(sdist))
        _run_journey(python, sdist.name)
        (dist / FORMULA.name).write_text(write_formula(FORMULA.read_text(), sdist))
        _run_journey(_install_like_homebrew(sdist, place / "homebrew"), FORMULA.name)
        for version in VERSIONS:
            _check_beside_others(version, wheel, place / version)
            print(f"{wheel.name}: compatible with httpx and requests on Python {version}")
        bill = dist / f"xs2a_sandbox-{__version__}.cdx.json"
        _run(tools, "-m", "cyclonedx_py", "environment", str(python), "--output-file", str(bill))
    components = json.loads(bill.read_text())["components"]
    print(f"{bill.name}: {len(components)} packages")


def write_formula(template: str, sdist: Path) -> str:
    """Return the Homebrew formula of the archive."""
    checksum = hashlib.sha256(sdist.read_bytes()).hexdigest()
    return template.replace("VERSION", __version__).replace("SHA256", checksum)


def _install(python: Path, *words: str) -> None:
    _run(python, "-m", "pip", "install", "--quiet", *words)
    _run(python, "-m", "pip", "check")


def _install_like_homebrew(sdist: Path, place: Path) -> Path:
    """Install the archive with the commands of the formula, and return the interpreter."""
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (source,) = place.iterdir()
    python = _environment(place / "libexec", words=("--without-pip",))
    pip = [sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet", "--no-cache-dir"]
    for words in (["--require-hashes", "--requirement", "requirements/run.txt"], ["--no-deps", "."]):
        subprocess.run([*pip, *words], cwd=source, check=True, stdout=subprocess.DEVNULL)
    return python


def _run_journey(python: Path, name: str) -> None:
    empty = python.parents[1] / "empty"
    empty.mkdir()
    with _served(python.parent / "xs2a-sandbox", empty) as url:
        for step in journey(url):
            print(f"{name}: {step}")


def _check_beside_others(version: str, wheel: Path, place: Path) -> None:
    """Install the wheel as described in docs/pytest.md, and check that all versions are compatible."""
    (words,) = re.findall(r"^pip install (xs2a-sandbox .+)$", (ROOT / "docs" / "pytest.md").read_text(), re.MULTILINE)
    python = _environment(place, _interpreter(version))
    _install(python, str(wheel), *words.split()[1:])


def _is_there(version: str) -> bool:
    try:
        _interpreter(version)
    except ValueError:
        return False
    return True


def _interpreter(version: str) -> str:
    """Return the path of that Python. Raises ValueError. pyenv leaves broken shims behind, so the command must run."""
    asked = [f"python{version}", "-c", "import sys; print(sys.executable)"]
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    raise ValueError(f"python{version} is needed to test the wheel: install it, or add it to PATH")


def journey(url: str) -> Iterator[str]:
    """Run the flow of the README, and yield a line for each step. Raises ValueError for an unexpected answer."""
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


def _environment(place: Path, interpreter: str = sys.executable, words: Sequence[str] = ()) -> Path:
    subprocess.run([interpreter, "-m", "venv", *words, str(place)], check=True)
    return place / "bin" / "python"


def _run(python: Path, *words: str) -> None:
    subprocess.run([str(python), *words], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def _served(program: Path, at: Path) -> Iterator[str]:
    """Yield the base URL of a sandbox in an empty folder with its own home."""
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
