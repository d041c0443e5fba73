"""Rules for every request: paths, headers, bodies."""

import json
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.contract import bodies, facts
from tests.contract.doors import Answer, Bank
from tests.contract.test_errors import OURS

spec = pytest.mark.spec

Warned = Callable[[], Sequence[str]]

SEPA = f"/v1/{bodies.SEPA}"
PDNG = next(
    f"/v1/{payment['service']}/{payment['product']}/{payment_id}" for payment_id, payment in facts.payments("PDNG")
)
MIB = 1024 * 1024


def refused(answer: Answer, status: int, code: str) -> None:
    assert (answer.status, answer.error["code"]) == (status, code)
    assert OURS.fullmatch(answer.error["text"])


def every_operation() -> list[Any]:
    """Method, path and body of each supported operation."""
    account = f"/v1/accounts/{facts.covered()}"
    return [
        pytest.param("POST", "/v1/consents", bodies.consent(facts.covered()), id="create consent"),
        pytest.param("GET", f"/v1/consents/{facts.consent()}", None, id="consent"),
        pytest.param("GET", f"/v1/consents/{facts.consent()}/status", None, id="consent status"),
        pytest.param("DELETE", f"/v1/consents/{facts.consent()}", None, id="delete consent"),
        pytest.param("GET", "/v1/accounts/?withBalance=true", None, id="accounts"),
        pytest.param("GET", f"{account}/?withBalance=true", None, id="account"),
        pytest.param("GET", f"{account}/balances", None, id="balances"),
        pytest.param("GET", f"{account}/transactions?bookingStatus=both", None, id="transactions"),
        *(pytest.param("POST", f"/v1/{product}", bodies.payment(product), id=product) for product in bodies.PRODUCTS),
        pytest.param("GET", PDNG, None, id="payment"),
        pytest.param("GET", f"{PDNG}/status", None, id="payment status"),
        pytest.param("DELETE", PDNG, None, id="delete payment"),
    ]


operations = pytest.mark.parametrize(("method", "path", "body"), every_operation())
with_body = pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1/consents", bodies.consent(facts.covered()), id="create consent"),
        *(pytest.param(f"/v1/{product}", bodies.payment(product), id=product) for product in bodies.PRODUCTS),
    ],
)


def send(bank: Bank, method: str, path: str, body: Any, **options: Any) -> Answer:
    if body is not None:
        options["json"] = body
    return bank.request(method, path, consent=facts.consent(), **options)


# -- paths


@spec("1-v1")
@spec("9-prefix")
@spec("reading-path-prefix")
@operations
@pytest.mark.parametrize("prefix", ["", "/rest", "/xs2a/rest/1.84.0", "/v1x", "/a%2Fb", "/"])
def test_a_prefix_before_v1_is_ignored(bank: Bank, method: str, path: str, body: Any, prefix: str) -> None:
    plain = send(bank, method, path, body)
    if plain.status == 204:
        assert bank.post("/v1/consents", json=bodies.consent(facts.covered())).status == 200

    answer = send(bank, method, prefix + path, body)

    assert answer.status == plain.status < 300
    if answer.body:
        assert answer.json().keys() == plain.json().keys()
        assert not prefix or f"{prefix}/v1" not in answer.body.decode()


@spec("1-v1")
@spec("9-prefix")
@spec("reading-path-prefix")
def test_paths_without_v1_are_unknown(bank: Bank) -> None:
    assert bank.get(f"/consents/{facts.consent()}/status").status == 404
    assert bank.get(f"/v2/consents/{facts.consent()}/status").status == 404
    assert bank.get(f"/v1x/consents/{facts.consent()}/status").status == 404


@spec("reading-trailing-slash")
@operations
def test_a_trailing_slash_is_ignored(bank: Bank, method: str, path: str, body: Any) -> None:
    bare, mark, query = path.partition("?")
    bare = bare.rstrip("/")
    without = send(bank, method, f"{bare}{mark}{query}", body)
    if without.status == 204:
        assert bank.post("/v1/consents", json=bodies.consent(facts.covered())).status == 200

    slashed = send(bank, method, f"{bare}/{mark}{query}", body)

    assert slashed.status == without.status < 300


# -- headers


@spec("5-request-id")
@spec("reading-request-id")
@operations
def test_a_request_id_is_required(bank: Bank, method: str, path: str, body: Any) -> None:
    for value in (
        None,
        "",
        "1",
        "no-uuid",
        "99391c7e-ad88-49ec-a2ad-99ddcb1f772",
        "99391c7ead8849eca2ad99ddcb1f7721",
        "z" * 36,
    ):
        answer = send(bank, method, path, body, headers={"X-Request-ID": value})
        refused(answer, 400, "FORMAT_ERROR")
        if value is None:
            assert "X-Request-ID" not in answer.headers


@spec("5-request-id")
@spec("reading-request-id")
@spec("reading-request-id-echo")
@pytest.mark.parametrize(
    "value",
    [
        str(uuid.uuid4()),
        str(uuid.uuid4()).upper(),
        str(uuid.uuid1()),
        str(uuid.uuid5(uuid.NAMESPACE_DNS, "tpp.example")),
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "018f3c1e-7b5a-7c3d-9e2f-1a2b3c4d5e6f",
    ],
    ids=["v4", "upper", "v1", "v5", "nil", "max", "v7"],
)
def test_any_uuid_is_accepted_as_a_request_id_and_returned(bank: Bank, value: str) -> None:
    for _ in range(2):
        answer = bank.get(f"/v1/consents/{facts.consent()}/status", headers={"X-Request-ID": value})
        assert answer.status == 200
        assert answer.headers["X-Request-ID"] == value


@spec("reading-request-id-echo")
def test_errors_return_the_request_id_too(bank: Bank) -> None:
    value = str(uuid.uuid4())
    for answer in (
        bank.get("/v1/nothing", headers={"X-Request-ID": value}),
        bank.put("/v1/consents", headers={"X-Request-ID": value}),
        bank.post("/v1/consents", content=b"{", headers={"X-Request-ID": value}),
        bank.post("/v1/consents", content=b" " * (MIB + 1), headers={"X-Request-ID": value}),
        bank.get("/v1/card-accounts", headers={"X-Request-ID": value}),
        bank.get("/v1/accounts/", consent="no-uuid", headers={"X-Request-ID": value}),
    ):
        assert answer.status >= 400
        assert answer.headers["X-Request-ID"] == value


@spec("reading-psu-ip-address")
@operations
def test_psu_ip_address_is_required_only_for_initiations(bank: Bank, method: str, path: str, body: Any) -> None:
    answer = send(bank, method, path, body, headers={"PSU-IP-Address": None})

    if path.removeprefix("/v1/") in bodies.PRODUCTS:
        refused(answer, 400, "FORMAT_ERROR")
    else:
        assert answer.status < 300


@spec("5-psu-ip-address")
@spec("reading-psu-ip-address")
@spec("reading-redirect-uri")
@operations
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PSU-IP-Address", "garbage"),
        ("PSU-IP-Address", "192.0.2.7:443"),
        ("PSU-IP-Address", ""),
        ("TPP-Redirect-URI", "javascript:alert(1)"),
        ("TPP-Nok-Redirect-URI", "garbage"),
    ],
)
def test_every_operation_checks_these_headers(
    bank: Bank, method: str, path: str, body: Any, name: str, value: str
) -> None:
    refused(send(bank, method, path, body, headers={name: value}), 400, "FORMAT_ERROR")


@spec("5-authorization")
@spec("reading-authorization")
@operations
def test_no_operation_requires_authorization(bank: Bank, method: str, path: str, body: Any) -> None:
    assert send(bank, method, path, body, headers={"Authorization": None}).status < 300


@spec("5-authorization")
@operations
def test_every_operation_accepts_a_token(bank: Bank, method: str, path: str, body: Any) -> None:
    assert send(bank, method, path, body, headers={"Authorization": "Bearer token"}).status < 300


@spec("5-content-type")
@spec("reading-content-type")
@with_body
def test_only_json_is_accepted(bank: Bank, path: str, body: Any) -> None:
    for value in ("text/plain", "application/xml", "application/x-www-form-urlencoded", "json", "application/jsonp"):
        refused(bank.post(path, json=body, headers={"Content-Type": value}), 415, "FORMAT_ERROR")


@spec("5-content-type")
@spec("reading-content-type")
@with_body
def test_other_spellings_of_the_json_type_are_accepted(bank: Bank, path: str, body: Any) -> None:
    for value in (None, "application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8"):
        assert bank.post(path, json=body, headers={"Content-Type": value}).status == 200


@spec("5-content-type")
def test_a_content_type_without_a_body_is_accepted(bank: Bank) -> None:
    for method, path in (("GET", "/v1/accounts/"), ("GET", PDNG), ("DELETE", PDNG)):
        for value in ("application/json", "text/plain"):
            answer = bank.request(method, path, consent=facts.consent(), headers={"Content-Type": value})
            assert answer.status < 300


# -- bodies


POSTS = ["/v1/consents", *(f"/v1/{product}" for product in bodies.PRODUCTS)]


@spec("reading-body")
@spec("1-json")
@pytest.mark.parametrize("path", POSTS)
def test_a_body_that_is_not_a_json_object_is_refused(bank: Bank, path: str) -> None:
    for content in (
        b"",
        b"{",
        b"consent",
        b"{'access': {}}",
        b'{"a": 1,}',
        b"[]",
        b'"text"',
        b"7",
        b"null",
        b"true",
        b"{} {}",
        b"<xml/>",
        b"   ",
    ):
        answer = bank.post(path, content=content)
        refused(answer, 400, "FORMAT_ERROR")
        assert answer.error["path"] in (None, "")


@spec("reading-body")
@pytest.mark.parametrize("path", POSTS)
def test_a_missing_body_is_refused(bank: Bank, path: str) -> None:
    refused(bank.post(path), 400, "FORMAT_ERROR")


@spec("reading-body-path")
@pytest.mark.parametrize("path", POSTS)
def test_the_first_invalid_member_is_named(bank: Bank, path: str) -> None:
    answer = bank.post(path, json={"nothing": "here"})

    refused(answer, 400, "FORMAT_ERROR")
    name = answer.error["path"].removeprefix("/")
    assert name in ("access", "recurringIndicator", "validUntil", "frequencyPerDay") or name in bodies.payment(path[4:])
    assert name in answer.error["text"]


def padded(body: dict[str, Any], size: int) -> bytes:
    content = json.dumps({**body, "padding": ""}).encode()
    return content[:-2] + b"x" * (size - len(content)) + content[-2:]


@spec("reading-body-size")
@pytest.mark.parametrize("path", ["/v1/consents", SEPA])
def test_the_maximum_body_is_accepted(bank: Bank, path: str) -> None:
    body = bodies.consent(facts.covered()) if path == "/v1/consents" else bodies.payment(bodies.SEPA)

    assert bank.post(path, content=padded(body, MIB)).status == 200
    refused(bank.post(path, content=padded(body, MIB + 1)), 413, "FORMAT_ERROR")


@spec("reading-body-depth")
@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize(("depth", "status"), [(64, 200), (65, 400), (1000, 400)])
def test_the_maximum_depth_is_accepted(bank: Bank, opening: str, depth: int, status: int) -> None:
    closing = {"[": "]", '{"a":': "}"}[opening]
    nested = opening * (depth - 1) + "null" + closing * (depth - 1)
    content = json.dumps(bodies.consent(facts.covered()))[:-1] + f', "extra": {nested}}}'

    answer = bank.post("/v1/consents", content=content.encode())

    assert answer.status == status
    if status == 400:
        refused(answer, 400, "FORMAT_ERROR")


@spec("reading-body-numbers")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("member", ["frequencyPerDay", "extra"])
def test_numbers_that_are_not_finite_are_refused(bank: Bank, number: str, member: str) -> None:
    content = json.dumps(bodies.consent(facts.covered(), **{member: "@"})).replace('"@"', number)

    refused(bank.post("/v1/consents", content=content.encode()), 400, "FORMAT_ERROR")


@spec("reading-unlisted-members")
@pytest.mark.parametrize("product", bodies.PRODUCTS)
def test_unlisted_members_are_ignored(bank: Bank, product: str, warned: Warned) -> None:
    assert bank.post(f"/v1/{product}", json=bodies.payment(product)).status == 200
    assert not warned()

    body = bodies.payment(product, instructionPriority="HIGH", extra={"deep": [1, None, {"a": 1.5}]})

    assert bank.post(f"/v1/{product}", json=body).status == 200
    assert all(any(name in warning for warning in warned()) for name in ("instructionPriority", "extra"))


# -- limits


@spec("8-unlimited")
@operations
def test_operations_are_not_limited(bank: Bank, method: str, path: str, body: Any) -> None:
    """Read more often than any frequencyPerDay in the test data, without the customer."""
    times = 30 if method == "GET" else 10
    for _ in range(times):
        answer = send(bank, method, path, body, headers=WITHOUT_CUSTOMER if method == "GET" else {})
        assert answer.status < 300
        if answer.status == 204:
            assert bank.post("/v1/consents", json=bodies.consent(facts.covered())).status == 200


WITHOUT_CUSTOMER = {"PSU-IP-Address": None}


@spec("8-unlimited")
@pytest.mark.parametrize("product", bodies.PRODUCTS)
def test_payments_of_all_products_are_not_limited(bank: Bank, product: str) -> None:
    for _ in range(10):
        own = bank.post(f"/v1/{product}", json=bodies.payment(product)).json()["_Left"]["self"]["href"]
        assert (bank.get(own).status, bank.get(f"{own}/status").status, bank.delete(own).status) == (200, 200, 204)


@spec("8-unlimited")
def test_sessions_are_not_limited(bank: Bank) -> None:
    assert {bank.get("/v1/accounts", consent=facts.consent()).status for _ in range(200)} == {200}


# -- formats


@spec("1-json")
@operations
def test_successful_answers_are_json(bank: Bank, method: str, path: str, body: Any) -> None:
    answer = send(bank, method, path, body)

    if answer.body:
        assert answer.headers["Content-Type"].partition(";")[0] == "application/json"
        assert isinstance(answer.json(), dict)


# -- debug headers


@spec("reading-debug-headers")
@operations
def test_answers_name_their_source(bank: Bank, method: str, path: str, body: Any) -> None:
    answer = send(bank, method, path, body)

    assert answer.headers["X-Sandbox-Source"] in ("handler", "rule")
    assert answer.headers["X-Sandbox-Rule"]


@spec("reading-debug-headers")
def test_answers_of_the_sandbox_itself_are_marked(bank: Bank) -> None:
    for answer in (
        bank.get("/v1/nothing"),
        bank.put("/v1/consents"),
        bank.post("/v1/consents", json={}),
        bank.get("/v1/accounts/"),
        bank.get("/v1/accounts/", consent=facts.consent(), headers={"X-Request-ID": None}),
    ):
        assert answer.headers["X-Sandbox-Source"] == "sandbox"
        assert "X-Sandbox-Rule" not in answer.headers
