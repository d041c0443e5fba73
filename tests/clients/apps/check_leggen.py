"""A test of leggen, as its developer would write it: connect if needed, read twice, and check what is stored.

    xs2a-sandbox campaign --dialect enable-banking -- python check_leggen.py

It knows no fault.
"""

import os
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from bank_page import approve, new_key

home = Path(os.environ["XS2A_SANDBOX_RUN_DIR"])
os.environ["LEGGEN_CONFIG_DIR"] = os.environ["LEGGEN_DATA_DIR"] = str(home)
os.environ["LEGGEN_DATABASE_PATH"] = str(home / "leggen.db")
if not (home / "key.pem").exists():
    (home / "key.pem").write_bytes(new_key())
    (home / "config.toml").write_text(f"""
auth = {{username = "a", password_hash = "none", api_key = "key", jwt_secret = "secret"}}
scheduler = {{sync = {{enabled = false}}, backup = {{enabled = false}}}}
[enablebanking]
application_id = "5a11ab1e-0000-4000-8000-00000000e7e1"
key_path = "{home}/key.pem"
url = "{os.environ["XS2A_SANDBOX_URL"]}"
""")

from fastapi.testclient import TestClient  # noqa: E402
from leggen.commands.server import create_app  # noqa: E402

with TestClient(create_app(), headers={"X-API-Key": "key"}) as app:

    def ask(method, path, **sent):
        answer = app.request(method, f"/api/v1{path}", **sent)
        if answer.status_code != 200:
            sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    connections = ask("GET", "/banks/status")
    if not any(connection["status"] == "active" for connection in connections):
        (bank,) = ask("GET", "/banks/institutions", params={"country": "FI"})
        wanted = {"aspsp_name": bank["name"], "aspsp_country": "FI", "redirect_url": "http://localhost:8000/"}
        back = approve(ask("POST", "/banks/connect", json=wanted)["url"])
        ask("POST", "/banks/callback", json=dict(parse_qsl(urlsplit(back).query)))
    for _ in range(2):
        done = ask("POST", "/sync", json={"full_sync": True})
        if not done["success"]:
            sys.exit(f"sync: {done['errors']}")
    ibans = [account["iban"] for account in ask("GET", "/accounts")]
    if len(ibans) < 2:
        sys.exit(f"accounts: {ibans}")
    for iban in ibans:
        entries = ask("GET", "/transactions", params={"account_id": iban})["data"]
        if len({entry["transaction_id"] for entry in entries}) < len(entries):
            sys.exit(f"{iban} has entries twice")
