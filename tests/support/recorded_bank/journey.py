"""An app's flow through the bank with real data of its customer. It is the same for a bank and for a sandbox."""

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import requests

from tests.support.recorded_bank import forms, holdings, oddities
from tests.support.recorded_bank.planted import plant

_HEADERS = "request header"
API_KEY = plant("api key", f"{_HEADERS} X-API-Key")
CLIENT_SECRET_HEADER = plant("client secret", f"{_HEADERS} X-IBM-Client-Secret")
COOKIE = plant("cookie", f"{_HEADERS} Cookie")
SIGNATURE = plant("signature", f"{_HEADERS} Signature")
CERTIFICATE = plant("certificate", f"{_HEADERS} TPP-Signature-Certificate")
IPV4 = plant("ipv4", f"{_HEADERS} PSU-IP-Address")
IPV6 = plant("ipv6", f"{_HEADERS} X-Forwarded-For")
DEVICE = plant("device", f"{_HEADERS} PSU-Device-ID")
PLACE = plant("place on earth", f"{_HEADERS} PSU-Geo-Location")
CORPORATE = plant("psu id", f"{_HEADERS} PSU-Corporate-ID")
USER = plant("name", f"{_HEADERS} X-Customer, percent-encoded")
STATE = plant("token", f"{_HEADERS} TPP-Redirect-URI, state in its query")
BASIC = plant("password", f"{_HEADERS} Authorization: Basic")

CLIENT_SECRET = plant("client secret", "form body, POST /oauth/token, client_secret")
USER_PASSWORD = plant("password", "form body, POST /oauth/token, password")
USER_NAME = plant("e-mail", "form body, POST /oauth/token, username")
PAYMENT = "request body, POST /v1/payments"
CREDITOR = plant("name", f"{PAYMENT}, creditorName")
CREDITOR_IBAN = plant("iban", f"{PAYMENT}, creditorAccount")
CREDITOR_STREET = plant("address", f"{PAYMENT}, creditorAddress")
CREDITOR_TOWN = plant("town", f"{PAYMENT}, creditorAddress")
REMITTANCE = plant("remittance", f"{PAYMENT}, remittanceInformationUnstructured")
UNKNOWN = plant("name", f"{PAYMENT}, an unknown member")
UNKNOWN_IBAN = plant("iban", f"{PAYMENT}, a key of an unknown member")
XML_NAME = plant("name", "request body in XML, Nm")
XML_IBAN = plant("iban", "request body in XML, IBAN")
XML_TEXT = plant("remittance", "request body in XML, Ustrd")
FORM = forms.form("form body, POST /search")
_MADE_UP = "a-boundary-for-this-body"
MULTIPART = forms.multipart("multipart body, POST /v1/payments", _MADE_UP)
PASSWORD = plant("password", "request body, PUT …/authorisations, psuData.password")
OTP = plant("otp", "request body, PUT …/authorisations, scaAuthenticationData")
WRONG_OTP = plant("otp", "request body, PUT …/authorisations, a wrong scaAuthenticationData", "0" + OTP[::-1])
UNKNOWN_ACCOUNT = plant("iban", "path, GET /v1/accounts/{iban}")
PROXY_AUTH_REQUIRED = plant("e-mail", "path, GET /customers/{e-mail}/profile")
STRANGER_NAME = plant("name", "path, GET /customers/{name}/profile")
QUERY = {
    "iban": plant("iban", "query, iban"),
    "q": plant("name", "query, q"),
    "phone": plant("phone", "query, phone"),
    "access_token": plant("token", "query, access_token"),
    "api_key": plant("api key", "query, api_key"),
    "email": plant("e-mail", "query, email"),
    "street": plant("address", "query, street"),
    "note": plant("remittance", "query, note"),
}
SEARCH = {
    "filter": {
        "holder": plant("name", "request body, search, holder"),
        "or": [{"iban": plant("iban", "request body, search, or")}],
    },
    "taxNumber": plant("tax number", "request body, search, taxNumber"),
    "clientIp": plant("ipv4", "request body, search, clientIp"),
    "encoded": base64.b64encode(plant("name", "request body, search, base64").encode()).decode(),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One exchange as the app saw it. `target` has no origin."""

    name: str
    method: str
    target: str
    sent: Mapping[str, str]
    sent_body: bytes
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class App:
    """`base` is the URL above the bank's paths, `login` the origin of the token server."""

    def __init__(
        self, base: str, login: str, ca: str, *, proxy: str | None = None, cert: tuple[str, str] | None = None
    ) -> None:
        self.base, self.login = base, login
        self.steps: list[Step] = []
        self.token: str | None = None
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.verify, self._session.cert = ca, cert
        if proxy:
            self._session.proxies = {"http": proxy, "https": proxy}

    def ask(
        self, name: str, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Step:
        """Send a request. `url` is absolute or relative to the bank; a body that is not bytes is sent as JSON."""
        content = body if isinstance(body, bytes | None) else json.dumps(body, ensure_ascii=False).encode()
        sent = {
            "X-Request-ID": str(uuid.uuid4()),
            "Date": "Wed, 21 Oct 2026 10:11:12 GMT",
            "PSU-ID": holdings.PSU_ID,
            "PSU-IP-Address": IPV4,
            "X-API-Key": API_KEY,
            "Cookie": f"BANKSESSION={COOKIE}; lang=de",
            "Signature": f'keyId="SN=1",algorithm="rsa-sha256",signature="{SIGNATURE}"',
            "TPP-Signature-Certificate": CERTIFICATE,
            **({"Authorization": f"Bearer {self.token}"} if self.token else {}),
            **({"Content-Type": "application/json"} if content is not None else {}),
            **(headers or {}),
        }
        response = self._session.request(
            method,
            url if "://" in url else self.base + url,
            headers=sent,
            data=content,
            allow_redirects=False,
            timeout=30,
            stream=True,
        )
        try:
            received = response.content
        except requests.exceptions.ContentDecodingError:
            received = b"not what its Content-Encoding says"
        finally:
            response.close()
            # Cookies of the bank are not returned. Every request has the cookies given here.
            self._session.cookies.clear()
        target = urlsplit(str(response.request.url))
        step = Step(
            name,
            method,
            target.path + (f"?{target.query}" if target.query else ""),
            {str(name): str(value) for name, value in response.request.headers.items()},
            content or b"",
            response.status_code,
            response.headers,
            received,
        )
        self.steps.append(step)
        return step

    def walk(self) -> list[Step]:
        self._tokens()
        consent = self._consent()
        self._accounts(consent)
        self._payment()
        self._elsewhere(consent)
        self._end(consent)
        return self.steps

    def _form(self, name: str, **fields: str) -> Step:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-IBM-Client-Secret": CLIENT_SECRET_HEADER}
        body = urlencode({"client_id": "tpp-1", "client_secret": CLIENT_SECRET, **fields}).encode()
        return self.ask(name, "POST", f"{self.login}/oauth/token", headers=headers, body=body)

    def _tokens(self) -> None:
        self.ask("where tokens come from", "GET", "/.well-known/openid-configuration")
        self._form("a wrong password", grant_type="password", username=USER_NAME, password=USER_PASSWORD)
        self.token = self._form("a token of the app", grant_type="client_credentials", scope="AIS PIS").json[
            "access_token"
        ]

    def _consent(self) -> dict[str, str]:
        """Return the headers for requests that use the consent."""
        access = {
            name: [{"iban": iban} for iban in holdings.IBANS] for name in ("accounts", "balances", "transactions")
        }
        made = self.ask(
            "a consent",
            "POST",
            "/v1/consents",
            headers={
                "TPP-Redirect-Preferred": "true",
                "TPP-Redirect-URI": f"https://tpp.example/back?{urlencode({'state': STATE})}",
                "PSU-Corporate-ID": CORPORATE,
                "PSU-Device-ID": DEVICE,
                "PSU-Geo-Location": PLACE,
                "X-Forwarded-For": IPV6,
                "X-Customer": quote(USER),
            },
            body={"access": access, "recurringIndicator": True, "validUntil": "2027-03-01", "frequencyPerDay": 4},
        )
        links, consent = made.json["_links"], {"Consent-ID": made.json["consentId"]}
        self.ask("the consent's status", "GET", links["status"]["href"])
        self.ask("accounts too early", "GET", "/v1/accounts?withBalance=true", headers=consent)
        login = self.ask("the login page", "GET", links["scaRedirect"]["href"])
        code = parse_qs(urlsplit(login.headers["Location"]).query)["code"][0]
        answer = self._form(
            "a token for the code", grant_type="authorization_code", code=code, code_verifier=code[::-1]
        )
        self.token = answer.json["access_token"]
        self.ask("the consent's status again", "GET", links["status"]["href"])
        self.ask("the consent", "GET", made.headers["Location"])
        return consent

    def _accounts(self, consent: Mapping[str, str]) -> None:
        accounts = self.ask("accounts", "GET", "/v1/accounts?withBalance=true", headers=consent).json["accounts"]
        for n, account in enumerate(accounts[:3]):
            links = account["_links"]
            self.ask(f"balances {n}", "GET", links["balances"]["href"], headers=consent)
            url = f"{links['transactions']['href']}?bookingStatus=booked&dateFrom=2026-10-01"
            page = 0
            while url:
                listed = self.ask(f"transactions {n}, page {page}", "GET", url, headers=consent).json["transactions"]
                url = listed["_links"].get("next", {}).get("href")
                page += 1
        details = listed["booked"][0]["_links"]["transactionDetails"]["href"]
        self.ask("a transaction", "GET", details, headers=consent)
        self.ask("the first account by its IBAN", "GET", f"/v1/accounts/{holdings.OWN}", headers=consent)
        self.ask("documents", "GET", f"/v1/accounts/{holdings.OWN}/documents", headers=consent)
        self.ask("an unknown account", "GET", f"/v1/accounts/{UNKNOWN_ACCOUNT}", headers=consent)
        self.ask("cards", "GET", "/v1/card-accounts", headers=consent)
        for amount in ("12.50", "5000.00"):
            body = {"account": {"iban": holdings.OWN}, "instructedAmount": {"currency": "EUR", "amount": amount}}
            self.ask(f"funds for {amount}", "POST", "/v1/funds-confirmations", body=body)

    def _payment(self) -> None:
        body = {
            "endToEndIdentification": "ee-4711",
            "debtorAccount": {"iban": holdings.OWN},
            "instructedAmount": {"currency": "EUR", "amount": "123.45"},
            "creditorAccount": {"iban": CREDITOR_IBAN},
            "creditorName": CREDITOR,
            "creditorAddress": {"streetName": CREDITOR_STREET, "townName": CREDITOR_TOWN, "country": "AT"},
            "remittanceInformationUnstructured": REMITTANCE,
            "requestedExecutionDate": "2026-12-24",
            "x-intern": {"sachbearbeiter": UNKNOWN, UNKNOWN_IBAN: True},
        }
        made = self.ask("a payment", "POST", "/v1/payments/sepa-credit-transfers", body=body).json
        status = made["_links"]["status"]["href"]
        self.ask("the payment's status", "GET", status)
        started = self.ask(
            "its authorisation", "POST", made["_links"]["startAuthorisationWithPsuAuthentication"]["href"], body={}
        )
        here = started.json["_links"]["authoriseTransaction"]["href"]
        self.ask("a password", "PUT", here, body={"psuData": {"password": PASSWORD}})
        self.ask("a wrong TAN", "PUT", here, body={"scaAuthenticationData": WRONG_OTP})
        self.ask("a TAN", "PUT", here, body={"scaAuthenticationData": OTP})
        self.ask("the authorisation's status", "GET", started.json["_links"]["scaStatus"]["href"])
        self.ask("the payment's status again", "GET", status)
        self.ask("the payment", "GET", made["_links"]["self"]["href"])
        xml = f"""<?xml version="1.0" encoding="UTF-8"?><Document><CstmrCdtTrfInitn><PmtInf>
<Cdtr><Nm>{XML_NAME}</Nm></Cdtr>
<CdtrAcct><Id><IBAN>{XML_IBAN}</IBAN></Id></CdtrAcct><RmtInf><Ustrd>{XML_TEXT}</Ustrd></RmtInf>
</PmtInf></CstmrCdtTrfInitn></Document>"""
        headers = {"Content-Type": "application/xml"}
        self.ask(
            "a payment in XML",
            "POST",
            "/v1/payments/pain.001-sepa-credit-transfers",
            headers=headers,
            body=xml.encode(),
        )

        boundary = uuid.uuid4().hex
        self.ask(
            "a payment in several parts",
            "POST",
            "/v1/payments/pain.001-sepa-credit-transfers",
            headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
            body=MULTIPART.replace(_MADE_UP.encode(), boundary.encode()),
        )

    def _elsewhere(self, consent: Mapping[str, str]) -> None:
        psu = holdings.PSU_ID
        basic = base64.b64encode(f"{psu}:{BASIC}".encode()).decode()
        self.ask("the profile", "GET", f"/customers/{psu}/profile", headers={"Authorization": f"Basic {basic}"})
        for who in (PROXY_AUTH_REQUIRED, STRANGER_NAME):
            self.ask("a stranger's profile", "GET", f"/customers/{quote(who)}/profile")
        self.ask("a search", "POST", f"/customers/{psu}/search", body=SEARCH)
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        self.ask("a search by form", "POST", "/search", headers=kind, body=FORM)
        self.ask("a search by query", "GET", f"/search?{urlencode(QUERY)}")
        for path in oddities.ANSWERS:
            self.ask(path, "GET", path)

    def _end(self, consent: Mapping[str, str]) -> None:
        here = f"/v1/consents/{consent['Consent-ID']}"
        self.ask("the consent's end", "DELETE", here)
        self.ask("the status of the ended consent", "GET", f"{here}/status")
        self.ask("accounts too late", "GET", "/v1/accounts?withBalance=true", headers=consent)
