import json

import pytest

from xs2a_sandbox.compare.diff import AnswerDiff
from xs2a_sandbox.compare.identifiers import Counterparts
from xs2a_sandbox.http import Headers, Request, Response, body

BANK = {
    "consentId": "B-1",
    "_links": {"self": {"href": "/v1/consents/B-1"}, "status": {"href": "/v1/consents/B-1/status"}},
}
SANDBOX = {
    "consentId": "s.77",
    "_links": {"self": {"href": "/v1/consents/s.77"}, "status": {"href": "/v1/consents/s.77/status"}},
}


def learned(bank: object = BANK, sandbox: object = SANDBOX, **bases: str) -> Counterparts:
    counterparts = Counterparts(**bases)
    assert AnswerDiff(counterparts).values(bank, sandbox) == []
    return counterparts


def kinds(counterparts: Counterparts, bank: object, sandbox: object) -> list[tuple[str, str]]:
    return [(d.kind, d.where) for d in AnswerDiff(counterparts).values(bank, sandbox)]


def test_different_ids_of_the_same_thing_are_equal() -> None:
    counterparts = learned()
    assert counterparts.twin("B-1") == "s.77"
    assert kinds(counterparts, {"text": "consent B-1 expired"}, {"text": "consent s.77 expired"}) == []


def test_an_id_has_one_counterpart() -> None:
    counterparts = learned()
    assert kinds(counterparts, {"consentId": "B-1"}, {"consentId": "s.78"}) == [("value", "/consentId")]
    assert kinds(counterparts, {"consentId": "B-2"}, {"consentId": "s.77"}) == [("value", "/consentId")]
    assert kinds(counterparts, {"consentId": "B-2"}, {"consentId": "s.78"}) == []


def test_equal_ids_are_counterparts_too() -> None:
    counterparts = learned({"resourceId": "AT45"}, {"resourceId": "AT45"})
    assert kinds(counterparts, {"href": "/v1/accounts/AT45/x"}, {"href": "/v1/accounts/AT46/x"}) == [("value", "/href")]


@pytest.mark.parametrize(
    ("bank", "sandbox", "equal"),
    [
        ("/v1/consents/X1Y", "/v1/consents/k2k", True),
        ("https://bank.example/xs2a/v1/consents/X1Y", "/v1/consents/k2k", True),
        ("https://other.example/v1/consents/X1Y", "/v1/consents/k2k", False),
        ("/v1/pay/{id}?consent_id=abc", "/v1/pay/{id}?consent_id=def", True),
        ("/v1/pay/{id}?page=1", "/v1/pay/{id}?page=2", False),
        ("/v1/consents/X1Y", "/v2/consents/X1Y", False),
        ("/v1/sepa-credit-transfers/X1Y", "/v1/instant-transfers/X1Y", False),
        ("/v1/consents/X1Y/status", "/v1/consents/X1Y", False),
        ("consent X1Y", "consent k2k", False),
    ],
)
def test_links_are_compared_by_their_segments(bank: str, sandbox: str, equal: bool) -> None:
    counterparts = Counterparts("https://bank.example/xs2a", "http://127.0.0.1:8081")
    assert (kinds(counterparts, {"href": bank}, {"href": sandbox}) == []) is equal


@pytest.mark.parametrize(
    ("member", "bank", "sandbox", "equal"),
    [
        (
            "scaRedirect",
            "https://login.bank.example/a?b=c",
            "http://127.0.0.1:8081/s/mine/sca/consents?consent_id=1",
            True,
        ),
        ("scaRedirect", "https://login.bank.example/a?b=c", "https://login.bank.example/a?b=d", False),
        ("scaRedirect", "https://login.bank.example/a", "/sca/a", False),
        ("self", "https://login.bank.example/a?b=c", "http://127.0.0.1:8081/a?b=c", False),
        ("scaRedirect", "http://127.0.0.1:8081/sca/a?b=c", "http://127.0.0.1:8081/s/mine/sca/a?b=c", True),
        ("scaRedirect", "http://127.0.0.1:8081/sca/a?b=c", "http://127.0.0.1:8081/s/mine/sca/a?b=d", False),
        ("self", "https://bank.example/xs2a/a?b=c", "http://127.0.0.1:8081/s/mine/a?b=c", True),
    ],
)
def test_each_side_has_its_own_pages(member: str, bank: str, sandbox: str, equal: bool) -> None:
    counterparts = Counterparts("https://bank.example/xs2a", "http://127.0.0.1:8081")
    assert (kinds(counterparts, {member: {"href": bank}}, {member: {"href": sandbox}}) == []) is equal


def test_without_learning_no_ids_are_stored() -> None:
    counterparts = Counterparts()
    assert AnswerDiff(counterparts, learn=False).values(BANK, SANDBOX) == []
    request = Request("GET", "/v1/consents/B-1")
    assert counterparts.to_right(request) is request


def test_ids_in_a_request_are_replaced_with_those_of_the_recipient() -> None:
    counterparts = learned()
    request = Request(
        "PUT",
        "/v1/consents/s.77/x%2Fy?consent_id=s.77&other=s.7",
        Headers([("Consent-ID", "s.77"), ("TPP-Redirect-URI", "https://app.example/back?id=s.77"), ("X-Plain", "s.7")]),
        json.dumps(
            {"consentId": "s.77", "amount": 1.10, "text": "s.7", "_links": {"href": "/v1/consents/s.77"}}
        ).encode(),
    )
    sent = counterparts.to_left(request)
    assert sent.target == "/v1/consents/B-1/x%2Fy?consent_id=B-1&other=s.7"
    assert sent.headers.get("consent-id") == "B-1"
    assert sent.headers.get("x-plain") == "s.7"
    body = json.loads(sent.body)
    assert (body["consentId"], body["text"]) == ("B-1", "s.7")
    assert counterparts.to_right(sent).target == request.target


def test_short_ids_in_links_are_replaced_only_as_whole_segments() -> None:
    counterparts = Counterparts()
    counterparts.learn("1", "one")
    request = Request("GET", "/v1/x/1?page=1", Headers([("X-Text", "page 1 of 1")]), b'{"n":"1","consentId":"1"}')
    sent = counterparts.to_right(request)
    assert sent.target == "/v1/x/one?page=one"
    assert sent.headers.get("x-text") == "page 1 of 1"
    assert json.loads(sent.body) == {"n": "1", "consentId": "one"}


@pytest.mark.parametrize("body", [b"", b"<x>s.77000</x>", b"\xff", b'{"a": 1.10}'])
def test_a_body_without_ids_is_unchanged(body: bytes) -> None:
    assert learned().to_left(Request("POST", "/v1/consents", body=body)).body == body


def test_forms_are_parsed_as_forms() -> None:
    counterparts = Counterparts()
    counterparts.learn("code/1", "code 2")
    headers = Headers([("Content-Type", "application/x-www-form-urlencoded")])
    sent = counterparts.to_right(Request("POST", "/as/token.oauth2", headers, b"grant_type=x&code=code%2F1"))
    assert sent.body == b"grant_type=x&code=code%202"


ONE, TWO, THREE, FOUR = (f"0cae8c3e-1111-4222-8333-44445555666{n}" for n in range(4))


@pytest.mark.parametrize(
    ("bank", "sandbox", "found"),
    [
        ({"consentId": ONE}, {"consentId": TWO}, []),
        ({"consentId": ONE}, {"consentId": THREE}, ["/consentId"]),
        ({"consentId": THREE}, {"consentId": TWO}, ["/consentId"]),
        ({"self": {"href": f"/v1/consents/{ONE}"}}, {"self": {"href": f"/v1/consents/{TWO}"}}, []),
        ({"self": {"href": f"/v1/consents/{THREE}"}}, {"self": {"href": f"/v1/consents/{TWO}"}}, ["/self/href"]),
        ({"self": {"href": f"/v1/consents/{ONE}"}}, {"self": {"href": f"/v1/consents/{THREE}"}}, ["/self/href"]),
        ({"self": {"href": f"/v1/consents/{THREE}"}}, {"self": {"href": f"/v1/consents/{FOUR}"}}, []),
        ({"text": f"consent {ONE} expired"}, {"text": f"consent {TWO} expired"}, []),
        ({"text": f"consent {ONE} expired"}, {"text": f"consent {FOUR} expired"}, ["/text"]),
        ({"trace": THREE}, {"trace": FOUR}, []),
        ({"trace": ONE}, {"trace": FOUR}, ["/trace"]),
        ({"authorisationIds": [THREE, ONE]}, {"authorisationIds": [TWO, FOUR]}, ["/authorisationIds"]),
    ],
)
def test_uuids_must_refer_to_counterparts(bank: object, sandbox: object, found: list[str]) -> None:
    counterparts = learned({"consentId": ONE}, {"consentId": TWO})
    assert [where for _, where in kinds(counterparts, bank, sandbox)] == found


def answered(counterparts: Counterparts, bank: object, sandbox: object, *, makes: bool) -> list[str]:
    sides = (Response(200, (), json.dumps(body).encode()) for body in (bank, sandbox))
    first, second = ((one, body.read(one.body)) for one in sides)
    return [one.where for one in AnswerDiff(counterparts, makes=makes).answers(*first, *second)]


def test_the_sandbox_may_return_an_existing_resource_for_a_new_one() -> None:
    counterparts = learned({"consentId": ONE}, {"consentId": TWO})
    made = {"_links": {"self": {"href": f"/v1/consents/{THREE}"}}, "consentId": THREE}
    there = {"_links": {"self": {"href": f"/v1/consents/{TWO}"}}, "consentId": TWO}
    assert answered(counterparts, made, there, makes=False) == ["/_links/self/href", "/consentId"]
    assert answered(counterparts, made, there, makes=True) == []
    assert (counterparts.twin(ONE), counterparts.twin(THREE)) == (TWO, TWO)


def test_a_new_resource_must_link_to_itself() -> None:
    made = {"_links": {"self": {"href": f"/v1/consents/{THREE}"}}, "consentId": ONE}
    there = {"_links": {"self": {"href": f"/v1/consents/{TWO}"}}, "consentId": TWO}
    assert answered(Counterparts(), made, there, makes=True) == ["/_links/self/href"]
