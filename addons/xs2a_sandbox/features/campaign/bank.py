"""The bank of a campaign: a sandbox of its own or a running one, and sessions in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from xs2a_sandbox.config.kinds import PREFIX
from xs2a_sandbox.control.client import Client
from xs2a_sandbox.errors import UserMistake
from xs2a_sandbox.features.pytest.server_process import Process


@dataclass(frozen=True, slots=True)
class SandboxAddresses:
    """The addresses of a sandbox, as far as they are known for one that is already running."""

    direct: str
    confdir: Path
    tls: str = ""
    proxy: str = ""
    ca_file: Path = Path()


@contextmanager
def of_its_own(confdir: Path, flags: Sequence[str]) -> Iterator[SandboxAddresses]:
    """Run a sandbox within the context. Raises UserMistake."""
    confdir.mkdir(mode=0o700, parents=True, exist_ok=True)
    process = Process(confdir, flags)
    process.start()
    try:
        yield SandboxAddresses(process.direct, confdir, process.tls, process.proxy, process.ca_file)
    finally:
        process.stop()


def that_runs(url: str, confdir: Path) -> SandboxAddresses:
    """Return the sandbox at this base URL. Raises UserMistake."""
    sandbox = SandboxAddresses(url.rstrip("/"), confdir)
    modes = {bank["mode"] for bank in Client(sandbox.direct, confdir=confdir).status()["banks"]}
    if modes != {"simulate"}:
        other = sorted(str(mode) for mode in modes - {"simulate"})[0]
        raise UserMistake(f"the sandbox at {url} is in mode {other}: start it in mode simulate for a campaign")
    return sandbox


def variables(sandbox: SandboxAddresses, session: str, run_dir: Path) -> dict[str, str]:
    """Return the environment variables for the command: the addresses, including the session."""
    where = urlsplit(sandbox.direct)
    addresses = {
        "URL": f"{sandbox.direct}/s/{session}",
        "SESSION": session,
        "RUN_DIR": str(run_dir),
        # So that `xs2a-sandbox state` and other commands find it, too.
        "HOST": where.hostname or "",
        "PORT": str(where.port or 80),
        "CONFDIR": str(sandbox.confdir),
    }
    if sandbox.tls:
        addresses |= {"TLS_URL": f"{sandbox.tls}/s/{session}", "CA_FILE": str(sandbox.ca_file)}
    if sandbox.proxy:
        addresses["PROXY"] = sandbox.proxy.replace("://", f"://{session}:x@", 1)
    return {f"{PREFIX}{name}": value for name, value in addresses.items()}
