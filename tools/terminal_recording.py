"""Write the terminal recording shown in the README: `python -m tools.terminal_recording`.

The commands are executed, and their output is drawn without scripts and external resources. Only the beginning of the
link to the console is shown, because the rest differs each time.
"""

import io
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "terminal.svg"
PORTS = {"XS2A_SANDBOX_PORT": 8081, "XS2A_SANDBOX_PROXY_PORT": 8080, "XS2A_SANDBOX_TLS_PORT": 8443}
"""The sandbox's default ports. The picture shows them on every machine."""

SERVE = "xs2a-sandbox serve"
COMMANDS = (
    "bank=http://127.0.0.1:8081/v1 id='X-Request-ID: 99391c7e-ad88-49ec-a2ad-99ddcb1f7721'",
    'curl -s -H "$id" $bank/consents/9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911/status',
    'curl -s -H "$id" $bank/accounts/',
    'xs2a-sandbox explain -H "$id" GET /v1/accounts/',
)
_COLUMNS = 100
_START = 300
# Lines appear one after the other and stay. Without animation, all of them are visible from the start.
_FORMAT = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="A terminal">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font: bold 18px sans-serif; }}
{styles}
@keyframes appear {{ from {{ opacity: 0; }} }}
@media not (prefers-reduced-motion) {{
  .{unique_id}-matrix text {{ animation: appear .2s backwards; }}
DELAYS
}}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""


@dataclass(frozen=True)
class Step:
    command: str
    printed: str


def _free_ports() -> dict[str, int]:
    """Return a free port for each of the sandbox's, because the default ports may be in use."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PORTS]
    try:
        return dict(zip(PORTS, (server.getsockname()[1] for server in sockets), strict=True))
    finally:
        for server in sockets:
            server.close()


def record() -> list[Step]:
    """Run `serve` and the commands in a new home. Raises RuntimeError if one of them fails."""
    ports = _free_ports()
    with TemporaryDirectory() as home:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        inherited = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environment = inherited | {"HOME": home, "PATH": path} | {name: str(port) for name, port in ports.items()}
        with _served(Path(home), environment) as announcement:
            printed = [_without_link(announcement), *_run(Path(home), environment, ports)]
    names = {home: "~"} | {f":{port}": f":{PORTS[name]}" for name, port in ports.items()}
    return [Step(command, _renamed(text, names)) for command, text in zip((SERVE, *COMMANDS), printed, strict=True)]


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], text)


def _without_link(announcement: str) -> str:
    return re.sub(r"(?<=\?link=)\S+", "…", announcement)


@contextmanager
def _served(home: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Return the output of `serve` before the first request."""
    log = home / "serve.log"
    with (
        log.open("w") as output,
        _ended(
            subprocess.Popen(SERVE.split(), cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT)
        ) as process,
    ):
        latest = time.monotonic() + _START
        while "\nTry it:" not in log.read_text():
            if process.poll() is not None or time.monotonic() > latest:
                raise RuntimeError(f"The sandbox does not start:\n{log.read_text()}")
            time.sleep(0.1)
        yield log.read_text().partition("\nTry it:")[0]


@contextmanager
def _ended(process: "subprocess.Popen[bytes]") -> Iterator["subprocess.Popen[bytes]"]:
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def _run(home: Path, environment: Mapping[str, str], ports: Mapping[str, int]) -> Iterator[str]:
    shell = subprocess.Popen(
        ["bash", "-e"],
        cwd=home,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    end = "-- end of what it prints --"
    real = {f":{PORTS[name]}": f":{port}" for name, port in ports.items()}
    lines = "".join(f"{_renamed(command, real)}\nprintf '\\n{end}\\n'\n" for command in COMMANDS)
    printed, _ = shell.communicate(lines, timeout=_START)
    if shell.returncode:
        raise RuntimeError(f"A command has failed:\n{printed}")
    *parts, _ = printed.split(f"{end}\n")
    yield from (part.strip("\n") for part in parts)


def drawn(steps: Iterable[Step]) -> str:
    """Return the recording as SVG."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), color_system="truecolor", force_terminal=True)
    pauses: list[float] = []
    for step in steps:
        before = console.file.getvalue().count("\n")  # type: ignore[attr-defined]
        console.print(Text.assemble(("$ ", "green"), (step.command, "bold")), overflow="fold", highlight=False)
        if step.printed:
            console.print(Text(step.printed), overflow="fold", highlight=False)
        lines = console.file.getvalue().count("\n") - before  # type: ignore[attr-defined]
        pauses += [1.5, 0.8, *[0.05] * lines][:lines]
    delays, seconds = [], 0.0
    for number, pause in enumerate(pauses):
        seconds += pause
        delays.append(f'  text[clip-path="url(#t-line-{number})"] {{{{ animation-delay: {seconds:.2f}s; }}}}')
    return console.export_svg(
        title="xs2a-sandbox", theme=MONOKAI, code_format=_FORMAT.replace("DELAYS", "\n".join(delays)), unique_id="t"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(record()))
    print(f"The recording is in {PICTURE}.")
