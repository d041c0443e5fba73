"""The token endpoint, in process (RFC 6749)."""

import base64
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote_plus, urlencode

import pytest

from tests.contract import facts
from tests.support.engine_client import Answer, Client, an_engine, bundled_engine, speaking
from tests.support.visitor import transaction
from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bank.handlers.token import challenge_of
from xs2a_sandbox.clock import Clock, read_time
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.state.session import keep_clock

((ID, KEPT),) = facts.testdata()["clients"].items()
SECRET = KEPT["secret"]
GRANT = ("grant_type", "client_credentials")
IN_BODY = (("client_id", ID), ("client_secret", SECRET))
FORM = "application/x-www-form-urlencoded"
PATHS = [
    "/as/token.oauth2",
    "/as/token.oauth2/",
    "/api/psd2/as/token.oauth2",
    "/s/mine/as/token.oauth2",
    "/s/mine/x/as/token.oauth2",
]

Form = Sequence[tuple[str, str]]


@pytest.fixture
def client() -> Client:
    return Client(an_engine())


def basic(id: str = ID, secret: str = SECRET) -> str:
    return "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()


def ask(client: Client, form: Form = (GRANT,), authorization: str | None = None, path: str = PATHS[0]) -> Answer:
    headers = {"X-Request-ID": None, "Content-Type": FORM, "Authorization": authorization}
    return client.post(path, body=urlencode(form).encode(), headers=headers)


def refused(answer: Answer, status: int, error: str) -> str:
    """Return the description. The answer has the format of the RFC, not of the bank."""
    body = answer.json()
    assert (answer.status, body["error"]) == (status, error)
    assert set(body) == {"error", "error_description"}
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    assert bundled_engine().schemas["token-error"].complaint(body) is None
    assert ("www-authenticate" in answer.headers) == (status == 401)
    if status == 401:
        assert answer.headers["www-authenticate"].startswith("Basic realm=")
    description: str = body["error_description"]
    assert not set(description) & set('"\\')
    assert description.isascii()
    assert description.isprintable()
    return description


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("form", "authorization"),
    [((GRANT,), basic()), ((GRANT, *IN_BODY), None), ((GRANT, ("client_id", ID)), None)],
)
def test_a_known_client_gets_a_token(client: Client, path: str, form: Form, authorization: str | None) -> None:
    answer = ask(client, form, authorization, path)

    body = answer.json()
    assert answer.status == 200
    assert list(body) == ["access_token", "token_type", "expires_in"]
    assert (body["token_type"], body["expires_in"]) == ("Bearer", 599)
    assert len(body["access_token"]) >= 32
    assert (answer.headers["cache-control"], answer.headers["pragma"]) == ("no-store", "no-cache")
    assert "x-request-id" not in answer.headers
    assert answer.headers["x-sandbox-rule"] == "token"
    assert bundled_engine().schemas["token"].complaint(body) is None


def test_a_client_secret_without_a_value_counts_as_missing(client: Client) -> None:
    """RFC 6749, section 3.1: parameters sent without a value are treated as if they were omitted."""
    assert ask(client, (GRANT, ("client_id", ID), ("client_secret", ""))).status == 200


def test_the_request_id_is_returned_if_sent(client: Client) -> None:
    headers = {"X-Request-ID": "any", "Authorization": basic(), "Content-Type": FORM}
    answer = client.post(PATHS[0], body=urlencode((GRANT,)).encode(), headers=headers)
    assert (answer.status, answer.headers["x-request-id"]) == (200, "any")


def test_every_token_is_stored_in_its_session_with_its_expiry() -> None:
    store = MemoryStore()
    client = Client(an_engine(store))
    before = Clock().now().replace(microsecond=0)
    mine, again = (ask(client, authorization=basic(), path=PATHS[3]).json()["access_token"] for _ in range(2))
    default = ask(client, authorization=basic()).json()["access_token"]

    assert len({mine, again, default}) == 3
    assert store.list("mine", "tokens")[1].keys() == {mine, again}
    ((token, kept),) = store.list("default", "tokens")[1].items()
    assert token == default
    assert kept is not None
    assert kept["client"] == ID
    left = datetime.fromisoformat(kept["expires"]) - before
    assert timedelta(seconds=599) <= left < timedelta(seconds=599 + 60)


def test_the_lifetime_of_a_token_does_not_depend_on_the_clock_change() -> None:
    """Summer time ends during its lifetime."""
    store = MemoryStore()
    begins = read_time("2026-10-25T02:55+02:00")
    ask(Client(an_engine(store, clock=Clock(frozen=begins))), authorization=basic())

    ((_, kept),) = store.list("default", "tokens")[1].items()

    assert kept is not None
    assert datetime.fromisoformat(kept["expires"]) - begins == timedelta(seconds=599)
    assert kept["expires"] == "2026-10-25T02:04:59+01:00"


# -- by a code (for the rest, see tests/contract/berlin_group/test_oauth.py)


VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
BACK = "https://tpp.example/back"


def by_code(client: Client, at: str, given_to: str = ID) -> Answer:
    """Exchange a code that expires at noon at this time."""
    members = {"client": given_to, "scope": "AIS:1", "authorisation": "2", "redirect_uri": BACK}
    noon = "2026-03-01T12:00:00+01:00"
    state = transaction(client)
    state.put("authorisationCodes", "abc", {**members, "challenge": challenge_of(VERIFIER), "expires": noon})
    keep_clock(state, Clock(frozen=read_time(at)))
    assert state.commit()
    form = (("grant_type", "authorization_code"), ("code", "abc"), ("redirect_uri", BACK), ("code_verifier", VERIFIER))
    return ask(client, form, basic())


@pytest.fixture
def by_oauth() -> Client:
    return Client(speaking("berlin-group-1.3"))


def refused_by_oauth(answer: Answer) -> str:
    assert (answer.status, answer.json()["error"]) == (400, "invalid_grant")
    return str(answer.json()["error_description"])


def test_a_code_is_valid_until_it_expires(by_oauth: Client) -> None:
    assert by_code(by_oauth, "2026-03-01T11:59:59+01:00").status == 200


def test_an_expired_code_is_refused(by_oauth: Client) -> None:
    assert refused_by_oauth(by_code(by_oauth, "2026-03-01T12:00:00+01:00")) == "the code has expired"


def test_a_code_is_valid_only_for_its_client(by_oauth: Client) -> None:
    assert "another client" in refused_by_oauth(by_code(by_oauth, "2026-03-01T11:00:00+01:00", given_to="other"))


def test_tokens_from_a_code_are_stored_with_client_scope_authorisation_and_expiry(by_oauth: Client) -> None:
    grant = by_code(by_oauth, "2026-03-01T11:00:00+01:00").json()
    common = {"client": ID, "scope": "AIS:1", "authorisation": "2", "code": "abc"}
    state = transaction(by_oauth)
    ends = {"tokens": "2026-03-01T11:09:59+01:00", "refreshTokens": "2026-05-30T12:00:00+02:00"}
    for collection, name in (("tokens", "access_token"), ("refreshTokens", "refresh_token")):
        assert state.all(collection) == {grant[name]: {**common, "expires": ends[collection]}}


@pytest.mark.parametrize(
    ("form", "authorization"),
    [
        ((GRANT,), None),
        ((GRANT,), basic(secret="wrong")),
        ((GRANT,), basic(secret="")),
        ((GRANT,), basic(id="nobody")),
        ((GRANT,), "Basic ***"),
        ((GRANT,), "Basic " + base64.b64encode(b"no colon").decode()),
        ((GRANT,), "Basic " + base64.b64encode(b"\xff:\xff").decode()),
        ((GRANT,), "Basic"),
        ((GRANT,), "Bearer abc"),
        ((GRANT, ("client_id", "nobody")), None),
        ((GRANT, ("client_secret", SECRET)), None),
        ((GRANT, ("client_id", ID), ("client_secret", "wrong")), None),
        ((GRANT, ("client_id", "nobody"), ("client_secret", SECRET)), None),
    ],
)
def test_an_unknown_client_gets_no_token(client: Client, form: Form, authorization: str | None) -> None:
    refused(ask(client, form, authorization), 401, "invalid_client")


@pytest.mark.parametrize("grant", ["authorization_code", "password", "refresh_token", "CLIENT_CREDENTIALS", 'a"\\ä'])
@pytest.mark.parametrize("authorization", [basic(), None])
def test_other_grants_are_refused(client: Client, grant: str, authorization: str | None) -> None:
    answer = ask(client, (("grant_type", grant),), authorization)
    assert "client_credentials" in refused(answer, 400, "unsupported_grant_type")


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ((), "grant_type"),
        (IN_BODY, "grant_type"),
        ((("grant_type", ""),), "grant_type"),
        ((GRANT, GRANT), "twice"),
        ((GRANT, ("scope", "a"), ("scope", "b")), "twice"),
        ((GRANT, *IN_BODY), "only once"),
    ],
)
def test_a_malformed_request_gets_a_specific_error(client: Client, form: Form, word: str) -> None:
    assert word in refused(ask(client, form, basic()), 400, "invalid_request")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"grant_type": "client_credentials"}', "application/json"),
        (b"grant_type=client_credentials", "text/plain"),
        (b"grant_type=%ff", FORM),
        (b"grant_type=\xff", FORM),
    ],
)
def test_only_forms_are_accepted(client: Client, body: bytes, content_type: str) -> None:
    answer = client.post(PATHS[0], body=body, headers={"Content-Type": content_type, "Authorization": basic()})
    refused(answer, 400, "invalid_request")


@pytest.mark.parametrize("content_type", [None, f"{FORM}; charset=UTF-8", FORM.upper()])
def test_the_content_type_may_be_missing_or_have_parameters(client: Client, content_type: str | None) -> None:
    headers = {"Content-Type": content_type, "Authorization": basic()}
    assert client.post(PATHS[0], body=urlencode((GRANT,)).encode(), headers=headers).status == 200


def end(client: Client, token: str) -> Answer:
    return ask(client, (("token", token),), basic(), "/as/revoke_token.oauth2")


def test_revoking_a_refresh_token_revokes_only_the_tokens_of_its_code(by_oauth: Client) -> None:
    grant = by_code(by_oauth, "2026-03-01T11:00:00+01:00").json()
    ask(by_oauth, (("grant_type", "refresh_token"), ("refresh_token", grant["refresh_token"])), basic())
    own = ask(by_oauth, authorization=basic()).json()["access_token"]
    assert len(transaction(by_oauth).all("tokens")) == 3

    assert (end(by_oauth, grant["refresh_token"]).status, end(by_oauth, "unknown").status) == (200, 200)
    state = transaction(by_oauth)
    assert (set(state.all("tokens")), state.all("refreshTokens")) == ({own}, {})


def test_reusing_a_code_revokes_refreshed_tokens_too(by_oauth: Client) -> None:
    grant = by_code(by_oauth, "2026-03-01T11:00:00+01:00").json()
    ask(by_oauth, (("grant_type", "refresh_token"), ("refresh_token", grant["refresh_token"])), basic())
    form = (("grant_type", "authorization_code"), ("code", "abc"), ("redirect_uri", BACK), ("code_verifier", VERIFIER))
    assert "was used before" in refused_by_oauth(ask(by_oauth, form, basic()))
    state = transaction(by_oauth)
    assert (state.all("tokens"), state.all("refreshTokens")) == ({}, {})


def test_revoking_a_refresh_token_without_a_code_revokes_only_itself(by_oauth: Client) -> None:
    own = ask(by_oauth, authorization=basic()).json()["access_token"]
    state = transaction(by_oauth)
    state.put("refreshTokens", "r1", {"client": ID, "expires": "2999-01-01T00:00:00+01:00"})
    assert state.commit()
    assert end(by_oauth, "r1").status == 200
    state = transaction(by_oauth)
    assert (set(state.all("tokens")), state.all("refreshTokens")) == ({own}, {})


def test_a_client_cannot_revoke_the_token_of_another_client(by_oauth: Client) -> None:
    state = transaction(by_oauth)
    state.put("tokens", "t1", {"client": "other", "expires": "2999-01-01T00:00:00+01:00"})
    assert state.commit()
    assert "another client" in refused_by_oauth(end(by_oauth, "t1"))
    assert "t1" in transaction(by_oauth).all("tokens")


def test_the_bundled_interface_has_no_revocation(client: Client) -> None:
    assert end(client, "t1").status == 404


def test_other_methods_are_refused(client: Client) -> None:
    answer = client.get(PATHS[0])
    assert (answer.status, answer.error["code"], answer.headers["allow"]) == (405, "SERVICE_INVALID", "POST")


@pytest.mark.parametrize("encode", [str, quote_plus])
def test_basic_authentication_is_accepted_with_and_without_percent_encoding(tmp_path: Path, encode: type[str]) -> None:
    secret = "a+b%20c:d é"
    file = tmp_path / "mine.yaml"
    file.write_text(f"testdata: 2\nreplace: true\nclients: {{my-app: {{secret: '{secret}', name: Mine}}}}\n")
    client = Client(an_engine(testdata=testdata.load([file])))

    assert ask(client, authorization=basic("my-app", encode(secret))).status == 200
    assert ask(client, (GRANT, ("client_id", "my-app"), ("client_secret", secret))).status == 200
    refused(ask(client, authorization=basic()), 401, "invalid_client")
