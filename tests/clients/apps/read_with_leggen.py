"""Connect leggen to a bank through its own API, let it read twice, and print what it has stored.

Variables: BASE_URL is the sandbox, APPLICATION the id of the application.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from bank_page import approve, new_key

home = Path(tempfile.mkdtemp())
os.environ["LEGGEN_CONFIG_DIR"] = str(home)
(home / "key.pem").write_bytes(new_key())
(home / "config.toml").write_text(f"""
auth = {{username = "a", password_hash = "none", api_key = "key", jwt_secret = "secret"}}
scheduler = {{sync = {{enabled = false}}, backup = {{enabled = false}}}}
[enablebanking]
application_id = "{os.environ["APPLICATION"]}"
key_path = "{home}/key.pem"
url = "{os.environ["BASE_URL"]}"
""")

from fastapi.testclient import TestClient  # noqa: E402
from leggen.commands.server import create_app  # noqa: E402

with TestClient(create_app(), headers={"X-API-Key": "key"}) as app:

    def ask(method, path, **sent):
        answer = app.request(method, f"/api/v1{path}", **sent)
        if answer.status_code != 200:
            sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    (bank,) = ask("GET", "/banks/institutions", params={"country": "FI"})
    wanted = {"aspsp_name": bank["name"], "aspsp_country": "FI", "redirect_url": "http://localhost:8000/"}
    back = approve(ask("POST", "/banks/connect", json=wanted)["url"])
    ask("POST", "/banks/callback", json=dict(parse_qsl(urlsplit(back).query)))
    runs = [ask("POST", "/sync", json={"full_sync": True}) for _ in range(2)]
    ibans = [account["iban"] for account in ask("GET", "/accounts")]
    entries = {
        iban: [entry["transaction_id"] for entry in ask("GET", "/transactions", params={"account_id": iban})["data"]]
        for iban in sorted(ibans)
    }
print(json.dumps({"entries": entries, "added": [run["transactions_added"] for run in runs]}))
