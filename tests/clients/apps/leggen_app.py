"""leggen in this process: its configuration, its requests, and the connection to a bank."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from bank_page import approve, new_key


@contextmanager
def run_leggen(home: Path, application: str, url: str):
    """Yield a function that sends a request to leggen, and ends the script if it fails.

    leggen keeps its data in `home`, and asks the sandbox at `url` as `application`.
    """
    os.environ["LEGGEN_CONFIG_DIR"] = os.environ["LEGGEN_DATA_DIR"] = str(home)
    os.environ["LEGGEN_DATABASE_PATH"] = str(home / "leggen.db")
    if not (home / "key.pem").exists():
        (home / "key.pem").write_bytes(new_key())
        (home / "config.toml").write_text(f"""
auth = {{username = "a", password_hash = "none", api_key = "key", jwt_secret = "secret"}}
scheduler = {{sync = {{enabled = false}}, backup = {{enabled = false}}}}
[enablebanking]
application_id = "{application}"
key_path = "{home}/key.pem"
url = "{url}"
""")
    # leggen reads the variables when it is imported.
    from fastapi.testclient import TestClient
    from leggen.commands.server import create_app

    with TestClient(create_app(), headers={"X-API-Key": "key"}) as app:

        def ask(method, path, **sent):
            answer = app.request(method, f"/api/v1{path}", **sent)
            if answer.status_code != 200:
                sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
            return answer.json()

        yield ask


def connect(ask):
    """Connect leggen to the bank, and approve as its customer."""
    (bank,) = ask("GET", "/banks/institutions", params={"country": "FI"})
    wanted = {"aspsp_name": bank["name"], "aspsp_country": "FI", "redirect_url": "http://localhost:8000/"}
    back = approve(ask("POST", "/banks/connect", json=wanted)["url"])
    ask("POST", "/banks/callback", json=dict(parse_qsl(urlsplit(back).query)))
