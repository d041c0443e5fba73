"""The test data: files are merged by id, and dates count from a day."""

from datetime import date
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.contract import facts
from tests.support.engine_client import Client, an_engine, speaking
from xs2a_sandbox.bank import TestData, testdata
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.errors import Unreadable

BUNDLED = bundled("cassettes") / "testdata.yaml"
DAY = date(2028, 2, 29)


def more(tmp_path: Path, text: str) -> TestData:
    return testdata.load([BUNDLED, written(tmp_path, text)])


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "more.yaml"
    file.write_text("testdata: 2\n" + dedent(text))
    return file


def account(psu: str = "anna", currency: str = "EUR") -> str:
    balance = f"{{amount: {{amount: '1.00', currency: {currency}}}, type: FWAV, "
    balance += 'reference_date: "{{ today(-1) }}"}'
    return f"{{currency: {currency}, name: N, product: P, bic: SANDATWWXXX, psuId: {psu}, balances: [{balance}]}}"


def test_dates_are_relative_to_the_day() -> None:
    (id, _), *_ = facts.consents("authorised")
    data = testdata.load([BUNDLED])

    assert data.at(DAY)["consents"][id]["last_action_on"] == "2028-02-27"
    assert data.at(date(2026, 1, 1))["consents"][id]["last_action_on"] == "2025-12-30"
    assert data.at(DAY) is data.at(DAY)


def test_data_of_only_a_few_days_is_cached() -> None:
    data = testdata.load([BUNDLED])
    for number in range(1, 29):
        data.at(date(2026, 2, number))

    assert len(data._days) < 12
    assert data.at(date(2026, 2, 1))["accounts"]


def test_an_unknown_consent_is_refused() -> None:
    data = testdata.load([BUNDLED])

    assert data.unknown_consents == tuple(id for id, _ in facts.consents("unknown"))
    assert not set(data.unknown_consents) & data.at(DAY)["consents"].keys()


def test_files_are_merged_by_id(tmp_path: Path) -> None:
    iban, other = facts.foreign_iban(), facts.covered()
    data = more(tmp_path, f"accounts:\n  {iban}: {account()}\n  {other}: {account()}\n").at(DAY)

    assert data["accounts"].keys() == facts.accounts().keys() | {iban}
    assert data["accounts"][other]["name"] == "N"
    assert data["accounts"][iban]["balances"][0]["reference_date"] == "2028-02-28"
    assert data["psus"].keys() == facts.testdata()["psus"].keys()


def test_a_null_removes_an_entry(tmp_path: Path) -> None:
    id = facts.consent("expired")

    assert id not in more(tmp_path, f"consents: {{{id}: null}}").at(DAY)["consents"]
    assert more(tmp_path, "consents: {0cae8c3e-1111-4222-8333-444455556666: null}").at(DAY)["consents"]


def test_replace_starts_with_empty_test_data(tmp_path: Path) -> None:
    data = more(tmp_path, "replace: true\npsus: {ann: {name: A, password: p, otp: '1', methods: []}}").at(DAY)

    assert {name: set(entries) for name, entries in data.items() if entries} == {"psus": {"ann"}}


CARD = "0CAE8C3E-1111-4222-8333-444455556666"
CARD_KEPT = "masked_pan: '1***2', currency: EUR, name: A, product: P, balances: []"


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        (f"accounts:\n  {facts.foreign_iban()}: {account(psu='nobody')}", 3, "nobody"),
        (f"accounts: {{{facts.covered()}: null}}", None, facts.covered()),
        (f"accounts: {{AT00{facts.foreign_iban()[4:]}: {account()}}}", 2, "check digits"),
        (
            f"cards:\n  {CARD.lower()}:\n    {{{CARD_KEPT}, account: {facts.foreign_iban()}}}",
            4,
            facts.foreign_iban(),
        ),
        (f"cards: {{{CARD}: {{{CARD_KEPT}}}}}", 2, "the key account"),
        ("clients: {app: {name: App}}", 2, "secret"),
        ("wrong: {}", 2, "wrong"),
        ("psus:\n  ann: {name: A, password: p, otp: '{{ nope }}', methods: []}", 3, "nope"),
    ],
)
def test_mistakes_have_a_place(tmp_path: Path, text: str, where: int | None, words: str) -> None:
    with pytest.raises(Unreadable) as error:
        more(tmp_path, text)

    assert any(words in p.text and where in (p.line, None) for p in error.value.problems)


@pytest.mark.parametrize("name", ["now", "uuid"])
@pytest.mark.parametrize("text", ["{{ NAME() }}", "id {{ NAME() ~ today(1) }}", "{{ NAME }}"])
def test_functions_that_need_a_request_are_refused(tmp_path: Path, name: str, text: str) -> None:
    text = text.replace("NAME", name)
    entry = f"accounts:\n  {facts.foreign_iban()}:\n    {account().replace('name: N', f'name: {text!r}')}\n"
    with pytest.raises(Unreadable) as error:
        more(tmp_path, entry)

    (problem,) = error.value.problems
    assert (problem.line, problem.column, problem.code) == (4, 27, "expression")
    assert f"{name}() has a value only in a request: write a value in its place" in problem.text


def test_all_mistakes_of_all_files_are_reported(tmp_path: Path) -> None:
    cassette = tmp_path / "cassette.yaml"
    cassette.write_text("cassette: 1\n")
    with pytest.raises(Unreadable) as error:
        testdata.load([cassette, written(tmp_path, "wrong: {}\nrates: {EUR: x}")])

    assert {p.file.name for p in error.value.problems} == {"cassette.yaml", "more.yaml"}
    assert len(error.value.problems) >= 3
    assert "--cassettes" in str(error.value)


def test_an_id_is_case_insensitive(tmp_path: Path) -> None:
    """UUIDs compare without case."""
    id = "0CAE8C3E-1111-4222-8333-444455556666"
    fields = "recurring: true, valid_until: 9999-12-31, frequency: 4, last_action_on: 2026-01-01"
    data = more(tmp_path, f"consents: {{{id}: {{role: authorised, accounts: [{facts.covered()}], {fields}}}}}")
    client = Client(an_engine(testdata=data))

    for written_as in (id, id.lower()):
        assert client.get(f"/v1/consents/{written_as}/status").status == 200


def test_a_custom_card(tmp_path: Path) -> None:
    data = more(tmp_path, f"cards: {{{CARD}: {{{CARD_KEPT}, account: {facts.covered()}}}}}")
    client = Client(an_engine(testdata=data))

    for written_as in (CARD, CARD.lower()):
        answer = client.get(f"/v1/card-accounts/{written_as}", consent=facts.consent())
        assert (answer.status, answer.json()["cardAccount"]["creditLimit"]) == (200, None)
    entries = client.get(f"/v1/card-accounts/{CARD}/transactions?bookingStatus=both", consent=facts.consent()).json()
    assert (entries["cardTransactions"]["booked"], entries["cardTransactions"]["pending"]) == ([], [])


def test_a_custom_account_can_be_used(tmp_path: Path) -> None:
    iban = facts.foreign_iban()
    client = Client(an_engine(testdata=more(tmp_path, f"accounts: {{{iban}: {account()}}}")))
    body: dict[str, Any] = {"access": {"balances": [{"iban": iban}]}}
    body |= {"recurringIndicator": True, "validUntil": "9999-12-31", "frequencyPerDay": 1}

    assert client.post("/v1/consents", json=body).json()["consentStatus"] == "received"


def test_minimal_customer_and_account(tmp_path: Path) -> None:
    balance = "{amount: {amount: '1', currency: EUR}, type: XPCD}"
    account = f"{{currency: EUR, psuId: max, balances: [{balance}]}}"
    text = f"psus: {{max: {{name: Max, password: a}}}}\naccounts: {{AT051988000099000011: {account}}}\n"
    data = more(tmp_path, text)
    assert data.at(DAY)["accounts"]["AT051988000099000011"]["psuId"] == "max"


def test_custom_members_are_kept(tmp_path: Path) -> None:
    data = more(tmp_path, "psus: {max: {name: Max, password: a, segment: private, since: '{{ today(-2) }}'}}\n")
    assert data.at(DAY)["psus"]["max"] == {"name": "Max", "password": "a", "segment": "private", "since": "2028-02-27"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("psus: {max: {name: Max, password: a, metods: []}}", "unknown key metods; did you mean methods?"),
        ("psus: {max: {name: Max, pasword: a}}", "unknown key pasword; did you mean password?"),
        (
            "accounts: {AT051988000099000011: {currency: EUR, psuId: anna, balances: "
            "[{amount: {amount: '1', currency: EUR}, type: XPCD}], "
            "entries: {booked: [{id: a, booked_on: 2026-01-01, value_on: 2026-01-01, "
            "amount: {amount: '1', currency: EUR}, creditr_name: x}]}}}",
            "unknown key creditr_name; did you mean creditor_name?",
        ),
    ],
)
def test_misspelled_members_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Unreadable) as failure:
        more(tmp_path, text + "\n")
    assert said in [problem.text for problem in failure.value.problems]


def test_consents_and_payments_can_have_any_state(tmp_path: Path) -> None:
    data = more(
        tmp_path,
        """
        consents:
          3f0c2d52-6c0b-4f6e-9d53-0f4c2b7f9a10:
            role: awaiting
            accounts: [AT459880000010204711]
            recurring: true
            valid_until: "2030-01-01"
            frequency: 4
            last_action_on: "2028-01-01"
            access: {balances: [{iban: AT459880000010204711}]}
        payments:
          3f0c2d52-6c0b-4f6e-9d53-0f4c2b7f9a11:
            kind: single
            service: payments
            product: target-2-payments
            status: ACCC
            debtor: {account: AT459880000010204711}
            amount: {currency: EUR, amount: "1.00"}
            parts:
              - amount: {currency: EUR, amount: "1.00"}
                creditor: {name: Buchhandlung Eselsohr, account: {iban: AT359850700040087109}}
        """,
    )
    assert data.at(DAY)["consents"]["3f0c2d52-6c0b-4f6e-9d53-0f4c2b7f9a10"]["role"] == "awaiting"
    assert data.at(DAY)["payments"]["3f0c2d52-6c0b-4f6e-9d53-0f4c2b7f9a11"]["status"] == "ACCC"


def test_a_balance_of_any_type_limits_payments(tmp_path: Path) -> None:
    text = """
        accounts:
          AT051988000099000011:
            currency: EUR
            psuId: anna
            balances: [{amount: {amount: "10.00", currency: EUR}, type: CLBD}]
        """
    client = Client(an_engine(testdata=more(tmp_path, text)))
    for amount, available in (("10.00", True), ("10.01", False)):
        question = {
            "account": {"iban": "AT051988000099000011"},
            "instructedAmount": {"currency": "EUR", "amount": amount},
        }
        assert client.post("/v1/funds-confirmations", json=question).json() == {"fundsAvailable": available}


def test_a_payment_without_a_request_is_shown_by_the_other_dialect_too() -> None:
    engine = speaking("berlin-group-1.3")
    engine.use(testdata=testdata.load([BUNDLED]))
    client = Client(engine)
    for status in ("ACSP", "ACTC"):
        for id, payment in facts.payments(status):
            record = client.get(f"/v1/{payment['service']}/{payment['product']}/{id}").json()
            assert record["debtorAccount"]["iban"] == payment["debtor"]["account"]
            if payment["kind"] != "bulk":
                assert record["instructedAmount"] == payment["amount"]
                assert record["creditorName"] == payment["parts"][0]["creditor"]["name"]


def test_the_first_version_of_the_format_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "old.yaml"
    file.write_text("testdata: 1\naccounts: {}\n")
    with pytest.raises(Unreadable) as error:
        testdata.load([file])

    (problem,) = error.value.problems
    assert (problem.line, problem.column, problem.code) == (1, 11, "old-testdata")
    assert "write `testdata: 2`" in problem.text
