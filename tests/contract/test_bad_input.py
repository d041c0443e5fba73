"""Hostile and invalid input through every door. The tables contain the expected answers."""

import gzip
import json
import logging
import socket
import ssl
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.contract import bodies, facts
from tests.contract.doors import BANK, WIRES, Answer, Bank
from tests.contract.test_errors import OURS

spec, every_door = pytest.mark.spec, pytest.mark.every_door
pytestmark = spec("reading-bad-input")

SEPA = f"/v1/{bodies.SEPA}"


@pytest.fixture(autouse=True)
def no_traceback(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Check that no input causes a traceback in the log."""
    caplog.set_level(logging.DEBUG)
    yield
    assert not [record for record in caplog.records if record.exc_info]
    output = capfd.readouterr()
    assert "Traceback" not in output.out + output.err


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.error["code"]) == (status, code)
    assert OURS.fullmatch(answer.error["text"])


# -- headers


@every_door
@pytest.mark.parametrize(
    "headers",
    [
        [("X-Large", "x" * 70_000)],
        [(f"X-Many-{number}", "x" * 60) for number in range(1000)],
        [("X-Name-" + "x" * 70_000, "1")],
    ],
    ids=["one large value", "many", "one large name"],
)
def test_a_header_block_above_64_kb_is_refused(bank: Bank, headers: list[tuple[str, str]]) -> None:
    answer = bank.get(f"/v1/consents/{facts.consent()}/status", headers=headers)
    refused(answer, 431, "FORMAT_ERROR")
    assert answer.error["text"] == "{sensitive} XS2A909E: the headers together must not be larger than 65536 bytes"


def test_a_target_above_8_kb_is_refused(bank: Bank) -> None:
    answer = bank.get(f"/v1/consents/{facts.consent()}/status?x={'y' * 8192}")
    refused(answer, 414, "FORMAT_ERROR")
    assert answer.error["text"] == "{sensitive} XS2A908E: path and query must not be longer than 8192 bytes"
    assert bank.get(f"/v1/consents/{facts.consent()}/status?x={'y' * 8000}").status == 200


def test_a_large_header_block_is_accepted(bank: Bank) -> None:
    answer = bank.get(f"/v1/consents/{facts.consent()}/status", headers=[("X-Large", "x" * 30_000)])

    assert answer.status == 200


@pytest.mark.parametrize("second", ["the same", "another"])
def test_two_consent_ids_are_refused(bank: Bank, second: str) -> None:
    other = facts.consent() if second == "the same" else facts.consents("authorised")[1][0]

    answer = bank.get("/v1/accounts/", consent=facts.consent(), headers=[("Consent-ID", other)])

    refused(answer, 400, "FORMAT_ERROR")


@every_door
@pytest.mark.parametrize(
    "name", ["Consent-ID", "TPP-Redirect-URI", "Authorization", "PSU-IP-Address", "X-Sandbox-Session"]
)
@pytest.mark.parametrize("value", ["é", "x" * 5000, "{{ 7 * 7 }}", "%s%n", "a, b"])
def test_unusual_header_values_cause_no_failure(bank: Bank, name: str, value: str) -> None:
    answer = bank.post(SEPA, json=bodies.payment(bodies.SEPA), headers={name: value})

    assert answer.status in (200, 400)


def test_a_return_address_is_not_evaluated_as_an_expression(bank: Bank) -> None:
    headers = {"TPP-Redirect-URI": "https://tpp.example/%7B%7B7*7%7D%7D?a=%25s"}

    answer = bank.post(SEPA, json=bodies.payment(bodies.SEPA), headers=headers)

    query = parse_qs(urlsplit(answer.json()["_Left"]["scaRedirect"]["href"]).query)
    assert query["redirectBackUrl"] == [headers["TPP-Redirect-URI"]]


NO_REDIRECTS = (
    "",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "nonsense",
    "/back",
    "//tpp.example/back",
    "https://",
    "https://tpp.example/a b",
    "https://tpp.example/{{ 7 * 7 }}",
    "https://tpp.example/a|b",
    "https://tpp.example/back?f[]=1",
    "localhost:3000/back",
)


@spec("reading-redirect-uri")
@spec("5-tpp-redirect-uri")
@pytest.mark.parametrize("header", ["TPP-Redirect-URI", "TPP-Nok-Redirect-URI"])
@pytest.mark.parametrize("path", ["/v1/consents", *(f"/v1/{product}" for product in bodies.PRODUCTS)])
def test_dangerous_return_addresses_are_refused(bank: Bank, header: str, path: str) -> None:
    body = bodies.consent(facts.covered()) if path == "/v1/consents" else bodies.payment(path.removeprefix("/v1/"))

    for address in NO_REDIRECTS:
        answer = bank.post(path, json=body, headers={header: address})

        refused(answer, 400, "FORMAT_ERROR")
        assert answer.error["text"] == (
            f"{{sensitive}} XS2A901E: the header {header} must be absent or an http or https URL, "
            "or a URL with an app's own scheme, percent-encoded (a space is %20, [ is %5B)"
        )
    assert bank.post(path, json=body, headers={header: "com.example.app:/back"}).status == 200


@every_door
@spec("reading-content-type")
@pytest.mark.parametrize("content", ["small", "bomb", "no gzip"])
@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "br", "gzip, gzip"])
def test_an_encoded_body_is_refused(bank: Bank, content: str, encoding: str) -> None:
    plain = json.dumps(bodies.consent(facts.covered())).encode()
    sent = {"small": gzip.compress(plain), "bomb": bomb(), "no gzip": plain}[content]

    answer = bank.post("/v1/consents", content=sent, headers={"Content-Encoding": encoding})

    refused(answer, 415, "FORMAT_ERROR")


@cache
def bomb() -> bytes:
    return gzip.compress(b" " * (64 * 1024 * 1024))


def test_the_encoding_identity_is_accepted(bank: Bank) -> None:
    answer = bank.post("/v1/consents", json=bodies.consent(facts.covered()), headers={"Content-Encoding": "identity"})

    assert answer.status == 200


# -- paths

IDS = [
    "%00",
    "..",
    ".",
    "%2E%2E",
    "%2F",
    "a%2Fb",
    "%FF",
    "%zz",
    "%",
    "x" * 4000,
    "{{7*7}}",
    "';--",
    "%0D%0AX-Evil:1",
    "+",
    "*",
]


@every_door
@spec("4.1-rule-4")
@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:12])
def test_unusual_account_ids(bank: Bank, id: str) -> None:
    for tail in ("", "/balances", "/transactions?bookingStatus=both"):
        answer = bank.get(f"/v1/accounts/{id}{tail}", consent=facts.consent())
        assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")
        assert "X-Evil" not in answer.headers


@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:12])
def test_unusual_consent_ids(bank: Bank, id: str) -> None:
    for tail in ("", "/status"):
        answer = bank.get(f"/v1/consents/{id}{tail}")
        assert (answer.status, answer.error["code"]) in ((403, "CONSENT_UNKNOWN"), (404, "RESOURCE_UNKNOWN"))


@pytest.mark.parametrize("id", IDS, ids=lambda id: id[:12])
def test_unusual_payment_ids(bank: Bank, id: str) -> None:
    for tail in ("", "/status"):
        refused(bank.get(f"{SEPA}/{id}{tail}"), 404, "RESOURCE_UNKNOWN")


@every_door
@spec("reading-unknown-path")
@pytest.mark.parametrize(
    "path",
    [
        "/v1/../v1",
        f"/v1/accounts/../consents/{facts.consent()}",
        "/v1//accounts",
        f"/v1/accounts//{facts.covered()}",
        "/v1/accounts//balances",
        "/v1/consents//status",
        f"/v1/{bodies.SEPA}//status",
        "/v1/%00",
        "/v1/" + "x" * 4000,
        "/v1/" + "x/" * 2000,
        "/v1/%2e%2e/%2e%2e/etc/passwd",
    ],
    ids=lambda path: path[:40],
)
def test_unusual_paths(bank: Bank, path: str) -> None:
    answer = bank.get(path, consent=facts.consent())

    assert (answer.status, answer.error["code"]) == (404, "RESOURCE_UNKNOWN")


@every_door
@pytest.mark.parametrize(
    "query", ["%00", "=", "&&&", "withBalance", "withBalance=%FF", "withBalance=true&withBalance=false", "%zz=1"]
)
def test_unusual_queries(bank: Bank, query: str) -> None:
    answer = bank.get(f"/v1/accounts/?{query}", consent=facts.consent())

    assert answer.status in (200, 400)


# -- JSON


@spec("reading-body")
@pytest.mark.parametrize(
    "content",
    [
        b'{"access": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        '{"access": 1}'.encode("utf-16"),
        b"\x00",
        b'{"a": "\x01"}',
        b'{"a": 01}',
        b'{"a": .5}',
        b'{"a": "\\x41"}',
        b"[" * 5000,
        b"[" * 5000 + b"]" * 5000,
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"{" + b'"a":1,' * 1000,
        b'{"a": 1} // comment',
        b"9" * 100_000,
    ],
    ids=lambda content: repr(content[:16]),
)
@pytest.mark.parametrize("path", ["/v1/consents", SEPA])
def test_invalid_json_is_refused(bank: Bank, path: str, content: bytes) -> None:
    refused(bank.post(path, content=content), 400, "FORMAT_ERROR")


def test_the_last_of_two_equal_keys_is_used(bank: Bank, warned: Callable[[], Sequence[str]]) -> None:
    body = json.dumps(bodies.consent(facts.untied()[0]))
    zero_first = body.replace('"frequencyPerDay": 4', '"frequencyPerDay": 0, "frequencyPerDay": 7')
    zero_last = body.replace('"frequencyPerDay": 4', '"frequencyPerDay": 7, "frequencyPerDay": 0')

    made = bank.post("/v1/consents", content=zero_first.encode())

    assert made.status == 200
    assert any("frequencyPerDay" in warning for warning in warned())
    assert bank.get(f"/v1/consents/{made.json()['consentId']}").json()["frequencyPerDay"] == 7
    refused(bank.post("/v1/consents", content=zero_last.encode()), 400, "FORMAT_ERROR")


@spec("reading-body-numbers")
@pytest.mark.parametrize("number", ["1e999", "-1e999", "1e99999999", "1.5", "1e-5"])
def test_numbers_out_of_range_are_refused(bank: Bank, number: str) -> None:
    content = json.dumps(bodies.consent(facts.covered(), frequencyPerDay="@")).replace('"@"', number)

    refused(bank.post("/v1/consents", content=content.encode()), 400, "FORMAT_ERROR")


@pytest.mark.parametrize("number", ["1" * 30, "1" * 5000, "1e999", "1e99999999"])
@pytest.mark.parametrize("member", ["frequencyPerDay", "extra"])
def test_huge_numbers_cause_no_failure(bank: Bank, number: str, member: str) -> None:
    content = json.dumps(bodies.consent(facts.untied()[0], **{member: "@"})).replace('"@"', number)

    answer = bank.post("/v1/consents", content=content.encode())

    assert answer.status in (200, 400)
    if answer.status == 200:
        assert bank.get(f"/v1/consents/{answer.json()['consentId']}").status == 200


@pytest.mark.parametrize(
    "text", ["\ud800", "\x00", "{{ 7 * 7 }}", "{% for x in y %}", "<script>", "\u202e", "x" * 100_000]
)
def test_unusual_strings_are_returned_or_refused(bank: Bank, text: str) -> None:
    answer = bank.post(SEPA, json=bodies.payment(bodies.SEPA, endToEndIdentification=text))

    if answer.status != 200:
        refused(answer, 400, "FORMAT_ERROR")
        return
    record = bank.get(answer.json()["_Left"]["self"]["href"])
    assert record.status == 200
    assert record.json()["endToEndIdentification"] == text


# -- values

AMOUNTS = [
    "1,00",
    "1.000,00",
    "1'000",
    "-1",
    "+1",
    "1e2",
    "1E2",
    "1.001",
    "1.000",
    " 1",
    "1 ",
    "1\n",
    "1.",
    ".5",
    "",
    ".",
    "0x1",
    "1_000",
    "１",
    "NaN",
    "Infinity",
    "1.0.0",
    "EUR 1",
    "{{ 1 }}",
]


@spec("2-amounts")
@spec("2.9-instructed-amount")
@pytest.mark.parametrize("product", bodies.WITH_AMOUNT)
def test_invalid_amounts_are_refused(bank: Bank, product: str) -> None:
    for amount in AMOUNTS:
        answer = bank.post(f"/v1/{product}", json=bodies.payment(product, amount=amount))
        assert (answer.status, answer.error["path"]) == (400, "/instructedAmount/amount"), amount
        refused(answer, 400, "FORMAT_ERROR")


@spec("2.9-bulk")
def test_invalid_amounts_in_a_bulk_are_refused(bank: Bank) -> None:
    for amount in AMOUNTS:
        answer = bank.post(f"/v1/{bodies.BULK}", json=bodies.payment(bodies.BULK) | {"amount": ["1.00", amount]})
        assert (answer.status, answer.error["path"]) == (400, "/amount/1"), amount
        refused(answer, 400, "FORMAT_ERROR")


@spec("2-currencies")
@pytest.mark.parametrize(
    ("amount", "currency", "status"),
    [
        ("1.5", "JPY", 400),
        ("1.0", "JPY", 400),
        ("1", "JPY", None),
        ("1.005", "USD", 400),
        ("1.005", "KWD", None),
        ("1.0005", "KWD", 400),
    ],
)
def test_the_number_of_decimals_depends_on_the_currency(
    bank: Bank, amount: str, currency: str, status: int | None
) -> None:
    answer = bank.post(
        f"/v1/{bodies.CROSS_BORDER}", json=bodies.payment(bodies.CROSS_BORDER, amount=amount, currency=currency)
    )

    if status:
        refused(answer, status, "FORMAT_ERROR")
    else:
        # There may be no exchange rate for the currency, but the amount is valid.
        assert answer.status == 200 or answer.error["path"] != "/instructedAmount/amount"


@spec("2-currencies")
@pytest.mark.parametrize("currency", ["eur", "EURO", "E", "", "€", "978", "ZZZ"])
def test_invalid_currencies_are_refused(bank: Bank, currency: str) -> None:
    body = bodies.payment(bodies.CROSS_BORDER, currency=currency)

    answer = bank.post(f"/v1/{bodies.CROSS_BORDER}", json=body)

    refused(answer, 400, "FORMAT_ERROR")
    assert answer.error["path"] == "/instructedAmount/currency"


@pytest.mark.parametrize(
    "amount", ["9" * 60, "9" * 4000 + ".00", "0" * 4000 + "1"], ids=["60 digits", "4000 digits", "zeros"]
)
def test_long_amounts_cause_no_failure(bank: Bank, amount: str) -> None:
    answer = bank.post(SEPA, json=bodies.payment(bodies.SEPA, amount=amount))

    assert answer.status in (200, 400)
    if answer.status == 200:
        record = bank.get(answer.json()["_Left"]["self"]["href"])
        assert record.json()["instructedAmount"]["amount"] == amount


IBANS = [
    facts.wrong_iban(),
    facts.covered().lower(),
    facts.covered()[:-1],
    facts.covered() + "0",
    f" {facts.covered()}",
    " ".join(facts.covered()[at : at + 4] for at in range(0, 20, 4)),
    "XX00",
    "",
    "\x00",
]


@spec("2.2-account-reference")
@spec("2.9-debtor-account")
@pytest.mark.parametrize("iban", IBANS)
def test_invalid_ibans_are_refused(bank: Bank, iban: str) -> None:
    sepa = bodies.payment(bodies.SEPA)
    for path, body, member in (
        ("/v1/consents", bodies.consent(access={"balances": [{"iban": iban}]}), "/access/balances/0/iban"),
        (SEPA, sepa | {"debtorAccount": {"iban": iban, "currency": "EUR"}}, "/debtorAccount/iban"),
        (SEPA, sepa | {"creditorAccount": {"iban": iban}}, "/creditorAccount/iban"),
        (
            f"/v1/{bodies.BULK}",
            bodies.payment(bodies.BULK) | {"creditorIban": [iban, facts.covered()]},
            "/creditorIban/0",
        ),
    ):
        answer = bank.post(path, json=body)
        refused(answer, 400, "FORMAT_ERROR")
        assert answer.error["path"] == member


@spec("2-dates")
@pytest.mark.parametrize(
    "day", ["2026-02-30", "2027-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "20270101", "01.01.2027", "２027-01-01"]
)
def test_invalid_dates_are_refused(bank: Bank, day: str) -> None:
    periodic = f"/v1/{bodies.PERIODIC}"
    for path, body, member in (
        ("/v1/consents", bodies.consent(facts.covered(), validUntil=day), "/validUntil"),
        (SEPA, bodies.payment(bodies.SEPA, requestedExecutionDate=day), "/requestedExecutionDate"),
        (periodic, bodies.payment(bodies.PERIODIC, startDate=day), "/startDate"),
        (periodic, bodies.payment(bodies.PERIODIC, endDate=day), "/endDate"),
    ):
        answer = bank.post(path, json=body)
        refused(answer, 400, "FORMAT_ERROR")
        assert answer.error["path"] == member


# -- HTTP: the server libraries of the doors refuse it and continue


def connect(bank: Bank, trust: ssl.SSLContext) -> socket.socket:
    """Open a raw connection to the place where requests are parsed."""
    url = urlsplit({"tls": bank.addresses.tls, "direct": bank.addresses.direct}.get(bank.door, bank.addresses.proxy))
    connection = socket.create_connection((url.hostname, url.port), timeout=10)
    if bank.door == "tls-proxy":
        connection.sendall(f"CONNECT {BANK}:443 HTTP/1.1\r\nHost: {BANK}:443\r\n\r\n".encode())
        received = b""
        while not received.endswith(b"\r\n\r\n"):
            received += connection.recv(1)
        assert received.startswith(b"HTTP/1.1 200")
        return trust.wrap_socket(connection, server_hostname=BANK)
    if bank.door == "tls":
        return trust.wrap_socket(connection, server_hostname=url.hostname)
    return connection


def until_closed(connection: socket.socket) -> bytes:
    received = b""
    try:
        while more := connection.recv(65536):
            received += more
    except (ConnectionResetError, ssl.SSLError):
        pass
    return received


wire = pytest.mark.parametrize("bank", WIRES, indirect=True)

GOOD = f"Host: {BANK}\r\nX-Request-ID: {uuid.UUID(int=7)}\r\nConnection: close\r\n"


@every_door
@wire
@pytest.mark.parametrize(
    "lines",
    [
        "nonsense\r\n\r\n",
        "GET\r\n\r\n",
        "GET {url} HTTP/1.1\r\n{good}no colon\r\n\r\n",
        "GET {url} HTTP/1.1\r\n{good}bad name: 1\r\n\r\n",
        "GET {url} HTTP/1.1\r\n{good}X-Nul: a\x00b\r\n\r\n",
        "POST {url} HTTP/1.1\r\n{good}Content-Length: abc\r\n\r\n",
        "POST {url} HTTP/1.1\r\n{good}Content-Length: -1\r\n\r\n",
        "POST {url} HTTP/1.1\r\n{good}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}\r\n",
        "POST {url} HTTP/1.1\r\n{good}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
    ],
    ids=lambda lines: repr(lines.replace("{url}", "").replace("{good}", ""))[:40],
)
def test_malformed_http_is_refused(bank: Bank, trust: ssl.SSLContext, lines: str) -> None:
    path = f"/v1/consents/{facts.consent()}/status"
    url = f"http://{BANK}{path}" if bank.door == "proxy" else path
    with connect(bank, trust) as connection:
        connection.sendall(lines.format(url=url, good=GOOD).encode("latin-1"))
        received = until_closed(connection)

    assert not received or received.split()[1][:1] == b"4", received[:200]
    assert bank.get(path).status == 200


@wire
def test_a_client_that_disconnects_causes_no_failure(bank: Bank, trust: ssl.SSLContext) -> None:
    path = f"/v1/consents/{facts.consent()}/status"
    url = f"http://{BANK}{path}" if bank.door == "proxy" else path
    for sent in ("", f"GET {url} HT", f"POST {url} HTTP/1.1\r\n{GOOD}Content-Length: 100\r\n\r\n{{"):
        with connect(bank, trust) as connection:
            connection.sendall(sent.encode())

    assert bank.get(path).status == 200


@wire
def test_a_chunked_body_is_accepted(bank: Bank, trust: ssl.SSLContext) -> None:
    """Chunked requests are valid HTTP, also with a trailer."""
    url = f"http://{BANK}/v1/consents" if bank.door == "proxy" else "/v1/consents"
    body: Any = json.dumps(bodies.consent(facts.covered())).encode()
    head = f"POST {url} HTTP/1.1\r\n{GOOD}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:10], body[10:]))
    with connect(bank, trust) as connection:
        connection.sendall(head.encode() + chunks + b"0\r\n\r\n")
        received = until_closed(connection)

    assert received.startswith(b"HTTP/1.1 200"), received[:300]
