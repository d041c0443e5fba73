"""Replaying recorded answers: with redacted data, rewritten links, and at another time."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine_client import Client
from tests.support.taping import START, URL, tape, taped
from xs2a_sandbox.config import RealBank, Settings
from xs2a_sandbox.engine import Engine, build
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording import replay
from xs2a_sandbox.redaction.pseudonyms import ensure_key, fingerprint
from xs2a_sandbox.redaction.redactor import Redactor

IBAN = "AT611904300234573201"
ACCOUNT = "/v1/konten/{}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recorded(here: Path, *entries: Exchange, redact: bool = True, key: str | None = None) -> None:
    secret = ensure_key(here / "conf")
    redactor = Redactor(secret, words=frozenset({"konten"}))
    written = [redactor.entry(one) for one in entries] if redact else list(entries)
    tape(here / "tape", *written, redacted=(key or fingerprint(secret)) if redact else False)
    derive(here / "tape", None)


def settings(here: Path, **values: Any) -> Settings:
    return Settings(state="memory:", confdir=here / "conf", cassettes=(here / "tape/cassettes",), **values)


def replayed(here: Path, **values: Any) -> Engine:
    return build.build(settings(here, **values))


def test_real_values_of_the_app_match_a_redacted_recording(here: Path) -> None:
    recorded(here, taped("/v1/konten?iban=" + IBAN, {"iban": IBAN, "ok": True}))
    assert IBAN not in "".join(file.read_text() for file in (here / "tape").rglob("*.*") if file.is_file())
    client = Client(replayed(here))
    answer = client.get(f"/v1/konten?iban={IBAN}")
    assert (answer.status, answer.json()["ok"], answer.source) == (200, True, "rule")
    # The values that the app received match too.
    assert client.get(f"/v1/konten?iban={answer.json()['iban']}").json() == answer.json()


XML_TYPE, TEXT_TYPE = [("Content-Type", "application/xml")], [("Content-Type", "text/plain")]
PAIN = (
    "<Document xmlns='urn:iso:std:iso:20022:tech:xsd:pain.001.001.03'><Amt Ccy='EUR'>{}</Amt>"
    "<Cdtr><Nm>Anna Gruenwald</Nm></Cdtr><CdtrAcct><Id><IBAN>{}</IBAN></Id></CdtrAcct></Document>"
)
MULTIPART = (
    '--{}\r\nContent-Disposition: form-data; name="xml_sct"\r\nContent-Type: application/xml\r\n\r\n{}\r\n'
    '--{}\r\nContent-Disposition: form-data; name="json_standingorderType"\r\nContent-Type: application/json\r\n\r\n'
    '{{"frequency": "Monthly", "iban": "{}"}}\r\n--{}--\r\n'
)
OTHER_IBAN = "AT022050302101023600"


def payment(amount: str, iban: str, boundary: str | None = None) -> Exchange:
    body, kind = PAIN.format(amount, iban), "application/xml"
    if boundary:
        body = MULTIPART.format(boundary, body, boundary, iban, boundary)
        kind = f"multipart/form-data; boundary={boundary}"
    target = "/v1/konten/periodic" if boundary else "/v1/konten/single"
    return taped(target, {"of": f"{amount} {iban[-4:]}"}, "POST", headers=[("Content-Type", kind)], body=body.encode())


def test_payments_in_xml_and_multipart_match_a_redacted_recording(here: Path) -> None:
    payments = [
        payment(amount, iban, boundary)
        for amount in ("1.00", "2.00")
        for iban in (IBAN, OTHER_IBAN)
        for boundary in (None, f"b{amount}{iban}")
    ]
    recorded(here, *payments)
    written = "".join(file.read_text() for file in (here / "tape").rglob("*.*") if file.is_file())
    assert not [text for text in (IBAN, OTHER_IBAN, "Anna", "Gruenwald") if text in written]
    raw = next((here / "tape" / "raw").iterdir()).read_text().splitlines()[1:]
    answers = [json.loads(json.loads(line)["response"]["content"]["text"]) for line in raw]
    engine = replayed(here)
    for one, answer in reversed(list(zip(payments, answers, strict=True))):
        # The boundary is different each time.
        headers, body = dict(one.headers), one.body
        for name, kind in headers.items():
            if "boundary=" in kind:
                boundary = kind.partition("boundary=")[2]
                headers[name] = kind.replace(boundary, "another")
                body = body.replace(boundary.encode(), b"another")
        response = Client(engine).post(one.target, headers=headers, body=body)
        assert (response.source, response.json()) == ("rule", answer)


def test_unknown_words_have_one_pseudonym_in_path_location_and_links(here: Path) -> None:
    moved = replace(
        taped("/sx/v1/qwrtz/start?bank=qwrtz", status=302),
        answer_headers=Headers([("Location", f"{URL}/sx/v1/qwrtz/landing/wxkvt")]),
        answer_body=b"",
    )
    landing = taped("/sx/v1/qwrtz/landing/wxkvt", {"name": "qwrtz", "_links": {"self": {"href": "/sx/v1/qwrtz/start"}}})
    recorded(here, moved, landing)
    client = Client(replayed(here))
    redirect = client.get("/sx/v1/qwrtz/start?bank=qwrtz")
    there = redirect.headers["location"].partition("/sx/")[2]
    assert there
    answer = client.get(f"/sx/{there}")
    assert (redirect.status, answer.status, answer.source) == (302, 200, "rule")
    assert client.get("/sx/v1/qwrtz/landing/wxkvt").json() == answer.json()
    word = answer.json()["name"]
    assert word != "qwrtz"
    assert there == f"v1/{word}/landing/{there.rpartition('/')[2]}"
    assert answer.json()["_links"]["self"]["href"].endswith(f"/sx/v1/{word}/start")


STATEMENT = f""":20:AUSZUG4711-0815
:25:{IBAN}EUR
:28C:12/1
:60F:C261119EUR1045,56
:61:2611201120D12,50NTRFNONREF
:86:Miete fuer Anna Gruenwald
:62F:C261120EUR1033,06
-
"""


def test_statements_are_replayed_and_their_values_can_be_sent_back(here: Path) -> None:
    camt = f"<Document><Acct><Id><IBAN>{IBAN}</IBAN></Id></Acct><MsgId>MSG-4711-0815</MsgId></Document>"
    recorded(
        here,
        replace(taped("/v1/konten/camt", answer_headers=XML_TYPE), answer_body=camt.encode()),
        replace(taped("/v1/konten/mt940", answer_headers=TEXT_TYPE), answer_body=STATEMENT.encode()),
        taped(f"/v1/konten/detail?iban={OTHER_IBAN}&message=MSG-4711-0815&of={IBAN}", {"ok": True}),
    )
    client = Client(replayed(here))
    camt_again, statement = (client.get(f"/v1/konten/{name}") for name in ("camt", "mt940"))
    assert camt_again.headers["content-type"] == "application/xml"
    assert statement.body.decode().splitlines()[3:5] == STATEMENT.splitlines()[3:5]
    message = camt_again.body.partition(b"<MsgId>")[2].partition(b"<")[0].decode()
    account = statement.body.partition(b":25:")[2].partition(b"EUR")[0].decode()
    assert f"<IBAN>{account}<".encode() in camt_again.body
    # A value that it received, next to an account that it knows itself.
    answer = client.get(f"/v1/konten/detail?iban={OTHER_IBAN}&message={message}&of={account}")
    assert (answer.status, answer.source) == (200, "rule")


def test_an_answer_from_a_redacted_recording_is_explained(here: Path) -> None:
    recorded(here, taped(ACCOUNT.format(IBAN) + "?iban=" + IBAN, {"ok": True}))
    bank = replayed(here)
    target = ACCOUNT.format(IBAN) + "?iban=" + IBAN

    explanation = bank.explain(Request("GET", target, door="direct"))
    answer = Client(bank).get(target)

    assert answer.source == "rule"
    assert (explanation.decision, explanation.by and explanation.by.candidate.entry.id) == (
        "rule",
        answer.headers["x-sandbox-rule"],
    )
    assert explanation.by
    assert explanation.by.candidate.fits
    assert IBAN not in str(explanation.by.candidate.checks)


def test_links_point_to_the_sandbox(here: Path) -> None:
    links = {"_links": {"self": {"href": f"{URL}/v1/konten/a"}, "other": {"href": "https://other.example/v1/konten/a"}}}
    headers = (("Content-Type", "application/json"), ("Location", f"{URL}/v1/konten/a"))
    recorded(here, taped("/v1/konten/a", links, answer_headers=headers), redact=False)
    answer = Client(replayed(here)).get("/s/ci/xs2a/v1/konten/a", host="sandbox.example")
    assert answer.headers["location"] == "http://sandbox.example/s/ci/xs2a/v1/konten/a"
    assert answer.json()["_links"] == {
        "self": {"href": "http://sandbox.example/s/ci/xs2a/v1/konten/a"},
        "other": {"href": "https://other.example/v1/konten/a"},
    }


def test_recorded_pages_of_the_bank_precede_pages_of_the_sandbox(here: Path) -> None:
    target = "/sca/payments?id=99391c7e-ad88-49ec-a2ad-99ddcb1f7721&decide=approve"
    back = [("Location", "http://localhost:7777/back"), ("Content-Type", "text/html")]
    recorded(here, taped(target, b"<p>back</p>", status=303, answer_headers=back))
    client = Client(replayed(here))

    assert client.get(target).status == 303
    assert client.get(target).headers["location"].startswith("http://localhost:7777/")
    assert b"xs2a-sandbox, a test system" in client.get("/sca/payments?id=another").body


def test_links_are_kept_if_rewriting_is_off(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", {"_links": {"self": {"href": f"{URL}/v1/konten/a"}}}), redact=False)
    answer = Client(replayed(here, banks=(RealBank(URL, rewrite_links=False),))).get("/v1/konten/a")
    assert (answer.source, answer.json()["_links"]["self"]["href"]) == ("rule", f"{URL}/v1/konten/a")


DATES = {
    "day": "2026-11-20",
    "time": "2026-11-20T10:11:12.5+01:00",
    "ever": "9999-12-31",
    "text": "on 2026-11-20",
    "amount": 1.10,
}


def test_dates_are_kept_unless_shifting_is_on(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", DATES), redact=False)
    assert Client(replayed(here)).get("/v1/konten/a").json() == DATES


def test_dates_move_with_the_clock_of_the_session(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", DATES), redact=False)
    engine = replayed(here, shift_dates=True)
    engine.use(admin_token="token-for-this-test")
    client = Client(engine, "ci")

    def at(day: str) -> Any:
        headers = {"Authorization": "Bearer token-for-this-test"}
        set_ = client.request("PUT", "/_sandbox/clock", json={"frozen": f"{day}T12:00:00"}, headers=headers)
        assert set_.status == 200, set_.body
        return client.get("/v1/konten/a").json()

    assert at("2026-11-21") == DATES
    assert at("2026-12-01") == {**DATES, "day": "2026-11-30", "time": "2026-11-30T10:11:12.5+01:00"}
    assert at("2026-11-01")["day"] == "2026-10-31"
    assert Client(engine, "other").get("/v1/konten/a").json()["ever"] == "9999-12-31"


def test_dates_in_other_bodies_than_json_are_kept(here: Path) -> None:
    plain = (("Content-Type", "text/plain"),)
    recorded(here, taped("/v1/konten/a", b"2026-11-20", answer_headers=plain), redact=False)
    assert Client(replayed(here, shift_dates=True)).get("/v1/konten/a").body == b"2026-11-20"


def test_old_recordings_are_reported_or_refused(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", {}), redact=False)
    (file,) = (here / "tape/cassettes").glob("*.yaml")
    file.write_text(file.read_text().replace("2026-11-21", "2020-01-01"))
    engine = replayed(here, max_age=timedelta(days=30))
    (line,) = build.warnings(settings(here, max_age=timedelta(days=30)), engine)
    assert line.startswith(f"{file} was recorded ")
    assert line.endswith(" days ago, longer than max_age allows")
    assert build.warnings(settings(here), engine) == []
    with pytest.raises(ConfigError, match="record again, or increase max_age"):
        replayed(here, max_age=timedelta(days=30), on_expiry="fail")


def test_the_age_is_counted_from_the_recording(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", {}), redact=False)
    said = replayed(here).interface
    day = timedelta(days=1)
    assert list(replay.find_outdated(said, START + day, day)) == []
    assert len(list(replay.find_outdated(said, START + 2 * day, day))) == 1
    assert list(replay.find_outdated(said, datetime(2999, 1, 1, tzinfo=UTC), None)) == []


def test_a_recording_redacted_with_another_key_is_reported(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", {"iban": IBAN}), key="0badc0de")
    (line,) = build.warnings(settings(here), replayed(here))
    assert "redacted with another key (0badc0de, not " in line
    assert "will not match its rules" in line


def test_a_recording_redacted_with_this_key_is_not_reported(here: Path) -> None:
    recorded(here, taped("/v1/konten/a", {"iban": IBAN}))
    assert build.warnings(settings(here), replayed(here)) == []


def test_the_values_an_app_can_have_from_a_recording_are_known(here: Path) -> None:
    answer = {"id": "a-1", "n": 17, "_links": {"next": {"href": "/v1/konten/b-2?page=c-3"}}}
    recorded(here, taped("/v1/konten/a", answer), redact=False)
    texts = replay.recorded_texts(replayed(here).interface)
    assert {"a-1", "17", "b-2", "c-3"} <= texts
    assert "application/json" not in texts
    assert json.dumps("") not in texts


def test_links_are_rewritten_the_same_way_if_the_host_has_other_recorded_paths(here: Path) -> None:
    link = {"_links": {"self": {"href": f"{URL}/v1/konten"}}}
    recorded(here, taped("/v1/konten", link), taped("/token", {"a": 1}, bank=URL.removesuffix("/psd2")), redact=False)
    answer = Client(replayed(here)).get("/v1/konten")
    assert answer.json()["_links"]["self"]["href"] == "http://bank.example/v1/konten"
