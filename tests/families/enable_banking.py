"""An app for the dialect enable-banking: it signs its tokens, and sends customers through the bank's pages."""

import re
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.support.engine_client import Answer, Client

APPLICATION = "5a11ab1e-0000-4000-8000-00000000e7e1"
BACK = "https://tpp.example/back"
BANK = {"name": "Nordlys Bank", "country": "FI"}
EVERYDAY, SAVINGS, OUTSIDE = "FI6779990100000011", "FI6679990100000029", "FI4079990300000044"
ENTRIES = ["P-14", *(f"A-{number:02}" for number in range(13, 0, -1))]
"""The ids of the entries of the account EVERYDAY."""
KEY, OTHER_KEY = RSAKey.generate_key(2048), RSAKey.generate_key(2048)


def sign(key: RSAKey = KEY, application: str = APPLICATION, **claims: Any) -> str:
    """Return a token that is valid for an hour of the real time."""
    now = int(time.time())
    content = {"iss": "enablebanking.com", "aud": "api.enablebanking.com", "iat": now, "exp": now + 3600, **claims}
    return jwt.encode({"typ": "JWT", "alg": "RS256", "kid": application}, content, key)


def in_days(days: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + days * 86400))


def payment(amount: str = "30.00", **request: Any) -> dict[str, Any]:
    account = {"scheme_name": "IBAN", "identification": OUTSIDE}
    transfer = {
        "instructed_amount": {"amount": amount, "currency": "EUR"},
        "beneficiary": {"creditor": {"name": "Torihalli"}, "creditor_account": account},
        "remittance_information": ["Invoice 7"],
    }
    payer = {"scheme_name": "IBAN", "identification": EVERYDAY}
    return {
        "payment_type": "SEPA",
        "payment_request": {"debtor_account": payer, "credit_transfer_transaction": [transfer], **request},
        "aspsp": BANK,
        "state": "xyz",
        "redirect_url": BACK,
        "psu_type": "personal",
    }


@dataclass(frozen=True)
class App:
    bank: Client
    token: str = ""

    def ask(self, method: str, path: str, data: Any = None, **headers: str) -> Answer:
        more = {} if data is None else {"json": data}
        sent = {"Authorization": f"Bearer {self.token or sign()}", "PSU-IP-Address": None, **headers}
        return self.bank.request(method, path, headers=sent, **more)

    def get(self, path: str, **query: str) -> Answer:
        return self.ask("GET", f"{path}?{urlencode(query)}" if query else path)

    def start(self, days: float = 80, **more: Any) -> Answer:
        wanted = {"aspsp": BANK, "state": "abc", "redirect_url": BACK, "access": {"valid_until": in_days(days)}}
        return self.ask("POST", "/auth", {**wanted, **more})

    def approve(self, url: str, *accounts: str) -> dict[str, str]:
        """Go the customer's way through the pages, and return the parameters with which the browser comes back."""
        page = _local(url)
        shown = self.bank.get(page)
        if shown.status == 303:
            page = f"/sca/{shown.headers['location']}"
        steps: list[dict[str, Any]] = [{"customer": "aino"}, *([{"account": accounts}] if accounts else [])]
        for fields in (*steps, {"otp": "123456"}):
            hidden = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', self.bank.get(page).body.decode())
            form = urlencode({**dict(hidden), **fields}, doseq=True).encode()
            answer = self.bank.post(page, body=form, headers={"Content-Type": "application/x-www-form-urlencoded"})
            assert answer.status == 303, answer.body
        back = urlsplit(answer.headers["location"])
        assert f"{back.scheme}://{back.netloc}{back.path}" == BACK
        return dict(parse_qsl(back.query))

    def connect(self, *accounts: str, **more: Any) -> Any:
        """Return a new session."""
        started = self.start(**more)
        assert started.status == 200, started.body
        answer = self.ask("POST", "/sessions", {"code": self.approve(started.json()["url"], *accounts)["code"]})
        assert answer.status == 200, answer.body
        return answer.json()

    def uid(self, *accounts: str, **more: Any) -> str:
        """Return the id of the first account of a new session."""
        uid: str = self.connect(*(accounts or (EVERYDAY,)), **more)["accounts"][0]["uid"]
        return uid

    def entries(self, uid: str, **query: str) -> list[Any]:
        """Return the entries of all pages."""
        entries: list[Any] = []
        while True:
            answer = self.get(f"/accounts/{uid}/transactions", **query)
            assert answer.status == 200, answer.body
            entries += answer.json()["transactions"]
            if not (key := answer.json()["continuation_key"]):
                return entries
            query["continuation_key"] = key

    def pay(self, **request: Any) -> str:
        """Return the id of a payment that the customer has authorised."""
        made = self.ask("POST", "/payments", payment(**request)).json()
        assert self.approve(made["url"]) == {"state": "xyz"}
        id: str = made["payment_id"]
        return id


def refusal(answer: Answer) -> tuple[int, str]:
    content = answer.json()
    assert content["code"] == answer.status
    return answer.status, content["error"]


def _local(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"
