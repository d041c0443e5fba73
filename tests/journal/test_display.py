"""How exchanges are shown: simulated ones as they were typed, without secrets; those with a real bank as in a
recording.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

import pytest

from tests.support.far_bank import FarBank, ok
from tests.support.turns import few
from xs2a_sandbox.config import Settings
from xs2a_sandbox.engine import Engine, build, redacting
from xs2a_sandbox.features.derive.derive import derive
from xs2a_sandbox.http import Headers, Request
from xs2a_sandbox.journal.display import Display
from xs2a_sandbox.journal.journal import Journaled
from xs2a_sandbox.journal.log_line import LogEntry
from xs2a_sandbox.journal.typed_redactor import TypedRedactor
from xs2a_sandbox.redaction.redactor import Redactor

OURS = "AT459880000010204711"
"""An account of the bundled test data."""
SPACED = "AT45 9880 0000 1020 4711"
PAN = "4111111111111111"
STRANGE = "DE89370400440532013000"
"""An account that is not in the test data."""
UUID_TEXT = "99391c7e-ad88-49ec-a2ad-99ddcb1f7721"
SECRETS = {
    "header": "3f0c1d-bearer-9a81",
    "key": "k-77d1-api-key",
    "cookie": "c-1181-cookie-zz",
    "token": "t-9921-access-qq",
    "password": "geheim-4711-pw",
    "otp": "918273-otp",
    "secret": "s-5512-client-secret",
    "code": "authcode-8812-xx",
}


class Seen:
    """A sandbox that gets requests, with its log and its journal."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.logged: list[LogEntry] = []
        engine.use(on_exchange=self.logged.append)

    def ask(self, method: str, target: str, headers: dict[str, str] | None = None, body: Any = b"") -> bytes:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if content else {}
        pairs = {"X-Request-ID": UUID_TEXT, "PSU-IP-Address": "198.51.100.7", **kind, **(headers or {})}
        request = Request(
            method, target, Headers(pairs.items()), content, pairs.get("Host", "bank.example"), "http", door="direct"
        )

        async def answered() -> bytes:
            return (await self._engine.answer(request)).body

        return self._runner.run(answered())

    def __enter__(self) -> "Seen":
        self._runner = asyncio.Runner()
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._engine.close())
        self._runner.close()

    @property
    def last(self) -> Journaled:
        return self._engine.journal.displayed(self._engine.journal.entries()[-1])

    @property
    def path(self) -> str:
        return self.logged[-1].path


@pytest.fixture(autouse=True)
def empty_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@contextmanager
def seen(tmp_path: Path, **values: Any) -> Iterator[Seen]:
    engine = build.build(Settings(state="memory:", confdir=tmp_path / "conf", **values))
    with Seen(engine) as one:
        yield one


@contextmanager
def seen_with_bank(tmp_path: Path, mode: str, answer: bytes) -> Iterator[Seen]:
    with FarBank(answer) as bank, seen(tmp_path, mode=mode, bank=bank.url, to=tmp_path / "rec") as one:
        yield one


class TestSimulated:
    @pytest.mark.parametrize(
        "path",
        [
            "/v1/acounts",
            "/s/ci-42/v1/acounts",
            "/s/anna.gruenwald/v1/accounts",
            "/v1/paymnets/sepa-credit-transfer",
            "/v1/consents/not-the-id-that-i-mean/status",
            f"/v1/consents/{UUID_TEXT}x",
            f"/v1/accounts/{OURS}/balances",
            f"/v1/accounts/{quote(SPACED)}/balances",
            "/v1/accounts/AT459880000010204712/balances",
            "/v1/accounts/anna%20gr%C3%BCnwald",
        ],
    )
    def test_paths_are_shown_as_typed(self, tmp_path: Path, path: str) -> None:
        with seen(tmp_path) as sandbox:
            sandbox.ask("GET", f"{path}?bookingStatus=bothh")
            assert sandbox.path == path
            assert sandbox.last.target == f"{path}?bookingStatus=bothh"

    def test_ids_from_the_test_data_and_from_answers_are_shown(self, tmp_path: Path) -> None:
        sent = {
            "access": {"balances": [{"iban": OURS}], "transactions": []},
            "recurringIndicator": False,
            "validUntil": "2099-12-31",
            "frequencyPerDay": 1,
        }
        with seen(tmp_path) as sandbox:
            consent = json.loads(sandbox.ask("POST", "/v1/consents", {"PSU-ID": "anna"}, sent))["consentId"]
            assert sandbox.last.headers.get("psu-id") == "anna"
            assert sandbox.last.json == sent
            assert sandbox.last.answer_json["consentId"] == consent
            sandbox.ask("GET", f"/v1/consents/{consent}/status", {"Consent-ID": consent})
            assert sandbox.path == sandbox.last.target == f"/v1/consents/{consent}/status"
            assert sandbox.last.headers.get("consent-id") == consent
            payment = {
                "debtorAccount": {"iban": OURS, "currency": "EUR"},
                "instructedAmount": {"currency": "EUR", "amount": "1.00"},
                "creditorAccount": {"iban": "AT669880000010263115"},
                "creditorAgent": "ESELATW1XXX",
                "creditorName": "Hausgemeinschaft Kastanienhof",
                "remittanceInformationUnstructured": "Miete Jänner, danke!",
                "endToEndIdentification": "E2E-2026-11",
            }
            made = json.loads(sandbox.ask("POST", "/v1/payments/sepa-credit-transfers", {"PSU-ID": "anna"}, payment))
            assert sandbox.last.json == payment
            assert sandbox.last.answer_json == made

    def test_an_error_is_shown(self, tmp_path: Path) -> None:
        with seen(tmp_path) as sandbox:
            answer = sandbox.ask("GET", "/v1/acounts")
            assert b"/v1/acounts" in answer
            assert sandbox.last.answer_body == answer

    def test_unreadable_json_is_shown(self, tmp_path: Path) -> None:
        with seen(tmp_path) as sandbox:
            sandbox.ask("POST", "/v1/consents", {}, b'{"access": {"balances": [}, "password": "geheim-4711-pw"}')
            assert sandbox.last.body == b'{"access": {"balances": [}, "password": "dropped"}'

    def test_secrets_are_never_shown(self, tmp_path: Path) -> None:
        headers = {
            "Authorization": f"Bearer {SECRETS['header']}",
            "X-API-Key": SECRETS["key"],
            "Cookie": f"a={SECRETS['cookie']}",
            "TPP-Redirect-URI": f"shop://back?code={SECRETS['code']}",
        }
        body = {
            "access_token": SECRETS["token"],
            "psuData": {"password": SECRETS["password"], "encryptedPassword": SECRETS["password"]},
            "scaAuthenticationData": SECRETS["otp"],
            "nested": [{"client_secret": SECRETS["secret"]}],
            "link": f"https://anna:{SECRETS['password']}@shop.example/?code={SECRETS['code']}&x=y",
            "jwt": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmF0dXJl",
        }
        form = f"grant_type=authorization_code&code={SECRETS['code']}&client_secret={SECRETS['secret']}".encode()
        with seen(tmp_path) as sandbox:
            sandbox.ask("POST", f"/v1/consents?access_token={SECRETS['token']}", headers, body)
            sandbox.ask(
                "POST", "/as/token.oauth2", {**headers, "Content-Type": "application/x-www-form-urlencoded"}, form
            )
            displayed = [sandbox._engine.journal.displayed(entry) for entry in sandbox._engine.journal.entries()]
            text = repr(
                [(one.target, one.headers.pairs, one.body, one.answer_headers, one.answer_body) for one in displayed]
            )
            for secret in (*SECRETS.values(), "eyJ"):
                assert secret not in text
            assert displayed[0].headers.get("authorization") == "Bearer dropped"
            assert displayed[0].json["link"] == "https://shop.example/?code=dropped&x=y"
            assert displayed[1].body == b"grant_type=authorization_code&code=dropped&client_secret=dropped"

    def test_unknown_accounts_and_addresses_are_replaced(self, tmp_path: Path) -> None:
        strange = (STRANGE, "DE89 3704 0044 0532 0130 00", "maria.huber@mail.example", "4111111111111111")
        body = {"iban": strange[0], "note": f"for {strange[1]}, {strange[2]}", "card": strange[3], "n": int(strange[3])}
        with seen(tmp_path) as sandbox:
            sandbox.ask("POST", f"/v1/accounts/{STRANGE}", {}, body)
            exchange = sandbox.last
            assert sandbox.path == exchange.target
            text = repr(exchange)
            for one in strange:
                assert one not in text
            assert exchange.json["note"].startswith("for DE")

    def test_requests_for_pages_and_control_are_shown_in_the_log(self, tmp_path: Path) -> None:
        with seen(tmp_path) as sandbox:
            sandbox.ask("GET", "/_sandbox/state/consents/anything")
            assert sandbox.path == "/_sandbox/state/consents/anything"

    def test_answers_of_the_sandbox_in_mode_spy_are_shown_as_typed(self, tmp_path: Path) -> None:
        with seen_with_bank(tmp_path, "spy", ok()) as sandbox:
            sandbox.ask("GET", "/v1/consents/mistyped-by-me/status")
            assert sandbox.path == sandbox.last.target == "/v1/consents/mistyped-by-me/status"


class TestOfARealBank:
    """Data of real people, shown as they would be recorded."""

    ANSWER = ok(json.dumps({"accounts": [{"iban": STRANGE, "ownerName": "Maria Huber"}]}).encode())

    @pytest.mark.parametrize(
        ("mode", "path"), [("record", "/v1/accounts"), ("spy", "/unheard"), ("compare", "/v1/accounts")]
    )
    def test_exchanges_with_a_bank_are_redacted(self, tmp_path: Path, mode: str, path: str) -> None:
        real = ("Maria Huber", "Maria%20Huber", "maria.huber", STRANGE, "mhuber77")
        with seen_with_bank(tmp_path, mode, self.ANSWER) as sandbox:
            sandbox.ask(
                "GET",
                f"{path}/{STRANGE}/mhuber77?owner=Maria%20Huber",
                {"PSU-ID": "maria.huber", "Authorization": f"Bearer {SECRETS['header']}", "Consent-ID": "mhuber77"},
            )
            text = repr((sandbox.path, sandbox.last))
            for one in (*real, *SECRETS.values()):
                assert one not in text
            assert sandbox.path == sandbox.last.target.partition("?")[0]

    def test_the_session_is_shown_as_typed(self, tmp_path: Path) -> None:
        with seen_with_bank(tmp_path, "record", self.ANSWER) as sandbox:
            sandbox.ask("GET", f"/s/ci-42/v1/accounts/{STRANGE}")
            assert sandbox.path.startswith("/s/ci-42/v1/accounts/DE")
            assert sandbox.last.target == sandbox.path
            sandbox.ask("GET", "/v1/accounts", {"X-Sandbox-Session": "me"})
            assert sandbox.last.headers.get("x-sandbox-session") == "me"

    def test_a_request_refused_before_its_session_is_known_is_redacted(self, tmp_path: Path) -> None:
        with seen_with_bank(tmp_path, "record", self.ANSWER) as sandbox:
            sandbox.ask("GET", f"/s/{quote('Maria Huber')}/v1/accounts/{STRANGE}")
            text = repr((sandbox.path, sandbox.last.target, sandbox.last.headers))
            assert STRANGE not in text
            assert "Maria" not in text

    def test_a_request_to_an_unreachable_bank_is_redacted(self, tmp_path: Path) -> None:
        with FarBank(ok()) as gone:
            url = gone.url
        with seen(tmp_path, mode="record", bank=url, to=tmp_path / "rec") as sandbox:
            sandbox.ask("GET", f"/v1/accounts/{STRANGE}/mhuber77", {"Host": "localhost"})
            assert sandbox.logged[-1].status == 502
            assert "mhuber77" not in repr((sandbox.path, sandbox.last))


def test_member_names_in_warnings_of_a_replay_are_redacted(tmp_path: Path) -> None:
    """The requests of a replay contain the recorded data of real people."""
    with seen_with_bank(tmp_path, "record", TestOfARealBank.ANSWER) as sandbox:
        sandbox.ask("POST", "/v1/consents", {"Host": "localhost"}, {"access": {}})
    derive(tmp_path / "rec", None)
    names = ("maria.huber@mail.example", STRANGE, "Maria Huber")
    body = "{" + ", ".join(f'"{name}": {n}' for name in names for n in (1, 2)) + "}"
    with seen(tmp_path, cassettes=(tmp_path / "rec" / "cassettes",)) as sandbox:
        sandbox.ask("POST", "/v1/consents", {}, body.encode())
        warnings = sandbox.logged[-1].warnings
        assert len(warnings) >= 1
        text = repr((warnings, sandbox.last.warnings, sandbox.last.reason))
        assert not [name for name in names if name in text]
        assert "maria" not in text.lower()


@pytest.mark.parametrize("count", few([2_000, 20_000], [2_000]))
def test_a_uuid_is_shown_as_a_whole_and_never_taken_for_a_card_or_an_account(count: int) -> None:
    random = Random(2026)
    uuids = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(count)]
    typed, personal = TypedRedactor(b"k" * 32), Redactor(b"k" * 32)
    for uuid in uuids:
        path = f"/v1/consents/{uuid}/status"
        shown = (typed.target(path), typed.target(path.upper()), typed.text(f"no consent {uuid} of card {PAN}"))
        assert uuid in shown[0]
        assert uuid.upper() in shown[1]
        assert uuid in shown[2]
        assert PAN not in shown[2]
        assert personal.target(path) == path


@pytest.mark.parametrize("pan", [PAN, "4111-1111-1111-1111", "4111 1111 1111 1111"])
@pytest.mark.parametrize("path", ["/v1/cards/{}", "/v1/cards/x-{}-y/status", f"/v1/{UUID_TEXT}/{{}}/{UUID_TEXT}"])
def test_a_card_number_in_a_path_is_hidden_even_next_to_uuids(path: str, pan: str) -> None:
    for redactor in (TypedRedactor(b"k" * 32), Redactor(b"k" * 32)):
        shown = unquote(redactor.target(path.format(quote(pan))))
        assert pan not in shown
        assert shown.count(UUID_TEXT) == path.count(UUID_TEXT)


def test_edited_test_data_are_known_from_then_on(tmp_path: Path) -> None:
    engine = build.build(Settings(state="memory:", confdir=tmp_path / "conf"))
    with Seen(engine) as sandbox:
        sandbox.ask("GET", f"/v1/accounts/{STRANGE}")
        assert STRANGE not in sandbox.path
        file = tmp_path / "more.yaml"
        file.write_text(
            f"testdata: 2\npsus:\n  {STRANGE}: {{name: Maria Huber, password: secret, otp: '1', methods: []}}\n"
        )
        settings = Settings(state="memory:", confdir=tmp_path / "conf", testdata=file)
        banks, data = build.read_all(settings)
        assert engine.parts.display
        redacting.show(engine.parts.display, settings, banks, data)
        sandbox.ask("GET", f"/v1/accounts/{STRANGE}")
        assert sandbox.path == sandbox.last.target == f"/v1/accounts/{STRANGE}"


def test_a_path_that_was_shown_before_is_redacted_by_the_redactor_in_use() -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def target(self, path: str) -> str:
            return f"{self.name} {path}"

    path = f"/v1/accounts/{STRANGE}"
    named: Any = Named
    display = Display(lambda: named("personal"), lambda: named("typed"))
    assert [display.path(path, False) for _ in range(2)] == [f"typed {path}"] * 2
    display.use(None, lambda: named("read again"))
    assert display.path(path, False) == f"read again {path}"
