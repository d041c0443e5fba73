"""What a client shows that it has: a certificate's thumbprint, and a key by a proof that is good once."""

import pytest

from tests.support.proofs import Prover
from xs2a_sandbox.bank.domain import possession
from xs2a_sandbox.bank.domain.possession import Unproven
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.call import Session
from xs2a_sandbox.clock import Clock
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.target import split_target
from xs2a_sandbox.state import MemoryStore
from xs2a_sandbox.state.store import Transaction

URL = "http://bank.example/v1/accounts"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def call(store: MemoryStore, *proofs: str, certificates: tuple[bytes, ...] | None = None) -> Call:
    headers = Headers([("DPoP", proof) for proof in proofs])
    request = Request("GET", "/v1/accounts", headers, host="bank.example", certificates=certificates)
    state = Transaction(store, "default", lambda _: {})
    return Call(request, split_target("/v1/accounts"), Session("default", "http://bank.example"), Clock(), state)


def test_another_key_may_have_an_id_that_was_used(store: MemoryStore) -> None:
    one, other = Prover(), Prover()
    first = call(store, one.proof("GET", URL, claims={"jti": "the same id for both"}))
    possession.key_of(first)
    assert first.state.commit()
    again = call(store, other.proof("GET", URL, claims={"jti": "the same id for both"}))
    assert possession.key_of(again) == other.thumbprint


def test_a_proof_for_a_token_is_not_for_another(store: MemoryStore) -> None:
    client = Prover()
    assert possession.key_of(call(store, client.proof("GET", URL, "mine")), "mine") == client.thumbprint
    for proof in (client.proof("GET", URL, "mine"), client.proof("GET", URL)):
        with pytest.raises(Unproven):
            possession.key_of(call(store, proof), "another")


@pytest.mark.parametrize(("method", "url"), [("POST", URL), ("GET", "http://bank.example/v1/consents")])
def test_a_proof_for_another_request_is_none(store: MemoryStore, method: str, url: str) -> None:
    with pytest.raises(Unproven):
        possession.key_of(call(store, Prover().proof(method, url)))


def test_no_proof_and_two_are_told(store: MemoryStore) -> None:
    client = Prover()
    for proofs in ((), (client.proof("GET", URL), client.proof("GET", URL))):
        with pytest.raises(Unproven, match="it must have one proof"):
            possession.key_of(call(store, *proofs))
