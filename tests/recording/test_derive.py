"""Derived rules repeat the recorded answers."""

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.taping import again, bank_of_things, derived, replay, rules, same_body, tape, taped
from tests.support.writing import rule_of
from xs2a_sandbox.errors import ConfigError, Unreadable
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http import Response
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.replay import list_left_out

A, B, C = (f"{digit * 8}-1111-4111-8111-111111111111" for digit in "123")

# Any recording


words = st.sampled_from(
    ["v1", "things", "a", "AT459880000010204711", A, "12345678", "x y", "%2F", "", "ä", "null", "1.10"]
)
texts = st.sampled_from(
    [
        A,
        B,
        "2026-11-21",
        "2026-11-22",
        "2026-11-21T10:11:12Z",
        "1.10",
        "2.20",
        "null",
        "x",
        "",
        "{{ a }}",
        "a: b #c",
        "192.0.2.1",
    ]
)
scalars = texts | st.booleans() | st.none() | st.integers(-3, 3) | st.floats(-9, 9).map(lambda f: round(f, 2))
names = st.sampled_from(["a", "b", "endToEndIdentification", "a/b", "~", "0", "", "1", "a\nb"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=5
)
odd_bodies = st.sampled_from(
    [
        b"{",
        b"\xff\x00",
        b'{"a": 1, "a": 2}',
        b"\xef\xbb\xbf{}",
        b'"\\ud800"',
        b"NaN",
        b"1e400",
        b"[1.0e5, 10e0]",
        b"<a>\r\n</a>",
        b"[" * 70 + b"]" * 70,
        b"[" * 200 + b"]" * 200,
        b'{"a":"' + b"x" * 70_000 + b'"}',
        b" ",
        b"a=b&c=d",
    ]
)
bodies = values.map(lambda value: json.dumps(value).encode()) | odd_bodies | st.just(b"")
headers = st.lists(
    st.tuples(
        st.sampled_from(["Consent-ID", "PSU-ID", "Accept", "X-Request-ID", "X-Other", "consent-id", "PSU-IP-Address"]),
        texts,
    ),
    max_size=3,
)
queries = st.lists(
    st.tuples(st.sampled_from(["dateFrom", "q", "", "a%0A"]), texts.filter(lambda t: "#" not in t)), max_size=3
)


@st.composite
def entries(draw: st.DrawFn) -> Exchange:
    path = draw(
        st.sampled_from(["/v1/things", "/v1/things/a", "/p/v1/things"]) | st.lists(words, max_size=4).map(_path)
    )
    query = "&".join(f"{name}={value}" for name, value in draw(queries))
    status = draw(st.sampled_from([200, 201, 204, 400, 404, 500]))
    return taped(
        path + (f"?{query}" if query else ""),
        b"" if status == 204 else draw(bodies),
        draw(st.sampled_from(["GET", "GET", "POST", "DELETE"])),
        status=status,
        headers=draw(headers),
        body=draw(bodies),
        answer_headers=draw(
            st.sampled_from([[], [("Content-Type", "application/json")], [("content-type", "text/html")]])
        ),
    )


def _path(segments: list[str]) -> str:
    return "/" + "/".join(segments)


@given(st.lists(entries(), min_size=1, max_size=8))
def test_any_recording_can_be_loaded_and_replayed(recorded: list[Exchange]) -> None:
    with TemporaryDirectory() as directory:
        derivation = derived(Path(directory), *recorded)
        assert not derivation.left_out
        answers = again(replay(Path(directory)), *recorded)
        assert_same(recorded, answers)
        # Requests that one rule answers keep their order; all others are shuffled.
        shuffled = sorted(zip(map(rule_of, answers), recorded, strict=True), key=lambda pair: str(pair[0]))
        other_order = [entry for _, entry in shuffled]
        assert_same(other_order, again(replay(Path(directory)), *other_order))


def assert_same(recorded: list[Exchange], answers: list[Response]) -> None:
    for entry, answer in zip(recorded, answers, strict=True):
        assert str(rule_of(answer)).startswith("recorded-")
        assert answer.status == entry.status
        assert same_body(entry.answer_body, answer.body), (entry, answer)


# Results


def sent(target: str = "/v1/things", answer: Any = None, **parts: Any) -> Exchange:
    return taped(target, {"ok": 1} if answer is None else answer, **parts)


def test_a_rule_contains_its_match_and_its_answer(tmp_path: Path) -> None:
    derivation = derived(
        tmp_path,
        sent(
            f"/v1/things/{A}?date=2026-11-21",
            {"amount": 1.10},
            headers=[("Consent-ID", C), ("Accept", "x")],
            status=201,
        ),
    )
    (file,) = derivation.files
    (id,) = rules(tmp_path)

    assert re.fullmatch("recorded-xs2a-bank-example-one-[0-9a-f]{8}", id)
    assert (derivation.rules, derivation.kept, derivation.left_out, file.name) == (1, 0, (), "things.yaml")
    assert file.read_text() == (
        "# Derived from a recording. Deriving again replaces these rules, except for those that you have edited or "
        "added.\ncassette: 1\n"
        'title: "Things, recorded"\n'
        'recorded: {bank: "https://xs2a.bank.example/psd2", at: "2026-11-21", redacted: "1a2b3c4d"}\n'
        "rules:\n"
        f"  - id: {id}\n"
        f"    recorded: {{hash: {hash_in(file)}}}\n"
        "    match:\n"
        "      method: GET\n"
        '      path: "/v1/things/{thing}"\n'
        f'      where: {{thing: "{A}"}}\n'
        "      query:\n"
        "        date: {format: date}\n"
        f'      headers: {{Consent-ID: "{C}"}}\n'
        "    require: none\n"
        "    respond:\n"
        "      status: 201\n"
        "      headers: {Content-Type: application/json}\n"
        "      raw: true\n"
        "      body: {amount: 1.1}\n"
    )


def hash_in(file: Path) -> str:
    return file.read_text().partition("hash: ")[2].partition("}")[0]


def test_different_answers_to_one_request_become_a_sequence(tmp_path: Path) -> None:
    derived(tmp_path, *(sent(answer={"n": n}) for n in (1, 2, 1, 3, 3, 3)))

    (rule,) = rules(tmp_path).values()
    assert [answer["body"]["n"] for answer in rule["sequence"]] == [1, 2, 1, 3]
    assert len(again(replay(tmp_path), *[sent()] * 6)) == 6
    assert again(replay(tmp_path), *[sent()] * 9)[-1].body == b'{"n":3}'


def test_ids_of_the_bank_are_kept(tmp_path: Path) -> None:
    journey = [
        sent("/v1/things", {"id": A}, method="POST", body={"requestId": B}),
        sent(f"/v1/things?after={A}", {"page": 2}),
        sent(f"/v1/things?trace={B}"),
    ]
    derived(tmp_path, *journey)

    first, second, made = (rule["match"] for rule in rules(tmp_path).values())
    assert first["query"] == {"after": A, "trace": {"absent": True}}
    assert second["query"] == {"after": {"absent": True}, "trace": {"format": "uuid"}}
    assert made["body"] == {"/requestId": {"format": "uuid"}}


def test_rules_can_be_derived_without_an_interface(tmp_path: Path) -> None:
    tape(tmp_path, sent(f"/v1/accounts/{A}/balances"), sent("/token", method="POST", body=b"grant_type=x"))
    derivation = derive(tmp_path, None)
    assert [file.name for file in derivation.files] == ["accounts.yaml", "token.yaml"]
    assert '"/v1/accounts/{id}/balances"' in derivation.files[0].read_text()


# Several recordings


def test_the_newest_recording_of_an_operation_is_used(tmp_path: Path) -> None:
    derived(tmp_path, sent(answer=1), sent("/v1/things/a", 1))
    derivation = derived(tmp_path, sent(answer=2), sent(answer=3), name="20261122T101112Z")

    assert derivation.rules == 2
    assert [answer.body for answer in again(replay(tmp_path), sent(), sent(), sent("/v1/things/a"))] == [
        b"2",
        b"3",
        b"1",
    ]


@pytest.mark.parametrize(("at", "changed"), [(1000, []), (100_000, ["2026-11-22"])], ids=["that day", "the next"])
def test_recording_the_same_again_changes_only_the_day(tmp_path: Path, at: int, changed: list[str]) -> None:
    def journey(start: int, *ids: str) -> list[Exchange]:
        return [sent(f"/v1/things/{id}", {"id": id}, at=start + n) for n, id in enumerate(ids)]

    (file,) = derived(tmp_path, *journey(0, B, A, C)).files
    first = file.read_text().splitlines()
    derived(tmp_path, *journey(at, C, B, A), name="20261122T101112Z")
    second = file.read_text().splitlines()

    assert [new for old, new in zip(first, second, strict=True) if old != new] == [
        f'recorded: {{bank: "https://xs2a.bank.example/psd2", at: "{day}", redacted: "1a2b3c4d"}}' for day in changed
    ]


def test_a_file_without_rules_is_removed(tmp_path: Path) -> None:
    derived(tmp_path, sent("/v1/others", b"x" * 70_000))
    raw = next((tmp_path / "tape" / "raw").iterdir())
    names = {file.name for file in (tmp_path / "tape" / "cassettes").iterdir()}
    assert names == {"_dialect.yaml", "others.yaml", "bodies"}
    raw.unlink()
    derived(tmp_path, sent())

    names = {file.name for file in (tmp_path / "tape" / "cassettes").glob("*.yaml")}
    assert names == {"_dialect.yaml", "things.yaml"}
    assert list((tmp_path / "tape" / "cassettes" / "bodies").iterdir()) == []


def test_requests_outside_the_banks_url_are_written_to_another_file(tmp_path: Path) -> None:
    host = "https://xs2a.bank.example"
    tape(tmp_path, sent("/v1/things/a"), sent("/pagination/v1/things/b", bank=host))
    derivation = derive(tmp_path, None)
    banks = {yaml.safe_load(file.read_text())["recorded"]["bank"] for file in derivation.files}
    paths = [rule["match"]["path"] for file in derivation.files for rule in yaml.safe_load(file.read_text())["rules"]]
    assert banks == {host, f"{host}/psd2"}
    assert sorted(paths) == ["/pagination/v1/things/b", "/v1/things/a"]
    assert derive(tmp_path, None) == derivation


def test_pseudonyms_of_two_keys_are_in_two_files(tmp_path: Path) -> None:
    tape(tmp_path, sent("/v1/accounts/a"), redacted="aaaaaaaa")
    tape(tmp_path, sent("/v1/accounts/b"), name="20261122T101112Z", redacted=False)
    derivation = derive(tmp_path, None)
    heads = {file.name: file.read_text().partition("redacted: ")[2].partition("}")[0] for file in derivation.files}
    assert sorted(heads.values()) == ["aaaaaaaa", "false"]
    assert derive(tmp_path, None) == derivation


def test_exchanges_without_a_rule_are_reported(tmp_path: Path) -> None:
    derivation = derived(
        tmp_path,
        sent("/v1/cut?secret=1", cut=True),
        sent("/v1/informed", status=103),
        sent("/v1/traced", method="TRACE"),
        sent("/v1/large", body=b"x" * (1024 * 1024 + 1)),
        sent("/v1/\x00"),
        sent("/v1/elsewhere", bank="https://other.example"),
        sent("/v1/elsewhere", answer=2),
        sent(),
    )
    reasons = [line.partition(": ")[2] for line in derivation.left_out]

    assert derivation.rules == 2
    assert derivation.left_out[0].startswith("GET /v1/cut at 2026-11-21T10:11:12+00:00: ")
    assert reasons[:5] == [
        "its answer was not recorded completely",
        "a rule cannot answer with status 103",
        "a rule cannot match the method TRACE",
        "its body is larger than the sandbox accepts",
        "its target is not a path",
    ]
    assert "record each bank into its own folder" in reasons[5]
    assert "secret" not in str(derivation.left_out)


def test_an_empty_recording_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no recording in"):
        derived(tmp_path)


# Edited files


def edit(tmp_path: Path, old: str, new: str, file: str = "things.yaml") -> None:
    path = tmp_path / "tape" / "cassettes" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_an_edited_rule_is_kept_with_its_comments(tmp_path: Path) -> None:
    journey = [sent(f"/v1/things/{name}", {"name": name}) for name in "abc"]
    (file,) = derived(tmp_path, *journey).files
    _, id, _ = rules(tmp_path)
    edit(tmp_path, f"  - id: {id}\n", f"  # on our desk\n  - id: {id}  # mine\n")
    edit(tmp_path, "body: {name: b}", "body: {name: edited}  # was b")
    before = file.read_text()
    derivation = derived(tmp_path)

    assert (derivation.rules, derivation.kept, derivation.left_out) == (2, 1, ())
    assert file.read_text() == before
    assert [answer.body for answer in again(replay(tmp_path), *journey)] == [
        b'{"name":"a"}', b'{"name":"edited"}', b'{"name":"c"}'
    ]  # fmt: skip


def test_an_added_rule_is_kept_in_its_place(tmp_path: Path) -> None:
    derived(tmp_path, sent("/v1/things/a"), sent("/v1/things/b"))
    mine = "  # between the two\n  - {id: mine, match: {path: /mine}, respond: {text: mine}}\n"
    first, second = rules(tmp_path)
    edit(tmp_path, f"  - id: {second}\n", f"{mine}  - id: {second}\n")
    derivation = derived(tmp_path, sent("/v1/things/a", 2), sent("/v1/things/b", 2), name="20261122T101112Z")

    assert mine in derivation.files[0].read_text()
    assert list(rules(tmp_path)) == [first, "mine", second]


def test_a_second_recording_keeps_edited_rules(tmp_path: Path) -> None:
    derived(tmp_path, sent("/v1/things/a", 1), sent("/v1/things/b", 1))
    edit(tmp_path, "body: 1", "body: edited")
    id, _ = rules(tmp_path)
    derivation = derived(tmp_path, sent("/v1/things/b", 2), sent("/v1/things/a", 2), name="20261122T101112Z")

    assert (derivation.rules, derivation.kept) == (1, 1)
    (left_out,) = derivation.left_out
    assert left_out.startswith("GET /v1/things/a at")
    assert f"{id!r} in things.yaml was edited" in left_out
    answers = again(replay(tmp_path), sent("/v1/things/a"), sent("/v1/things/b"))
    assert [answer.body for answer in answers] == [b'"edited"', b"2"]


def test_an_own_rule_that_answers_everything_wins(tmp_path: Path) -> None:
    derived(tmp_path, sent("/v1/things/a"))
    rule = "{id: mine, priority: 1, match: {path: '/v1/things/{x}'}, require: none, respond: {text: mine}}"
    mine = f"cassette: 1\nrules: [{rule}]\n"
    (tmp_path / "tape" / "cassettes" / "mine.yaml").write_text(mine)
    derivation = derived(tmp_path)

    assert (derivation.rules, derivation.kept, len(derivation.left_out)) == (0, 1, 1)
    assert (tmp_path / "tape" / "cassettes" / "mine.yaml").read_text() == mine
    assert not (tmp_path / "tape" / "cassettes" / "things.yaml").exists()
    assert again(replay(tmp_path), sent("/v1/things/a"))[0].body == b"mine"


def test_an_own_file_is_never_changed(tmp_path: Path) -> None:
    derived(tmp_path, sent("/v1/things/a"))
    (id,) = rules(tmp_path)
    mine = tmp_path / "tape" / "cassettes" / "things.yaml"
    mine.write_text(f"cassette: 1\nrules: [{{id: {id}, match: {{path: /mine}}, respond: {{text: mine}}}}]\n")
    derivation = derived(tmp_path)

    assert mine.read_text().endswith("{text: mine}}]\n")
    assert [file.name for file in derivation.files] == ["things-1a2b3c4d.yaml"]
    assert list(rules(tmp_path)) == [f"{id}-2", id]
    assert derived(tmp_path) == derivation


def test_an_edited_body_file_makes_its_rule_an_edited_one(tmp_path: Path) -> None:
    derived(tmp_path, sent("/v1/things/a", b"x" * 70_000, answer_headers=[("Content-Type", "text/plain")]))
    (body,) = (tmp_path / "tape" / "cassettes" / "bodies").iterdir()
    body.write_text("edited")
    derivation = derived(tmp_path)

    assert (derivation.rules, derivation.kept) == (0, 1)
    assert again(replay(tmp_path), sent("/v1/things/a"))[0].body == b"edited"


def test_an_unreadable_file_stops_everything(tmp_path: Path) -> None:
    (file,) = derived(tmp_path, sent("/v1/things/a")).files
    edit(tmp_path, "match:", "mtach:")
    before = file.read_text()
    with pytest.raises(Unreadable, match="unknown-key"):
        derived(tmp_path, sent("/v1/others"), name="20261122T101112Z")
    assert file.read_text() == before
    assert {one.name for one in file.parent.iterdir()} == {"_dialect.yaml", file.name}


# Unrecorded bodies


XML = b"<!-- application/xml, 12 bytes, not recorded: it cannot be read as XML -->"


def test_an_exchange_without_its_body_gets_no_rule_and_is_listed_in_the_file(tmp_path: Path) -> None:
    bank_of_things(tmp_path)
    lost = replace(taped("/v1/things/a?secret=1"), answer_body=XML)
    tape(tmp_path / "tape", taped("/v1/things"), lost, lost, taped("/v1/others", answer_headers=()))
    made = derive(tmp_path / "tape", None)
    assert made.rules == 2
    assert len(made.left_out) == 2
    text = (tmp_path / "tape/cassettes/things.yaml").read_text()
    line = (
        "GET /v1/things/a: the body of its answer is not recorded (application/xml, 12 bytes: it cannot be read as XML)"
    )
    assert text.count(line) == 1
    assert "left_out" not in (tmp_path / "tape/cassettes/others.yaml").read_text()
    engine = replay(tmp_path)
    assert [line for line in list_left_out(engine.interface) if "lacks GET /v1/things/a: the body" in line]


def test_a_resource_without_recorded_bodies_has_a_file_that_lists_them(tmp_path: Path) -> None:
    tape(tmp_path / "tape", replace(taped("/v1/things"), answer_body=XML), name="20261120T101112Z")
    assert derive(tmp_path / "tape", None).rules == 0
    file = tmp_path / "tape/cassettes/things.yaml"
    assert "GET /v1/things: the body" in file.read_text()
    before = file.read_text()
    derive(tmp_path / "tape", None)
    assert file.read_text() == before


def test_a_body_recorded_later_is_no_longer_listed(tmp_path: Path) -> None:
    tape(tmp_path / "tape", replace(taped("/v1/things"), answer_body=XML), name="20261120T101112Z")
    derive(tmp_path / "tape", None)
    tape(tmp_path / "tape", taped("/v1/things"), name="20261121T101112Z")
    assert derive(tmp_path / "tape", None).rules == 1
    assert "left_out" not in (tmp_path / "tape/cassettes/things.yaml").read_text()


def test_many_missing_bodies_are_counted(tmp_path: Path) -> None:
    bank_of_things(tmp_path)
    lost = [replace(taped(f"/v1/things/{n}"), answer_body=XML) for n in range(9)]
    tape(tmp_path / "tape", *lost, taped("/v1/things"))
    derive(tmp_path / "tape", None)
    lines = list(list_left_out(replay(tmp_path).interface))
    assert len(lines) == 6
    assert "lacks 4 more" in lines[-1]


# Other bodies than JSON


def _token(grant: str) -> Exchange:
    body = f"grant_type={grant}&client_id=a".encode()
    form = [("Content-Type", "application/x-www-form-urlencoded")]
    return taped("/token", {"for": grant}, "POST", headers=form, body=body)


def _payment(amount: str, count: int, boundary: str = "") -> Exchange:
    entry = f"<d:Tx><d:Amt Ccy='EUR'>{amount}</d:Amt></d:Tx>"
    xml = f"<d:Document xmlns:d='urn:iso:std:iso:20022:tech:xsd:pain.001.001.03'>{entry * count}</d:Document>"
    kind, body = "application/xml", xml
    if boundary:
        kind = f"multipart/form-data; boundary={boundary}"
        body = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="xml_sct"\r\nContent-Type: application/xml\r\n\r\n'
        )
        body += f"{xml}\r\n--{boundary}--\r\n"
    target = f"/v1/{'periodic-' if boundary else ''}payments/pain.001-sepa-credit-transfers"
    answer = {"paymentId": f"{amount}-{count}"}
    return taped(target, answer, "POST", status=201, headers=[("Content-Type", kind)], body=body.encode())


def test_forms_and_payments_in_xml_are_answered_in_any_order(tmp_path: Path) -> None:
    recorded = [
        *(_token(grant) for grant in ("client_credentials", "authorization_code", "refresh_token")),
        *(_payment(amount, count) for amount, count in (("1.00", 1), ("2.00", 1), ("1.00", 2))),
        *(_payment(amount, count, f"b{amount}{count}") for amount, count in (("1.00", 1), ("2.00", 2))),
    ]

    assert not derived(tmp_path, *recorded).left_out
    assert_same(recorded[::-1], again(replay(tmp_path), *recorded[::-1]))
    # Another boundary with the same parts.
    assert_same([_payment("2.00", 2, "other")], again(replay(tmp_path), _payment("2.00", 2, "other")))


def test_bodies_that_contradict_their_media_type_are_replayed_unchanged(tmp_path: Path) -> None:
    cut = gzip.compress(b'{"accounts": []}')[:-6]
    encoded = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")]
    bodies = {
        "/v1/things/a": (cut, encoded),
        "/v1/things/b": (b"<Document><Stmt>", [("Content-Type", "application/xml")]),
        "/v1/things/c": (b"<html>\xff\x00", [("Content-Type", "application/json")]),
        "/v1/things/d": (b'{"fine":true}', [("Content-Type", "application/json")]),
        "/v1/things/e": (b"\x89PNG\xff", [("Content-Type", "image/png")]),
    }
    entries = [
        replace(taped(target, answer_headers=headers), answer_body=body) for target, (body, headers) in bodies.items()
    ]
    made = derived(tmp_path, *entries)
    assert made.left_out == ()
    reasons = ["its Content-Encoding gzip cannot be decoded", "it is no XML", "it is no JSON"]
    assert [target for target in bodies for line in made.only_bytes if f"{target} at" in line] == list(bodies)[:3]
    for reason, line in zip(reasons, made.only_bytes, strict=True):
        assert reason in line
    for entry, answer in zip(entries, again(replay(tmp_path), *entries), strict=True):
        assert answer.body == entry.answer_body
        named = dict(answer.headers)
        assert {name: named.get(name) for name, _ in entry.answer_headers} == dict(entry.answer_headers)


def test_the_summary_marks_pseudonyms(tmp_path: Path) -> None:
    tape(tmp_path, taped("/v1/dusclkje/accounts", {}), taped("/hydrogen/v1/things", {}), redacted="1a2b3c4d")
    names = [operation.name for operation in derive(tmp_path, None).operations]
    assert "GET /v1/dusclkje/accounts (pseudonyms: dusclkje)" in names
    assert "GET /hydrogen/v1/things" in names
