"""A campaign finds apps that callbacks confuse."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

APP = """
    import http.server, json, os, sys, threading, urllib.request, uuid

    mistakes, seen, told = sys.argv[1:], set(), threading.Event()

    class Notified(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            breaks = "duplicates" in mistakes and body in seen
            seen.add(body)
            self.send_response(500 if breaks else 204)
            self.end_headers()
            told.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notified)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bank = os.environ["BANK_URL"]

    def ask(method, path, body=None, **more):
        headers = {"X-Request-ID": str(uuid.uuid4()), "PSU-IP-Address": "192.0.2.1", "Content-Type": "application/json"}
        content = json.dumps(body).encode() if body else None
        request = urllib.request.Request(bank + path, content, {**headers, **more}, method=method)
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=5).read()

    consent = {"access": {"allPsd2": "allAccounts"}, "recurringIndicator": True, "validUntil": "9999-12-31",
               "frequencyPerDay": 4, "combinedServiceIndicator": False}
    made = json.loads(ask("POST", "/v1/consents", consent,
                          **{"TPP-Notification-URI": f"http://127.0.0.1:{server.server_port}/"}))
    path = f"/v1/consents/{made['consentId']}"
    ask("DELETE", path)
    if not told.wait(None if "waits" in mistakes else 1):
        ask("GET", f"{path}/status")
    if "duplicates" in mistakes:
        threading.Event().wait(0.5)
"""


def campaign(directory: Path, *words: str, mistakes: tuple[str, ...]) -> str:
    app = directory / "app.py"
    app.write_text(dedent(APP))
    chosen = [argument for word in words for argument in ("--choose", word)]
    flags = ["--dialect", "berlin-group-1.3", "--env", "BANK_URL={url}", "--timeout", "6s", "--jobs", "1", *chosen]
    command = [sys.executable, "-m", "xs2a_sandbox", "campaign", *flags, "--", sys.executable, str(app), *mistakes]
    environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(command, cwd=directory, env=environ, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_an_app_that_breaks_on_a_repeated_callback_and_waits_for_one_that_never_comes(tmp_path: Path) -> None:
    output = campaign(tmp_path, "callback twice", "callback never", mistakes=("duplicates", "waits"))
    assert "The app answered 500 to the callback notify-consent-status, which was sent twice." in output
    assert "The command did not end within 6 s." in output


@pytest.mark.slow
def test_an_app_that_handles_callbacks_passes(tmp_path: Path) -> None:
    output = campaign(tmp_path, "callback", mistakes=())
    assert "4 faults tried" in output
    assert "0 with findings" in output, output
