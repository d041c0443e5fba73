"""A small app for UK Open Banking that reads accounts and pays the rent, with bugs that can be switched on by name.

    xs2a-sandbox campaign --dialect obie-4.0 --checks idempotency -- python open_banking_app.py [BUG …]

Without a bug it pays once, whatever goes wrong at the bank, and its next run works again.
"""

import base64
import http.client
import json
import os
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

BUGS = {
    "new-key": "a payment whose answer was lost is sent again with another idempotency key",
    "keeps-consent": "a consent that the bank refuses is used for ever",
}
BACK = "https://tpp.example/back"
AISP, PISP = "/open-banking/v4.0/aisp", "/open-banking/v4.0/pisp"
PAYER = {"SchemeName": "UK.OBIE.IBAN", "Identification": "GB33BUKB20201555555555", "Name": "Grace Harbour"}
LANDLORD = {"SchemeName": "UK.OBIE.SortCodeAccountNumber", "Identification": "60161331926819", "Name": "Quayside"}
PARTIES = {"DebtorAccount": PAYER, "CreditorAccount": LANDLORD}
RENT = {"Amount": "64.00", "Currency": "GBP"}

type Json = dict[str, Any]


class Trouble(Exception):
    """The answer is an error (`status`), or it was lost or cannot be read (None)."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"the bank answered {status or 'nothing that can be read'}")
        self.status = status


class TooMany(Exception):
    """The bank wants no requests now, so the run ends."""


UNREADABLE = (KeyError, IndexError, TypeError)
REFUSED = (400, 401, 403)


class App:
    """`kept` has a consent and its tokens for each scope, the idempotency key of the payment, and its id when paid."""

    def __init__(self, url: str, folder: Path, bugs: frozenset[str]) -> None:
        self._url = urlsplit(url)
        self._file = folder / "kept.json"
        self._bugs = bugs
        self.kept: Json = json.loads(self._file.read_text()) if self._file.exists() else {}

    def read_accounts(self) -> None:
        """Read the balances of all accounts, also if one account fails."""
        failed: Exception | None = None
        for account in self._as_customer("accounts", "GET", f"{AISP}/accounts")["Data"]["Account"]:
            try:
                read = self._as_customer("accounts", "GET", f"{AISP}/accounts/{account['AccountId']}/balances")
                self.kept.setdefault("balances", {})[account["AccountId"]] = read["Data"]["Balance"][0]["Amount"]
            except (Trouble, *UNREADABLE) as trouble:
                failed = trouble
        if failed:
            raise failed

    def pay_rent(self) -> None:
        if self.kept.get("paid"):
            return
        self.kept.setdefault("key", str(uuid.uuid4()))
        self._consent("payments")
        self.save()
        try:
            self._send_payment()
        except (Trouble, *UNREADABLE):
            # The bank may have paid although it answers with an error. With the same key it does not pay again.
            if "new-key" in self._bugs:
                self.kept["key"] = str(uuid.uuid4())
            try:
                self._send_payment()
            except Trouble as trouble:
                self._refused("payments", trouble)
                raise

    def save(self) -> None:
        self._file.write_text(json.dumps(self.kept))

    def _send_payment(self) -> None:
        identification = {"InstructionIdentification": "RENT-11", "EndToEndIdentification": "RENT-11"}
        data = {
            "ConsentId": self._consent("payments"),
            "PSUAuthenticationMethod": "UK.OBIE.SCA",
            "VRPType": "UK.OBIE.VRPType.Sweeping",
            "Initiation": PARTIES,
            "Instruction": {**identification, "InstructedAmount": RENT, "CreditorAccount": LANDLORD},
        }
        once = {"x-idempotency-key": self.kept["key"]}
        answer = self._as_customer("payments", "POST", f"{PISP}/domestic-vrps", {"Data": data, "Risk": {}}, once)
        self.kept["paid"] = answer["Data"]["DomesticVRPId"]

    # Consents and tokens

    def _consent(self, scope: str) -> str:
        if scope not in self.kept:
            own = self._token(grant_type="client_credentials", scope=scope)["access_token"]
            made = self._ask("POST", *_consent_for(scope), bearer=own)["Data"]["ConsentId"]
            tokens = self._token(grant_type="authorization_code", code=self._approve(made, scope), redirect_uri=BACK)
            self.kept[scope] = {"consent": made, "token": tokens["access_token"], "refresh": tokens["refresh_token"]}
        consent: str = self.kept[scope]["consent"]
        return consent

    def _as_customer(
        self, scope: str, method: str, path: str, body: Json | None = None, more: Mapping[str, str] | None = None
    ) -> Json:
        """Send a request with the customer's token, renewing the token if the bank refuses it."""
        self._consent(scope)
        try:
            try:
                return self._ask(method, path, body, bearer=self.kept[scope]["token"], more=more)
            except Trouble as trouble:
                if trouble.status != 401:
                    raise
            self._refresh(scope)
            return self._ask(method, path, body, bearer=self.kept[scope]["token"], more=more)
        except Trouble as trouble:
            if scope == "accounts":
                self._refused(scope, trouble)
            raise

    def _refused(self, scope: str, trouble: Trouble) -> None:
        """Forget a consent that the bank refuses. The next run asks the customer for another one."""
        if trouble.status in REFUSED and "keeps-consent" not in self._bugs:
            self.kept.pop(scope, None)

    def _refresh(self, scope: str) -> None:
        connection = self.kept[scope]
        tokens = self._token(grant_type="refresh_token", refresh_token=connection["refresh"])
        connection |= {"token": tokens["access_token"], "refresh": tokens.get("refresh_token") or connection["refresh"]}

    def _token(self, **form: str) -> Json:
        fields = urlencode({"client_id": "tpp", "client_secret": "secret", **form})
        answer = self._ask("POST", "/token", fields)
        if not isinstance(answer.get("access_token"), str):
            raise Trouble(None)
        return answer

    def _approve(self, consent: str, scope: str) -> str:
        """Return the code with which the customer comes back from the bank's page, having pressed its button."""
        claims = {"claims": {"id_token": {"openbanking_intent_id": {"value": consent}}}}
        link = {"response_type": "code", "client_id": "tpp", "redirect_uri": BACK, "scope": f"openid {scope}"}
        request = f"{_encode({'alg': 'PS256'})}.{_encode(claims)}.c2ln"
        place = self._redirect(f"/sca/auth?{urlencode({**link, 'request': request, 'decide': 'approve'})}")
        back = self._redirect(place if place.startswith("/") else f"/sca/{place}")
        code = parse_qs(urlsplit(back).query).get("code")
        if code is None:
            raise Trouble(None)
        return code[0]

    # HTTP

    def _redirect(self, target: str) -> str:
        status, location, _ = self._send("GET", target, b"", {})
        if status not in (302, 303):
            raise Trouble(status)
        parts = urlsplit(location)
        return location if location.startswith(BACK) or not parts.netloc else f"{parts.path}?{parts.query}"

    def _ask(
        self,
        method: str,
        path: str,
        body: Json | str | None = None,
        *,
        bearer: str = "",
        more: Mapping[str, str] | None = None,
    ) -> Json:
        headers = {"Authorization": f"Bearer {bearer}", "x-jws-signature": f"{_encode(ISSUER)}..c2ln", **(more or {})}
        headers["Content-Type"] = "application/x-www-form-urlencoded" if isinstance(body, str) else "application/json"
        sent = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
        status, _, answer = self._send(method, path, sent, headers if bearer else {**headers, "Authorization": "none"})
        if status == 429:
            raise TooMany
        if status not in (200, 201):
            raise Trouble(status)
        try:
            value = json.loads(answer)
        except ValueError:
            raise Trouble(None) from None
        if not isinstance(value, dict):
            raise Trouble(None)
        return value

    def _send(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=30)
        own = target if target.startswith(f"{self._url.path}/") else self._url.path + target
        try:
            connection.request(method, own, body, dict(headers))
            response = connection.getresponse()
            return response.status, response.headers.get("Location") or "", response.read()
        except (OSError, http.client.HTTPException):
            raise Trouble(None) from None
        finally:
            connection.close()


ISSUER = {"http://openbanking.org.uk/iss": "0015800000sandboxA/tpp"}


def _encode(part: Json) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")


def _consent_for(scope: str) -> tuple[str, Json]:
    """Return the path and the body of the request for a consent."""
    if scope == "accounts":
        data: Json = {"Permissions": ["ReadAccountsBasic", "ReadBalances"]}
        return f"{AISP}/account-access-consents", {"Data": data, "Risk": {}}
    limits = {
        "VRPType": ["UK.OBIE.VRPType.Sweeping"],
        "PSUAuthenticationMethods": ["UK.OBIE.SCA"],
        "MaximumIndividualAmount": {"Amount": "100.00", "Currency": "GBP"},
        "PeriodicLimits": [
            {"PeriodType": "Month", "PeriodAlignment": "Consent", "Amount": "500.00", "Currency": "GBP"}
        ],
    }
    return f"{PISP}/domestic-vrp-consents", {"Data": {"ControlParameters": limits, "Initiation": PARTIES}, "Risk": {}}


def main() -> int:
    bugs = frozenset(sys.argv[1:])
    if unknown := bugs - BUGS.keys():
        sys.exit(f"there is no bug {sorted(unknown)[0]}")
    app = App(os.environ["XS2A_SANDBOX_URL"], Path(os.environ["XS2A_SANDBOX_RUN_DIR"]), bugs)
    wrong = []
    for step in (app.pay_rent, app.read_accounts):
        try:
            step()
        except (Trouble, TooMany, *UNREADABLE) as error:
            wrong.append(f"{step.__name__}: {type(error).__name__} {error}")
            if isinstance(error, TooMany):
                break
        finally:
            app.save()
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
