"""A test of leggen, as its developer would write it: connect if needed, read twice, and check what is stored.

    xs2a-sandbox campaign --dialect enable-banking -- python check_leggen.py

It knows no fault.
"""

import os
import sys
from pathlib import Path

from leggen_app import connect, run_leggen

APPLICATION = "5a11ab1e-0000-4000-8000-00000000e7e1"

with run_leggen(Path(os.environ["XS2A_SANDBOX_RUN_DIR"]), APPLICATION, os.environ["XS2A_SANDBOX_URL"]) as ask:
    connections = ask("GET", "/banks/status")
    if not any(connection["status"] == "active" for connection in connections):
        connect(ask)
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
