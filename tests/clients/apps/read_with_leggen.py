"""Connect leggen to a bank through its own API, let it read twice, and print what it has stored.

Variables: BASE_URL is the sandbox, APPLICATION the id of the application.
"""

import json
import os
import tempfile
from pathlib import Path

from leggen_app import connect, run_leggen

with run_leggen(Path(tempfile.mkdtemp()), os.environ["APPLICATION"], os.environ["BASE_URL"]) as ask:
    connect(ask)
    runs = [ask("POST", "/sync", json={"full_sync": True}) for _ in range(2)]
    ibans = [account["iban"] for account in ask("GET", "/accounts")]
    entries = {
        iban: [entry["transaction_id"] for entry in ask("GET", "/transactions", params={"account_id": iban})["data"]]
        for iban in sorted(ibans)
    }
print(json.dumps({"entries": entries, "added": [run["transactions_added"] for run in runs]}))
