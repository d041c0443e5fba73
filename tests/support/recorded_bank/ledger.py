"""Changing data of the bank: consents, payments, authorisations, tokens. The server holds one lock."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, quote, urlencode

from tests.support.recorded_bank import holdings, oddities
from tests.support.recorded_bank.planted import plant

TOKENS = "answer body, POST /oauth/token"
FIRST_TOKEN = plant("token", f"{TOKENS}, access_token")
SECOND_TOKEN = plant("token", f"{TOKENS}, access_token for the code")
REFRESH = plant("token", f"{TOKENS}, refresh_token")
ID_TOKEN = plant("token", f"{TOKENS}, id_token")
CODE = plant("token", "answer header Location, query of the redirect to the TPP: code")
PAGE_TOKEN = plant("token", "answer body, POST /v1/consents, _links.scaRedirect: a segment of the path")
PAGE_STATE = plant("token", "answer body, POST /v1/consents, _links.scaRedirect: state in the query")
SESSION_COOKIE = plant("cookie", "answer header Set-Cookie, POST /v1/consents")
LOGIN_COOKIE = plant("cookie", "answer header Set-Cookie, the login page")
AUTH_TOKEN = plant("token", "answer header X-Auth-Token, GET /v1/accounts")
CUSTOMER_HEADER = plant("name", "answer header X-Customer-Name, percent-encoded, GET /v1/accounts")
CURSOR = plant("token", "answer body, GET /v1/accounts/{id}/transactions, _links.next: sessionToken in the query")
HINT = plant(
    "iban", "answer body, POST …/authorisations, _links.scaRedirect: an IBAN in the query of a URL in the query"
)
GREETING = plant("name", "answer body, POST …/authorisations, psuMessage")
CHALLENGE = plant("otp", "answer body, POST …/authorisations, challengeData.data")
MASKED_PHONE = plant("phone", "answer body, POST …/authorisations, challengeData.additionalInformation")

Answer = tuple[int, list[tuple[str, str]], bytes]


@dataclass(frozen=True)
class BankRequest:
    method: str
    path: tuple[str, ...]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Ledger:
    """`base` is the start of the bank's absolute links, `login` the address of its token server."""

    base: str
    login: str
    consents: dict[str, dict[str, Any]] = field(default_factory=dict)
    payments: dict[str, dict[str, Any]] = field(default_factory=dict)
    authorisations: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, request: BankRequest) -> Answer:
        match request.method, request.path:
            case "GET", (".well-known", "openid-configuration"):
                return self._ok({"issuer": self.login, "token_endpoint": f"{self.login}/oauth/token"})
            case "POST", ("v1", "consents"):
                return self._new_consent(request)
            case "GET", ("authorize", _):
                return self._login(request)
            case _, ("v1", "consents", id, *rest):
                return self._consent(request, id, rest)
            case "GET", ("v1", "accounts", *rest):
                return self._accounts(request, rest)
            case "GET", ("v1", "card-accounts"):
                return self._ok({"cardAccounts": holdings.CARD_ACCOUNTS})
            case "POST", ("v1", "funds-confirmations"):
                enough = float(request.json["instructedAmount"]["amount"]) < 1000
                return self._ok({"fundsAvailable": enough})
            case "POST", ("v1", ("payments" | "periodic-payments") as service, product):
                return self._new_payment(request, service, product)
            case _, ("v1", ("payments" | "periodic-payments"), _, id, *rest):
                return self._payment(request, id, rest)
            case "GET", ("customers", psu, "profile"):
                is_ours = psu == holdings.PSU_ID
                return self._ok(holdings.CUSTOMER) if is_ours else self._error(404, oddities.ERRORS["unknown-account"])
            case "POST", ("customers", _, "search"):
                return self._ok({"found": [holdings.ACCOUNTS[0], holdings.CUSTOMER["contact"]], "asked": request.json})
            case "GET", ("search",):
                return self._ok(
                    {"hits": 1, "asked": dict(request.query), "first": {"iban": holdings.OWN, "amount": "1310.25"}}
                )
            case "POST", ("search",):
                return self._ok({"hits": 0})
            case "GET", ("odd", _):
                status, headers, body = oddities.ANSWERS["/" + "/".join(request.path)]
                return status, list(headers), body
        return self._error(404, {"category": "ERROR", "code": "RESOURCE_UNKNOWN", "text": "no such thing"})

    def token(self, request: BankRequest) -> Answer:
        """Answer a request to the token server."""
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        if form.get("grant_type") == "password":
            status, body = (
                400,
                {
                    "error": "invalid_grant",
                    "error_description": f"user {form['username']} has a wrong password {form['password']}",
                },
            )
            return status, [("Content-Type", "application/json")], _json(body)
        first = form["grant_type"] == "client_credentials"
        body = {
            "access_token": FIRST_TOKEN if first else SECOND_TOKEN,
            "token_type": "Bearer",
            "expires_in": 3600,
            "scope": "AIS PIS",
        }
        if not first:
            body |= {"refresh_token": REFRESH, "id_token": ID_TOKEN}
        return self._ok(body, ("Cache-Control", "no-store"))

    def _ok(self, body: Any, *headers: tuple[str, str], status: int = 200) -> Answer:
        return status, [("Content-Type", "application/json"), *headers], _json(body)

    def _error(self, status: int, message: Any) -> Answer:
        return status, [("Content-Type", "application/json")], _json({"tppMessages": [message]})

    def _new_consent(self, request: BankRequest) -> Answer:
        id = str(uuid.uuid4())
        here = f"{self.base}/v1/consents/{id}"
        self.consents[id] = {
            "status": "received",
            "access": request.json["access"],
            "until": request.json["validUntil"],
        }
        back = {
            "state": PAGE_STATE,
            "redirect_uri": request.headers["tpp-redirect-uri"],
            "login_hint": request.headers["psu-id"],
            "consent": id,
        }
        body = {
            "consentStatus": "received",
            "consentId": id,
            "psuMessage": f"Bitte bestätigen Sie, {holdings.HOLDER}",
            "_links": {
                "scaRedirect": {"href": f"{self.base}/authorize/{PAGE_TOKEN}?{urlencode(back)}"},
                "self": {"href": here},
                "status": {"href": f"{here}/status"},
                "scaStatus": {"href": f"{here}/authorisations/{uuid.uuid4()}"},
            },
        }
        cookie = f"BANKSESSION={SESSION_COOKIE}; Path=/; Secure; HttpOnly"
        return self._ok(
            body, ("Location", here), ("ASPSP-SCA-Approach", "REDIRECT"), ("Set-Cookie", cookie), status=201
        )

    def _login(self, request: BankRequest) -> Answer:
        consent = self.consents.get(request.query["consent"])
        if consent is None or request.path[1] != PAGE_TOKEN:
            return 404, [("Content-Type", "text/html")], b"<h1>Link abgelaufen</h1>"
        consent["status"] = "valid"
        back = f"{request.query['redirect_uri']}&{urlencode({'code': CODE, 'state': request.query['state']})}"
        cookie = f"LOGIN={LOGIN_COOKIE}; Secure"
        page = f'<p>Weiter, {holdings.HOLDER}: <a href="{back.replace("&", "&amp;")}">zurück</a></p>'
        return (
            302,
            [("Location", back), ("Set-Cookie", cookie), ("Set-Cookie", "lang=de"), ("Content-Type", "text/html")],
            page.encode(),
        )

    def _consent(self, request: BankRequest, id: str, rest: list[str]) -> Answer:
        consent = self.consents.get(id)
        if consent is None:
            return self._error(403, {"category": "ERROR", "code": "CONSENT_UNKNOWN", "text": f"consent {id} unknown"})
        if request.method == "DELETE":
            consent["status"] = "terminatedByTpp"
            return 204, [], b""
        if rest == ["status"]:
            return self._ok({"consentStatus": consent["status"]})
        return self._ok(
            {
                "access": consent["access"],
                "recurringIndicator": True,
                "validUntil": consent["until"],
                "frequencyPerDay": 4,
                "lastActionDate": "2026-10-21",
                "consentStatus": consent["status"],
                "x-psu": {"id": holdings.PSU_ID, "name": holdings.HOLDER},
            }
        )

    def _accounts(self, request: BankRequest, rest: list[str]) -> Answer:
        if self.consents.get(request.headers.get("consent-id", ""), {}).get("status") != "valid":
            return self._error(
                401, {"category": "ERROR", "code": "CONSENT_INVALID", "text": "the consent is not valid"}
            )
        if not rest:
            listed = [account | {"_links": self._links(account)} for account in holdings.ACCOUNTS]
            if request.query.get("withBalance") == "true":
                listed = [account | {"balances": _balances(n)} for n, account in enumerate(listed)]
            customer = ("X-Customer-Name", quote(CUSTOMER_HEADER))
            return self._ok({"accounts": listed}, ("X-Auth-Token", AUTH_TOKEN), customer, ("X-Account", holdings.OWN))
        number = next((n for n, account in enumerate(holdings.ACCOUNTS) if account["resourceId"] == rest[0]), None)
        if number is None:
            return self._error(404, oddities.ERRORS["unknown-account"])
        account = holdings.ACCOUNTS[number]
        match rest[1:]:
            case []:
                return self._ok({"account": account | holdings.DETAIL | {"_links": self._links(account)}})
            case ["balances"]:
                return self._ok({"account": {"iban": account["iban"]}, "balances": _balances(number)})
            case ["documents"]:
                return self._ok(holdings.DOCUMENTS)
            case ["transactions"]:
                return self._transactions(request, number)
            case ["transactions", id]:
                matching = [one for one in holdings.TRANSACTIONS[number] if one["transactionId"] == id]
                return self._ok({"transactionsDetails": matching[0]})
        return self._error(404, oddities.ERRORS["unknown-account"])

    def _transactions(self, request: BankRequest, number: int) -> Answer:
        account = holdings.ACCOUNTS[number]
        page = int(request.query.get("page", "0"))
        entries = holdings.TRANSACTIONS[number]
        here = f"{self.base}/v1/accounts/{account['resourceId']}/transactions"
        first = page * holdings.PER_PAGE
        links = {"account": {"href": f"{self.base}/v1/accounts/{account['resourceId']}"}}
        if len(entries) > first + holdings.PER_PAGE:
            further = {"bookingStatus": "booked", "page": page + 1, "sessionToken": CURSOR, "iban": account["iban"]}
            links["next"] = {"href": f"{here}?{urlencode(further)}"}
        visible = [
            one | {"_links": {"transactionDetails": {"href": f"{here}/{one['transactionId']}"}}}
            for one in entries[first : first + holdings.PER_PAGE]
        ]
        return self._ok({"account": {"iban": account["iban"]}, "transactions": {"booked": visible, "_links": links}})

    def _links(self, account: Mapping[str, Any]) -> dict[str, Any]:
        here = f"{self.base}/v1/accounts/{account['resourceId']}"
        return {"balances": {"href": f"{here}/balances"}, "transactions": {"href": f"{here}/transactions"}}

    def _new_payment(self, request: BankRequest, service: str, product: str) -> Answer:
        id = str(uuid.uuid4())
        here = f"{self.base}/v1/{service}/{product}/{id}"
        self.payments[id] = {
            "status": "RCVD",
            "here": here,
            "asked": None if product.startswith("pain") else request.json,
        }
        links = {"self": {"href": here}, "status": {"href": f"{here}/status"}}
        links["startAuthorisationWithPsuAuthentication"] = {"href": f"{here}/authorisations"}
        body = {
            "transactionStatus": "RCVD",
            "paymentId": id,
            "transactionFees": {"currency": "EUR", "amount": "0.20"},
            "_links": links,
        }
        return self._ok(body, ("Location", here), ("ASPSP-SCA-Approach", "EMBEDDED"), status=201)

    def _payment(self, request: BankRequest, id: str, rest: list[str]) -> Answer:
        payment = self.payments.get(id)
        if payment is None:
            return self._error(404, {"category": "ERROR", "code": "RESOURCE_UNKNOWN", "text": f"payment {id} unknown"})
        match request.method, rest:
            case "GET", []:
                return self._ok({"transactionStatus": payment["status"], **(payment["asked"] or {})})
            case "GET", ["status"]:
                now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
                return self._ok({"transactionStatus": payment["status"], "fundsAvailable": True, "asOf": now})
            case "POST", ["authorisations"]:
                started = str(uuid.uuid4())
                self.authorisations[started] = {"status": "received"}
                inner = f"https://app.bank.example/sca?{urlencode({'iban': HINT, 'psu': holdings.PSU_ID})}"
                here = f"{payment['here']}/authorisations/{started}"
                return self._ok(
                    {
                        "scaStatus": "received",
                        "authorisationId": started,
                        "psuMessage": f"Liebe/r {GREETING}, geben Sie die TAN ein",
                        "challengeData": {"data": [CHALLENGE], "additionalInformation": f"gesendet an {MASKED_PHONE}"},
                        "_links": {
                            "authoriseTransaction": {"href": here},
                            "scaStatus": {"href": here},
                            "scaRedirect": {"href": f"https://app.bank.example/open?{urlencode({'url': inner})}"},
                        },
                    },
                    status=201,
                )
            case "PUT", ["authorisations", started]:
                data = request.json
                if "password" in data.get("psuData", {}):
                    self.authorisations[started]["status"] = "psuAuthenticated"
                elif data["scaAuthenticationData"].startswith("0"):
                    return self._error(400, oddities.ERRORS["wrong-otp"])
                else:
                    self.authorisations[started]["status"] = "finalised"
                    payment["status"] = "ACSC"
                return self._ok({"scaStatus": self.authorisations[started]["status"]})
            case "GET", ["authorisations", started]:
                return self._ok({"scaStatus": self.authorisations[started]["status"]})
        return self._error(405, {"category": "ERROR", "code": "SERVICE_INVALID", "text": "not so"})


def _balances(number: int) -> list[dict[str, Any]]:
    amount = holdings.AMOUNTS[number % len(holdings.AMOUNTS)]
    return [
        {"balanceType": kind, "balanceAmount": {"currency": "EUR", "amount": amount}, "referenceDate": "2026-10-21"}
        for kind in ("closingBooked", "interimAvailable")
    ]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
