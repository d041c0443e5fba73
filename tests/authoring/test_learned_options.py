"""Handler options that a recording shows. Only options that differ from the documented dialect are learned."""

from typing import Any

import pytest

from tests.support.taping import taped
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.features.derive.learned_options import LearnedOptions, learn_options
from xs2a_sandbox.features.derive.learning.courses import StateReport, StateSequences
from xs2a_sandbox.features.derive.learning.recognised_exchange import recognise_exchanges
from xs2a_sandbox.http.exchange import Exchange

BERLIN_GROUP = layers.read([[bundled("cassettes") / "berlin-group-1.3"]], SCHEMAS, NAMED)
"""This bank has no ready-made consents, keeps deleted consents, and allows one read per address for single-use
consents.
"""

NO_COURSES = StateSequences({}, {}, {}, ())
ONE_OFF = {"recurringIndicator": False}
RECURRING = {"recurringIndicator": True}
UUID, OTHER = "6f1c2d3e-4b5a-4978-8c6d-5e4f3a2b1c0d", "0a1b2c3d-4e5f-4a6b-9c7d-8e9f0a1b2c3d"


def learned(*entries: Exchange, courses: StateSequences = NO_COURSES) -> LearnedOptions:
    places = [str(number) for number in range(len(entries))]
    exchanges = recognise_exchanges(places, entries, BERLIN_GROUP)
    return learn_options(exchanges, BERLIN_GROUP, courses)


def options(*entries: Exchange, courses: StateSequences = NO_COURSES) -> dict[str, dict[str, Any]]:
    return {handler: values for handler, (values, _) in learned(*entries, courses=courses).options.items()}


def consent(id: str, body: Any = RECURRING, psu: str = "anna") -> Exchange:
    return taped("/v1/consents", {"consentId": id}, "POST", status=201, body=body, headers=[("PSU-ID", psu)])


def status_read(id: str, status: str) -> Exchange:
    return taped(f"/v1/consents/{id}", {"consentStatus": status})


def started(link: str = "", *, header: str = "", preferred: str = "") -> Exchange:
    return taped(
        f"/v1/consents/{UUID}/authorisations",
        {"scaStatus": "received", "_links": {link: {"href": "/x"}} if link else {}},
        "POST",
        status=201,
        headers=[("TPP-Redirect-Preferred", preferred)] if preferred else [],
        answer_headers=[("Content-Type", "application/json"), *([("ASPSP-SCA-Approach", header)] if header else [])],
    )


@pytest.mark.parametrize(
    ("start", "approach"),
    [
        (started("scaRedirect"), "redirect"),
        (started("scaOAuth"), "oauth"),
        (started(header="DECOUPLED"), "decoupled"),
        (started("scaRedirect", header="decoupled"), "decoupled"),
    ],
    ids=["a link", "a link to an authorization server", "a header", "a header counts more than a link"],
)
def test_the_approach_is_learned_from_a_start(start: Exchange, approach: str) -> None:
    usual = BERLIN_GROUP.authorisation.of["consent"].options["sca"]
    assert learned(start).authorisation[0] == ({} if usual == approach else {"sca": approach})


def test_the_most_frequent_approach_is_learned_and_the_others_are_reported() -> None:
    both = learned(started(header="decoupled"), started(header="decoupled"), started("scaRedirect"))
    assert both.authorisation == ({"sca": "decoupled"}, ["0", "1"])
    assert both.unknown == ["the approach redirect was seen as well, 1 ×"]


def test_an_approach_that_the_tpp_requested_is_not_learned() -> None:
    assert learned(started(header="decoupled", preferred="false")).authorisation[0] == {}


def failing(attempts: int) -> list[Exchange]:
    path = f"/v1/consents/{UUID}/authorisations/{OTHER}"
    wrong = [taped(path, {"tppMessages": []}, "PUT", status=401, body={}) for _ in range(attempts)]
    return [*wrong, taped(path, {"scaStatus": "failed"})]


def test_attempts_are_the_wrong_codes_before_an_authorisation_failed() -> None:
    assert learned(*failing(7)).authorisation == ({"attempts": 7}, ["7"])


def test_the_usual_number_of_attempts_is_not_learned() -> None:
    usual = {number for number in range(1, 9) if not learned(*failing(number)).authorisation[0]}
    assert len(usual) == 1


@pytest.mark.parametrize(("ids", "is_learned"), [([UUID, OTHER], False), (["c-0001", "c-0002"], True)])
def test_ids_have_a_format_if_they_are_not_uuids(ids: list[str], is_learned: bool) -> None:
    assert ("ids" in options(*map(consent, ids)).get("consents.create", {})) is is_learned


def test_a_bank_keeps_deleted_consents_or_not() -> None:
    deleted = taped("/v1/consents/c-1", None, "DELETE", status=204)
    path = "/v1/consents/c-1/status"
    kept = taped(path, {"consentStatus": "terminatedByTpp"})
    gone = taped(path, {"tppMessages": []}, status=403)
    assert options(deleted, kept) == {}
    assert learned(deleted, gone).options == {"consents.delete": ({"keeps": False}, ["1"])}
    assert options(gone, deleted) == {}


def read(consent_id: str, *, status: int = 200) -> Exchange:
    return taped("/v1/accounts", {"accounts": []}, headers=[("Consent-ID", consent_id)], status=status)


def test_a_single_use_consent_that_is_read_twice_is_not_one_off() -> None:
    again = options(consent(UUID, ONE_OFF), read(UUID), read(UUID))
    assert again
    assert {handler.partition(".")[0] for handler in again} == {"accounts", "cards"}
    assert all(values == {"one_off": False} for values in again.values())


def test_a_refused_second_read_or_a_recurring_consent_changes_nothing() -> None:
    assert options(consent(UUID, ONE_OFF), read(UUID), read(UUID, status=401)) == {}
    assert options(consent(UUID, RECURRING), read(UUID), read(UUID)) == {}


def test_an_older_consent_that_stays_valid_is_not_ended_by_a_newer_one() -> None:
    older, newer = [consent(UUID), status_read(UUID, "valid")], [consent(OTHER), status_read(OTHER, "valid")]
    stayed = learned(*older, *newer, status_read(UUID, "valid"))
    assert stayed.options == {"consents.create": ({"ends_older": False}, ["4"])}
    assert options(*older, *newer, status_read(UUID, "terminatedByTpp")) == {}


def test_the_older_consent_counts_only_if_the_newer_one_became_valid() -> None:
    assert options(consent(UUID), consent(OTHER), status_read(OTHER, "received"), status_read(UUID, "valid")) == {}


def test_the_consent_of_another_customer_does_not_count() -> None:
    entries = (
        consent(UUID),
        status_read(UUID, "valid"),
        consent(OTHER, psu="bob"),
        status_read(OTHER, "valid"),
        status_read(UUID, "valid"),
    )
    assert options(*entries) == {}


def lives(*words: str) -> StateSequences:
    tellings = [StateReport(word, "payment-status", str(number)) for number, word in enumerate(words)]
    return StateSequences({("payment", "p"): tellings}, {}, {}, ())


def test_payments_end_in_the_last_reported_state() -> None:
    assert learned(courses=lives("RCVD", "ACCC")).options == {"payments.initiate": ({"executed": "ACCC"}, ["1"])}


def test_payments_that_are_first_in_process_end_as_documented() -> None:
    assert options(courses=lives("RCVD", "ACSP", "ACSC")) == {}
    assert options(courses=lives("RCVD", "RJCT")) == {}
