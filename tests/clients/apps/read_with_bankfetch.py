"""Connect bankfetch to a bank and print all that it reads. Its address is fixed, so it needs the proxy.

Variables: APPLICATION is the id of the application; HTTPS_PROXY and REQUESTS_CA_BUNDLE lead to the sandbox.
"""

import json
import os
import tempfile
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from bank_page import approve, new_key
from bankfetch.auth import AuthClient
from bankfetch.client import EnableBankingClient
from bankfetch.config import Config

key = Path(tempfile.mkdtemp()) / "key.pem"
key.write_bytes(new_key())
key.chmod(0o600)
back = "https://localhost/auth_redirect"
config = Config(os.environ["APPLICATION"], str(key), back, str(key.with_name("session")), 30, "Nordlys Bank", "FI")
auth, client = AuthClient(config), EnableBankingClient(config)
url, _ = auth._start_auth()
session = auth._create_session(dict(parse_qsl(urlsplit(approve(url)).query))["code"])
accounts = client.get_accounts([account["uid"] for account in session["accounts"]])
entries = {
    account["account_id"]["iban"]: [entry["entry_reference"] for entry in client.get_transactions(account["uid"])]
    for account in accounts
}
print(json.dumps({"entries": entries, "status": auth.check_session(session["session_id"])}))
