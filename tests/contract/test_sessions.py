"""Sessions: parallel users of one sandbox do not see each other."""

import uuid
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from tests.contract import bodies, facts
from tests.contract.doors import Bank

spec = pytest.mark.spec
pytestmark = pytest.mark.every_door

WAYS = ("prefix", "header", "proxy user")


def enter(bank: Bank, way: str, session: str) -> Bank:
    """Return the same bank with another session, chosen in this way."""
    if way == "prefix":
        return replace(bank, prefix=f"/s/{session}", session=None)
    if way == "header":
        return replace(bank, session=session)
    if bank.door in ("tls", "direct"):
        pytest.skip("only a proxy has proxy users")
    send = bank.send

    def as_user(method, target, headers, body, *, user=None):  # type: ignore[no-untyped-def]
        return send(method, target, headers, body, user=session)

    return replace(bank, send=as_user, session=None)


def name() -> str:
    return f"s-{uuid.uuid4().hex}"


def initiate(bank: Bank) -> str:
    answer = bank.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA))
    assert answer.status == 200
    return answer.json()["_Left"]["self"]["href"]


@spec("reading-sessions")
@pytest.mark.parametrize("way", WAYS)
def test_sessions_are_isolated(bank: Bank, way: str) -> None:
    first, second = enter(bank, way, name()), enter(bank, way, name())
    own = initiate(first)
    consent = first.post("/v1/consents", json=bodies.consent()).json()["consentId"]

    assert first.get(own).status == 200
    assert second.get(own).status == 404
    assert bank.get(own).status == 404
    assert first.get(f"/v1/consents/{consent}").status == 200
    assert second.get(f"/v1/consents/{consent}").status == 403
    assert second.delete(f"/v1/consents/{facts.consent()}").status == 204
    assert second.get(f"/v1/consents/{facts.consent()}").status == 403
    assert first.get(f"/v1/consents/{facts.consent()}").status == 200
    assert first.delete(own).status == 204


@spec("reading-sessions")
@pytest.mark.parametrize("made", WAYS)
@pytest.mark.parametrize("seen", WAYS)
def test_all_ways_of_naming_a_session_are_equivalent(bank: Bank, made: str, seen: str) -> None:
    session = name()

    assert enter(bank, seen, session).get(initiate(enter(bank, made, session))).status == 200


@spec("reading-sessions")
def test_the_prefix_takes_precedence_over_the_header_and_the_header_over_the_user(bank: Bank) -> None:
    a, b = name(), name()
    both = replace(enter(bank, "prefix", a), session=b)
    own = initiate(both)
    assert enter(bank, "header", a).get(own).status == 200
    assert enter(bank, "header", b).get(own).status == 404

    if bank.door not in ("tls", "direct"):
        user = replace(enter(bank, "proxy user", a), session=b)
        own = initiate(user)
        assert enter(bank, "header", b).get(own).status == 200
        assert enter(bank, "header", a).get(own).status == 404


@spec("reading-sessions")
@spec("reading-path-prefix")
def test_a_base_path_can_follow_the_session(bank: Bank) -> None:
    session = name()
    deep = replace(bank, prefix=f"/s/{session}/xs2a/rest", session=None)

    own = initiate(deep)

    assert own.startswith("/v1/")
    assert deep.get(own).status == 200
    assert enter(bank, "header", session).get(own).status == 200


@spec("reading-session-links")
@pytest.mark.parametrize("way", WAYS)
def test_links_contain_the_session(bank: Bank, way: str) -> None:
    session = name()
    inside = enter(bank, way, session)
    consent = inside.post("/v1/consents", json=bodies.consent()).json()
    payment = inside.post(f"/v1/{bodies.SEPA}", json=bodies.payment(bodies.SEPA)).json()
    account = inside.get(f"/v1/accounts/{facts.covered()}", consent=facts.consent()).json()

    for links in (consent["_links"], payment["_Left"]):
        redirect = urlsplit(links.pop("scaRedirect")["href"])
        assert f"{redirect.scheme}://{redirect.netloc}" == bank.addresses.direct
        assert redirect.path.startswith(f"/s/{session}/")
    for links in (consent["_links"], payment["_Left"], account["_links"]):
        assert all(link["href"].startswith("/v1/") for link in links.values())


@spec("reading-sessions")
def test_the_default_session_needs_no_name(bank: Bank) -> None:
    nameless = replace(bank, session=None)

    own = initiate(nameless)

    assert enter(bank, "header", "default").get(own).status == 200
    assert bank.get(own).status == 404


@spec("reading-session-names")
@pytest.mark.parametrize("session", ["a", "A.b_c-9", "x" * 64])
def test_valid_session_names(bank: Bank, session: str) -> None:
    for way in ("prefix", "header"):
        assert enter(bank, way, session).get(f"/v1/consents/{facts.consent('expired')}/status").status == 200


@spec("reading-session-names")
@pytest.mark.parametrize(
    ("way", "session"),
    [
        ("header", "x" * 65),
        ("header", "two words"),
        ("header", "a/b"),
        ("header", "ü"),
        ("header", "a,b"),
        ("prefix", "x" * 65),
        ("prefix", "two%20words"),
        ("prefix", "%C3%BC"),
        ("prefix", "a@b"),
        ("proxy user", "x" * 65),
        ("proxy user", "two words"),
    ],
)
def test_invalid_session_names(bank: Bank, way: str, session: str) -> None:
    answer = enter(bank, way, session).get(f"/v1/consents/{facts.consent()}/status")

    assert (answer.status, answer.error["code"]) == (400, "FORMAT_ERROR")
