"""Proof of possession: the thumbprint of a certificate, or a DPoP proof that is valid once."""

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


def test_another_key_may_use_the_same_proof_id(store: MemoryStore) -> None:
    one, other = Prover(), Prover()
    first = call(store, one.proof("GET", URL, claims={"jti": "the same id for both"}))
    possession.key_of(first)
    assert first.state.commit()
    again = call(store, other.proof("GET", URL, claims={"jti": "the same id for both"}))
    assert possession.key_of(again) == other.thumbprint


def test_a_proof_is_valid_only_for_its_token(store: MemoryStore) -> None:
    client = Prover()
    assert possession.key_of(call(store, client.proof("GET", URL, "mine")), "mine") == client.thumbprint
    for proof in (client.proof("GET", URL, "mine"), client.proof("GET", URL)):
        with pytest.raises(Unproven):
            possession.key_of(call(store, proof), "another")


@pytest.mark.parametrize(("method", "url"), [("POST", URL), ("GET", "http://bank.example/v1/consents")])
def test_a_proof_for_another_request_is_rejected(store: MemoryStore, method: str, url: str) -> None:
    with pytest.raises(Unproven):
        possession.key_of(call(store, Prover().proof(method, url)))


def test_exactly_one_proof_is_required(store: MemoryStore) -> None:
    client = Prover()
    for proofs in ((), (client.proof("GET", URL), client.proof("GET", URL))):
        with pytest.raises(Unproven, match="it must contain one proof"):
            possession.key_of(call(store, *proofs))
