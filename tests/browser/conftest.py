"""Fixtures for browser tests: Chromium, a sandbox, and an app to which the browser returns."""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.inspecting import SIZES, Inspector
from tests.support.doors import DEADLINE, Loop, opened
from tests.support.engine_client import Answer, Client, an_engine, bundled_engine
from tests.support.roads import direct_door

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: `make browser` installs it from Debian")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install -e '.[dev]'")
    # Use it only for one module, because it blocks other event loops in this thread.
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class App:
    """A TPP. `calls` contains the paths and queries with which browsers returned."""

    url: str = ""
    calls: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    referrers: list[str | None] = field(default_factory=list)


def _serving(handler: type[BaseHTTPRequestHandler]) -> tuple[ThreadingHTTPServer, threading.Thread]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    return server, thread


@pytest.fixture
def app() -> Iterator[App]:
    """The path `/away` of the app redirects to another origin, like the addresses of many real apps."""
    app = App()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/away":
                self.send_response(302)
                self.send_header("Location", app.url.replace("127.0.0.1", "localhost") + "/landed")
                self.end_headers()
                return
            if parts.path != "/favicon.ico":
                app.calls.append((parts.path, parse_qs(parts.query)))
                app.referrers.append(self.headers["Referer"])
            body = b"<!doctype html><title>The app</title><h1>Back in the app</h1>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server, thread = _serving(Handler)
    app.url = f"http://127.0.0.1:{server.server_port}"
    yield app
    server.shutdown()
    server.server_close()
    thread.join(DEADLINE)


@dataclass(frozen=True, slots=True)
class Served(Client):
    """Return a client for the engine of the direct door. It sends requests in the loop of that door."""

    loop: Loop | None = None

    def request(self, method: str, target: str, **options: Any) -> Answer:
        assert self.loop
        return self.loop.run(self.send(method, target, **options))


@pytest.fixture
def client() -> Iterator[Client]:
    engine = an_engine(display=bundled_engine().parts.display)
    with opened(lambda: direct_door(engine.answer)) as (door, loop):
        engine.use(public_url=f"http://127.0.0.1:{door.port}")
        yield Served(engine, loop=loop)


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path | None:
    """The folder in which pictures of the pages are saved for people to look at: `PICTURES=DIR make test`."""
    if "PICTURES" not in os.environ:
        return None
    place = Path(os.environ["PICTURES"]) / re.sub(r"[^\w-]+", "-", request.node.name).strip("-")
    place.mkdir(parents=True, exist_ok=True)
    return place


LOOKS = [
    pytest.param(("desktop", "light"), id="desktop-light"),
    pytest.param(("desktop", "dark"), id="desktop-dark", marks=pytest.mark.slow),
    pytest.param(("phone", "light"), id="phone-light", marks=pytest.mark.slow),
    pytest.param(("phone", "dark"), id="phone-dark"),
]
"""One case of each size and each colour scheme is quick."""


@pytest.fixture(params=SIZES)
def size(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=LOOKS)
def inspector(browser: Any, request: pytest.FixtureRequest, pictures: Path | None) -> Iterator[Inspector]:
    size, scheme = request.param
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, bypass_csp=False)
    yield Inspector(context.new_page(), pictures)
    context.close()
