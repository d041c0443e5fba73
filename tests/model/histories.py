"""Histories of a bank: the same steps in a model, in a sandbox that is read after each step, and in one that is not.

The first sandbox stores its state in memory. The other one stores it in SQLite, is restarted from time to time, and is
read only at the end. Both must answer each step as the model does, and show the same state at the end.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import time_machine

from tests.contract import bodies, facts
from tests.model.bank_model import Authorisation, BankModel, Basket, Consent, Payment, Resource, Said, Unsaid, midnight
from tests.support.engine_client import Answer
from tests.support.state_words import default_states
from tests.support.timed_bank import (
    APART,
    DECOUPLED,
    EMBEDDED,
    REDIRECT,
    REQUEST_ID,
    TimedBank,
    an_engine_at,
)
from xs2a_sandbox.state.sqlite import SqliteStore

WISHES = {"redirect": REDIRECT, "embedded": EMBEDDED, "decoupled": DECOUPLED}
SESSIONS = ("one", "two")
WORDS = default_states()
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
OWN_TO_EACH = {"nonce", "code"}
"""Members of documents with random values."""


def told_of(resource: Resource, authorisation: Mapping[str, Any]) -> str | None:
    """Return the interface's status of a resource, given its status in the control interface."""
    return WORDS.word(type(resource).__name__.lower(), authorisation["resourceStatus"])


ALLOWED = {
    ("consent", "received"): {"valid", "partiallyAuthorised", "rejected", "expired", "deleted"},
    ("consent", "partiallyAuthorised"): {"valid", "rejected", "expired", "deleted"},
    ("consent", "valid"): {"expired", "deleted"},
    ("consent", "rejected"): {"deleted"},
    ("consent", "expired"): {"deleted"},
    ("payment", "RCVD"): {"ACSP", "ACTC", "PATC", "RJCT", "CANC"},
    ("payment", "PATC"): {"ACSP", "ACTC", "RJCT", "CANC"},
    ("payment", "ACTC"): {"ACSP", "CANC"},
    ("basket", "RCVD"): {"PATC", "ACTC", "RJCT", "CANC"},
    ("basket", "PATC"): {"ACTC", "RJCT"},
}
"""The transitions in docs/states.md."""

FIGURES: Counter[str] = Counter()
"""Counts of the steps of all histories in this process, for the report of a long run."""


def reachable(kind: str, before: str, after: str) -> bool:
    """Return whether allowed transitions lead from one state to the other."""
    near, far = {before}, {before}
    while near:
        near = {to for status in near for to in ALLOWED.get((kind, status), set())} - far
        far |= near
    return after in far


class Difference(AssertionError):
    """The sandbox and the model, or two sandboxes, differ."""


@dataclass
class Session:
    """One session of a sandbox. Maps the model's number of a resource to its id and its path."""

    bank: TimedBank
    explains: bool
    ids: dict[int, str] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    links: dict[int, str] = field(default_factory=dict)
    shown: dict[int, str] = field(default_factory=dict)

    def ask(self, method: str, target: str, **options: Any) -> Answer:
        """The prediction of `explain` must match the answer."""
        explanation = self._explained(method, target, **options) if self.explains else None
        answer = self.bank.ask(method, target, **options)
        if explanation is not None:
            FIGURES["explained"] += 1
            by = answer.headers.get("x-sandbox-rule")
            same(
                f"explain {method} {target}",
                (explanation["answer"]["status"], explanation["by"] and explanation["by"]["operation"]),
                (answer.status, by),
            )
        return answer

    def _explained(
        self,
        method: str,
        target: str,
        *,
        json: Any = None,
        headers: Mapping[str, str | None] | None = None,
        consent: str | None = None,
    ) -> Any:
        sent = {"X-Request-ID": REQUEST_ID, "PSU-IP-Address": "192.0.2.7", "Consent-ID": consent, **(headers or {})}
        question = {
            "method": method,
            "url": target,
            "headers": {name: value for name, value in sent.items() if value is not None},
            "session": self.bank.session,
            **({} if json is None else {"body": json}),
        }
        answer = self.bank.control("POST", "explain", question)
        same(f"explain {method} {target} is", answer.status, 200)
        return answer.json()

    def starts(self, resource: Resource, family: str) -> str:
        return f"{self.paths[resource.number]}/{'cancellation-' * (family == 'cancellation')}authorisations"

    def own(self, one: Authorisation) -> str:
        return f"{self.starts(one.resource, one.family)}/{self.ids[one.number]}"

    def learn(self, one: Authorisation) -> None:
        """Find the id of an authorisation that no answer contained: the newest one of its resource."""
        listed = self.bank.get(self.starts(one.resource, one.family))["authorisationIds"]
        if not listed or listed[-1] in self.ids.values():
            raise Difference(f"no new authorisation is listed of {name(one.resource)}, but {listed}")
        self.ids[one.number] = listed[-1]


def name(one: Resource | Authorisation) -> str:
    if isinstance(one, Authorisation):
        return f"authorisation {one.number} ({one.approach}) of the {one.family} {name(one.resource)}"
    return f"{one.kind} {one.number}"


def same(subject: str, real: Any, expected: Any) -> None:
    FIGURES["compared"] += 1
    if real != expected:
        raise Difference(f"{subject}: the sandbox says {real!r}, expected is {expected!r}")


class History:
    """Two sessions in each of two sandboxes, with their models, starting at the same time."""

    def __init__(self, start: str, directory: Path, *, seeded: bool = False) -> None:
        self.file = directory / "state.db"
        self.store = SqliteStore(self.file)
        self.start = start
        self.travel = time_machine.travel(datetime.fromisoformat(start), tick=False)
        self.real = self.travel.start()
        self.running: list[timedelta | None] = [None for _ in SESSIONS]
        data = facts.as_of(datetime.fromisoformat(start).date())
        engine, other = an_engine_at(start), an_engine_at(start, self.store)
        self.eager = [Session(TimedBank(engine, session), True) for session in SESSIONS]
        self.lazy = [Session(TimedBank(other, session), False) for session in SESSIONS]
        self.models = [BankModel(data, self.eager[0].bank.now.astimezone(UTC)) for _ in SESSIONS]
        self.steps: list[str] = []
        self.broken = False
        self.seeded = [seeded, False]
        if seeded:
            for session in (self.eager[0], self.lazy[0]):
                session.bank.at(start, seed=7)

    def begin(self) -> None:
        """Put the initial state of every history into the sandboxes."""
        FIGURES["histories"] += 1
        for who, model in enumerate(self.models):
            for one in model.consents:
                for session in (self.eager[who], self.lazy[who]):
                    session.ids[one.number] = str(one.preconfigured)
                    session.paths[one.number] = f"/v1/consents/{one.preconfigured}"
            self.consent(who, (), 9999, recurring=False)
            watcher = model.consents[-1]
            for session in (self.eager[who], self.lazy[who]):
                session.bank._watcher = session.ids[watcher.number]

    def __str__(self) -> str:
        return "\n  ".join([f"start {self.start}", *self.steps])

    def close(self) -> None:
        FIGURES["requests"] += sum(len(session.bank.log) for session in [*self.eager, *self.lazy])
        self.store.close()
        self.travel.stop()

    # -- steps

    @contextmanager
    def _step(self, who: int, text: str) -> Iterator[BankModel]:
        """Do nothing if the outcome of the step is undefined."""
        self.steps.append(f"{SESSIONS[who]}: {text}")
        try:
            yield self.models[who]
            FIGURES["steps"] += 1
            FIGURES[text.partition(" ")[0]] += 1
            self.look(who)
        except Unsaid as reason:
            self.steps.pop()
            FIGURES["left out"] += 1
            FIGURES[f"unsaid: {reason}"] += 1
        except Difference as difference:
            self.broken = True
            raise Difference(f"{difference}\nafter\n  {self}") from None

    def _both(self, who: int, subject: str, expected: Said, ask: Callable[[Session], Answer]) -> list[Answer]:
        answers = []
        for session in (self.lazy[who], self.eager[who]):
            answer = ask(session)
            code = None if answer.status < 400 or expected.code is None else answer.error["code"]
            same(
                f"{subject} ({'eager' if session.explains else 'lazy'}) {answer.body[:200]!r}",
                (answer.status, code),
                (expected.status, expected.code),
            )
            answers.append(answer)
        return answers

    def pay(
        self,
        who: int,
        debtor: str,
        creditor: str,
        amount: str,
        currency: str,
        product: str,
        days: int | None,
        wish: str | None,
    ) -> None:
        with self._step(who, f"pay {debtor} {creditor} {amount} {currency} {product} {days} {wish}") as model:
            label = f"m-{len(model.payments)}"
            day = None if days is None else model.today + timedelta(days=days)
            bulk = product == bodies.BULK
            transfers = [(creditor, Decimal(amount), currency)] + [
                (facts.foreign_iban(), Decimal("1.25"), currency)
            ] * bulk
            made = model.initiate(label, product, debtor, transfers, day=day, approach=wish)
            changes: dict[str, Any] = {"debtor": debtor, "amount": amount, "currency": currency}
            if bulk:
                changes |= {"creditorIban": [creditor, facts.foreign_iban()], "e2eIdentification": [label, label]}
            else:
                changes["creditorAccount"] = {"iban": creditor}
            changes |= {"requestedExecutionDate": day and day.isoformat(), "endToEndIdentification": label}
            self._initiated(who, made, product, bodies.payment(product, **changes), wish)

    def order(
        self,
        who: int,
        debtor: str,
        creditor: str,
        amount: str,
        starts: int,
        ends: int | None,
        frequency: str,
        day: str | None,
        wish: str | None,
    ) -> None:
        """Create a standing order."""
        text = f"order {debtor} {creditor} {amount} {starts} {ends} {frequency} {day} {wish}"
        with self._step(who, text) as model:
            label = f"m-{len(model.payments)}"
            start = model.today + timedelta(days=starts)
            end = None if ends is None else start + timedelta(days=ends)
            transfers = [(creditor, Decimal(amount), "EUR")]
            made = model.initiate(
                label, bodies.PERIODIC, debtor, transfers, standing=(start, end, frequency, day), approach=wish
            )
            body = bodies.payment(
                bodies.PERIODIC,
                debtor=debtor,
                amount=amount,
                creditorAccount={"iban": creditor},
                startDate=start.isoformat(),
                endDate=end and end.isoformat(),
                frequency=frequency,
                dayOfExecution=day,
                endToEndIdentification=label,
                e2eIdentification=label,
            )
            if end is None:
                del body["endDate"]
            self._initiated(who, made, bodies.PERIODIC, body, wish)

    def _initiated(self, who: int, made: Payment | Said, product: str, body: Any, wish: str | None) -> None:
        expected = made if isinstance(made, Said) else Said(200)
        headers = APART if wish is None else WISHES[wish]
        answers = self._both(
            who, "pay", expected, lambda s: s.ask("POST", f"/v1/{product}", json=body, headers=headers)
        )
        if isinstance(made, Payment):
            for session, answer in zip((self.lazy[who], self.eager[who]), answers, strict=True):
                same("pay", answer.json()["transactionStatus"], "RCVD")
                self._made(session, made, answer.json()["paymentId"], f"/v1/{product}", answer.json()["_Left"])

    def _made(self, session: Session, made: Resource, id: str, path: str, links: Any) -> None:
        session.ids[made.number], session.paths[made.number] = id, f"{path}/{id}"
        session.links[made.number] = "/" + links["scaRedirect"]["href"].partition("://")[2].partition("/")[2]
        for one in made.authorisations.get(made.kind, ()):
            session.learn(one)

    def consent(
        self, who: int, accounts: tuple[str, ...], days: int, *, recurring: bool = True, wish: str | None = None
    ) -> None:
        with self._step(who, f"consent {','.join(accounts)} {days} {recurring} {wish}") as model:
            until = date(9999, 12, 31) if days == 9999 else model.today + timedelta(days=days)
            made = model.ask_consent(accounts, recurring, until, wish)
            expected = made if isinstance(made, Said) else Said(200)
            body = bodies.consent(*accounts, recurringIndicator=recurring, validUntil=until.isoformat())
            headers = APART if wish is None else WISHES[wish]
            answers = self._both(
                who, "consent", expected, lambda s: s.ask("POST", "/v1/consents", json=body, headers=headers)
            )
            if isinstance(made, Consent):
                for session, answer in zip((self.lazy[who], self.eager[who]), answers, strict=True):
                    content = answer.json()
                    same("consent", content["consentStatus"], "received" if accounts else "valid")
                    self._made(session, made, content["consentId"], "/v1/consents", content["_links"])

    def basket(self, who: int, members: tuple[Resource, ...]) -> None:
        with self._step(who, f"basket {' '.join(map(name, members))}") as model:
            made = model.fill_basket(members)
            expected = made if isinstance(made, Said) else Said(201)

            def ask(session: Session) -> Answer:
                ids: dict[str, list[str]] = {}
                for member in members:
                    ids.setdefault(f"{member.kind}Ids", []).append(session.ids[member.number])
                return session.ask("POST", "/v1/signing-baskets", json=ids)

            answers = self._both(who, "basket", expected, ask)
            if isinstance(made, Basket):
                for session, answer in zip((self.lazy[who], self.eager[who]), answers, strict=True):
                    id = answer.json()["basketId"]
                    session.ids[made.number], session.paths[made.number] = id, f"/v1/signing-baskets/{id}"
                    session.links[made.number] = f"/s/{session.bank.session}/sca/baskets?basket_id={id}"

    def delete(self, who: int, resource: Resource) -> None:
        with self._step(who, f"delete {name(resource)}") as model:
            expected = model.delete(resource)
            answers = self._both(who, "delete", expected, lambda s: s.ask("DELETE", s.paths[resource.number]))
            if expected.status == 202:
                for answer in answers:
                    same("delete", answer.json()["transactionStatus"], expected.shown)

    def start_authorisation(self, who: int, resource: Resource, family: str, psu: str | None, wish: str) -> None:
        with self._step(who, f"start {family} of {name(resource)} by {psu} {wish}") as model:
            made = model.start(resource, family, psu, wish)
            expected = made if isinstance(made, Said) else Said(201)
            headers = {"PSU-ID": psu, **WISHES[wish]}
            answers = self._both(
                who, "start", expected, lambda s: s.ask("POST", s.starts(resource, family), headers=headers)
            )
            if isinstance(made, Authorisation):
                for session, answer in zip((self.lazy[who], self.eager[who]), answers, strict=True):
                    outcome = (answer.json()["scaStatus"], answer.headers["aspsp-sca-approach"].lower())
                    same("start", outcome, (made.status, made.approach))
                    session.ids[made.number] = answer.json()["authorisationId"]

    def put(self, who: int, one: Authorisation, step: str, psu: str, right: bool) -> None:
        with self._step(
            who, f"put {step} {'right' if right else 'wrong'} {psu if step == 'identify' else ''} to {name(one)}"
        ) as model:
            customer = model.psus[one.psu or psu]
            expected = model.step(one, step, psu, right)
            method = customer["methods"][0]["id"] if customer["methods"] else "none"
            body: dict[str, Any] = {
                "identify": {},
                "password": {"psuData": {"password": customer["password"] if right else "wrong"}},
                "method": {"authenticationMethodId": method if right else "sms-nobody"},
                "otp": {"scaAuthenticationData": customer["otp"] if right else "000000"},
            }[step]
            headers = {"PSU-ID": psu} if step == "identify" else {}
            answers = self._both(who, "put", expected, lambda s: s.ask("PUT", s.own(one), json=body, headers=headers))
            if expected.status == 200:
                for answer in answers:
                    same("put", answer.json()["scaStatus"], expected.shown)

    def decide(self, who: int, one: Authorisation, decision: str) -> None:
        with self._step(who, f"decide {decision} {name(one)}") as model:
            expected = model.decide(one, decision)

            def ask(session: Session) -> Answer:
                return session.bank.control("POST", f"sca/{session.ids[one.number]}", {"decide": decision})

            for answer in self._both(who, "decide", expected, ask):
                if expected.status == 200:
                    body = answer.json()
                    self._agrees("decide", WORDS.word("authorisation", body["status"]), one)
                    same("decide", (told_of(one.resource, body), body["psuId"]), (one.resource.status, one.psu))

    def visit(self, who: int, resource: Resource, family: str, decision: str | None) -> None:
        """Open the payment user's page."""
        with self._step(who, f"visit {family} of {name(resource)} {decision}") as model:
            began = len(resource.authorisations.get(family, ()))
            expected = model.visit(resource, family, decision)
            new = resource.authorisations.get(family, [])[began:]
            for session in (self.lazy[who], self.eager[who]):
                link = session.links[resource.number]
                if family == "cancellation":
                    link = link.replace("/sca/payments", "/sca/cancellations")
                answer = session.bank.open(link, **({} if decision is None else {"decide": decision}))
                same(f"visit {answer.body[:300]!r}", answer.status, expected.status)
                for one in new:
                    session.learn(one)

    def read(self, who: int, payment: Payment) -> None:
        with self._step(who, f"read {name(payment)}") as model:
            expected = model.read(payment)
            for answer in self._both(
                who, "read", expected, lambda s: s.ask("GET", f"{s.paths[payment.number]}/status")
            ):
                same("read", answer.json()["transactionStatus"], expected.shown)

    def wait(self, who: int, seconds: int) -> None:
        """Let time pass, or go back if it is negative."""
        with self._step(who, f"clock {seconds:+}") as model:
            model.set_clock(model.now + timedelta(seconds=seconds))
            if (running := self.running[who]) is not None:
                self.running[who] = running + timedelta(seconds=seconds)
            for session in (self.lazy[who], self.eager[who]):
                session.bank.move(seconds)

    def clock(self, who: int, moment: datetime, *, runs: bool = False) -> None:
        with self._step(who, f"clock {moment.isoformat()}{' running' * runs}") as model:
            model.set_clock(moment)
            ahead = moment - datetime.now(UTC)
            self.running[who] = ahead if runs else None
            self.seeded[who] = False
            for session in (self.lazy[who], self.eager[who]):
                if runs:
                    session.bank.run(int(ahead.total_seconds()))
                else:
                    session.bank.at(moment)

    def real_time(self, seconds: int) -> None:
        """Time passes for running clocks, without any request in the meantime."""
        with self._step(0, f"real time +{seconds}"):
            self.real.shift(seconds)
            for who, ahead in enumerate(self.running):
                if ahead is not None:
                    self.models[who].set_clock(datetime.now(UTC) + ahead)
                    self.look(who)

    def restart(self) -> None:
        """Restart the sandbox that is not read."""
        with self._step(0, "restart"):
            self.store.close()
            self.store = SqliteStore(self.file)
            engine = an_engine_at(self.start, self.store)
            for session in self.lazy:
                session.bank.engine = engine

    def next_midnight(self, who: int) -> datetime:
        return midnight(self.models[who].today + timedelta(days=1))

    # -- comparing

    def look(self, who: int) -> None:
        self._same_ids(who)
        self._resources(who, self.eager[who])

    def end(self) -> None:
        """Compare everything, for the first time also in the sandbox that was not read."""
        try:
            for who in range(len(SESSIONS)):
                for session in (self.lazy[who], self.eager[who]):
                    self._kept(who, session)
                    self._resources(who, session)
                    self._accounts(who, session)
                self._agree(who)
                self._journal(self.eager[who])
                self._moves(who)
        except Difference as difference:
            raise Difference(f"{difference}\nin the end, after\n  {self}") from None

    def _kept(self, who: int, session: Session) -> None:
        """Return what the control interface shows, which is read first."""
        model = self.models[who]
        side = "eager" if session.explains else "lazy"
        documents = {name: session.bank.kept(name) for name in ("consents", "payments", "baskets", "authorisations")}
        for consent in model.consents:
            document = documents["consents"].get(session.ids[consent.number])
            if consent.status == "deleted":
                same(f"kept {name(consent)} ({side})", document, None)
            elif not consent.preconfigured or (consent.status == "expired" and not consent.lapsed):
                # The documents of test data have their validity and their role.
                told = document and WORDS.word("consent", document["status"])
                same(f"kept {name(consent)} ({side})", told, consent.status)
        for payment in model.payments:
            same(
                f"kept {name(payment)} ({side})",
                documents["payments"][session.ids[payment.number]]["status"],
                payment.kept,
            )
        for basket in model.baskets:
            same(
                f"kept {name(basket)} ({side})",
                documents["baskets"][session.ids[basket.number]]["status"],
                basket.status,
            )
        for one in self._authorisations(model):
            document = documents["authorisations"][session.ids[one.number]]
            self._agrees(f"kept {name(one)} ({side})", WORDS.word("authorisation", document["status"]), one)

    def _authorisations(self, model: BankModel) -> list[Authorisation]:
        resources: list[Resource] = [*model.consents, *model.payments, *model.baskets]
        return [one for resource in resources for several in resource.authorisations.values() for one in several]

    def _resources(self, who: int, session: Session) -> None:
        model, bank = self.models[who], session.bank
        side = "eager" if session.explains else "lazy"
        for consent in model.consents:
            path = session.paths[consent.number]
            if consent.status == "deleted":
                same(f"{name(consent)} ({side})", bank.ask("GET", f"{path}/status").status, 403)
                self._access(model, session, consent)
                continue
            same(f"{name(consent)} ({side})", bank.get(f"{path}/status")["consentStatus"], consent.status)
            same(f"{name(consent)} ({side})", bank.get(path)["consentStatus"], consent.status)
            self._access(model, session, consent)
            self._moved(session, consent, consent.status)
        for payment in model.payments:
            if payment.unfunded and not payment.read and payment.status == "RCVD":
                continue  # reading it would be an event
            path = session.paths[payment.number]
            same(f"{name(payment)} ({side})", bank.get(f"{path}/status")["transactionStatus"], payment.shown)
            same(f"{name(payment)} ({side})", bank.get(path)["transactionStatus"], payment.shown)
            self._moved(session, payment, payment.shown)
        for basket in model.baskets:
            path = session.paths[basket.number]
            same(f"{name(basket)} ({side})", bank.get(path)["transactionStatus"], basket.status)
            same(f"{name(basket)} ({side})", bank.get(f"{path}/status")["transactionStatus"], basket.status)
            self._moved(session, basket, basket.status)
        for one in self._authorisations(model):
            if one.resource.status == "deleted":
                continue
            sca_status = bank.get(session.own(one))["scaStatus"]
            authorisation = bank.control("GET", f"sca/{session.ids[one.number]}").json()
            same(
                f"{name(one)} here and in the control interface ({side})",
                WORDS.word("authorisation", authorisation["status"]),
                sca_status,
            )
            same(
                f"{name(one.resource)} in the control interface ({side})",
                told_of(one.resource, authorisation),
                one.resource.status,
            )
            self._agrees(f"{name(one)} ({side})", sca_status, one)
        for resource in [*model.consents, *model.payments, *model.baskets]:
            for family, several in resource.authorisations.items():
                if resource.status != "deleted":
                    listed = bank.get(session.starts(resource, family))["authorisationIds"]
                    same(
                        f"authorisations of {name(resource)} ({side})",
                        listed,
                        [session.ids[one.number] for one in several],
                    )

    def _access(self, model: BankModel, session: Session, consent: Consent) -> None:
        expected = model.access(consent)
        answer = session.bank.ask("GET", "/v1/accounts", consent=session.ids[consent.number])
        code = None if answer.status == 200 else answer.error["code"]
        same(f"accounts with {name(consent)}", (answer.status, code), (expected.status, expected.code))
        if answer.status == 200:
            listed = sorted(account["iban"] for account in answer.json()["accounts"])
            same(f"accounts of {name(consent)}", listed, sorted(consent.accounts))

    def _agrees(self, subject: str, said: str, one: Authorisation) -> None:
        same(subject, said, said if one.agrees(said) else one.status)

    def _moved(self, session: Session, resource: Resource, status: str) -> None:
        before = session.shown.setdefault(resource.number, status)
        if not reachable(resource.kind, before, status):
            raise Difference(f"{name(resource)} went from {before} to {status}")
        session.shown[resource.number] = status

    def _accounts(self, who: int, session: Session) -> None:
        """Compare balances and entries with the model, and with each other."""
        model, bank = self.models[who], session.bank
        side = "eager" if session.explains else "lazy"
        touched = {iban for one in model.payments for iban in (one.debtor, *(t.creditor for t in one.transfers))}
        for iban in sorted(touched & set(model.accounts)):
            subject = f"{iban} ({side})"
            entries = [entry for entry in bank.entries(iban) if (entry["endToEndId"] or "").startswith("m-")]
            balances = bank.balances(iban)
            amounts = {kind: Decimal(one["balanceAmount"]["amount"]) for kind, one in balances.items()}
            moved = amounts["interimAvailable"] - model.base(iban, "ITAV")
            same(
                f"{subject}: balance and bookings",
                moved,
                sum(Decimal(e["transactionAmount"]["amount"]) for e in entries),
            )
            same(f"{subject}: booked", amounts["interimAvailable"], model.booked(iban))
            same(f"{subject}: available", amounts["forwardAvailable"], model.available(iban))
            same(f"{subject}: ids", len({entry["transactionId"] for entry in entries}), len(entries))
            mine = [b for b in model.bookings if iban in (b.payment.debtor, *(t.creditor for t in b.payment.transfers))]
            expected = Counter(
                (b.day.isoformat(), b.payment.label, str(amount))
                for b in mine
                for amount in self._amounts(b.payment, iban)
            )
            entry_counts = Counter(
                (e["bookingDate"], e["endToEndId"], e["transactionAmount"]["amount"]) for e in entries
            )
            same(f"{subject}: entries", entry_counts, expected)
            days = [entry["bookingDate"] for entry in entries]
            same(f"{subject}: newest day first", days, sorted(days, reverse=True))
            bookings = {(b.day.isoformat(), b.payment.label): b for b in mine}
            order = [bookings[entry["bookingDate"], entry["endToEndId"]] for entry in entries]
            for newer, older in pairwise(order):
                if newer.day != older.day or newer is older or (newer.at == older.at and (newer.due or older.due)):
                    continue  # the order of events at one instant is undefined
                text = f"{subject}: {name(newer.payment)} before {name(older.payment)}, newest of a day first"
                same(text, (newer.at, newer.number) > (older.at, older.number), True)
            pending = [e for e in bank.entries(iban, "pending") if (e["endToEndId"] or "").startswith("m-")]
            awaited = Counter(
                (day.isoformat(), one.label, str(amount))
                for one in model.payments
                if (day := model.awaited(one))
                for amount in self._amounts(one, iban)
            )
            entry_counts = Counter(
                (e["bookingDate"], e["endToEndId"], e["transactionAmount"]["amount"]) for e in pending
            )
            same(f"{subject}: pending", entry_counts, awaited)
            if mine:
                newest = max(booking.day for booking in mine).isoformat()
                for kind in ("interimAvailable", "forwardAvailable"):
                    same(
                        f"{subject}: {kind} is of {balances[kind]['referenceDate']}",
                        balances[kind]["referenceDate"] >= newest,
                        True,
                    )

    def _amounts(self, payment: Payment, iban: str) -> list[Decimal]:
        out = [-one.out for one in payment.transfers if payment.debtor == iban]
        return out + [one.back for one in payment.transfers if one.creditor == iban and one.back is not None]

    def _same_ids(self, who: int) -> None:
        """A frozen session with a seed repeats the ids of another one for the same steps."""
        if self.seeded[who]:
            same("ids of a seed, lazy and eager", self.lazy[who].ids, self.eager[who].ids)

    def _agree(self, who: int) -> None:
        """Compare the contents of the two sandboxes, except for random ids."""
        for collection in ("consents", "payments", "baskets", "authorisations"):
            held: list[dict[str, Any]] = []
            for session in (self.lazy[who], self.eager[who]):
                numbers = {id: f"#{number}" for number, id in session.ids.items()}
                text = json.dumps(session.bank.kept(collection), default=str)
                text = UUID.sub(lambda one, numbers=numbers: numbers.get(one[0], "#"), text)  # type: ignore[misc]
                documents = {
                    id: {key: value for key, value in document.items() if key not in OWN_TO_EACH}
                    for id, document in json.loads(text).items()
                    if id != "#"
                }
                held.append(documents)
            for id in sorted({*held[0], *held[1]}):
                same(f"{collection} {id}, lazy and eager", held[0].get(id), held[1].get(id))

    def _journal(self, session: Session) -> None:
        exchanges = session.bank.control("GET", f"journal?session={session.bank.session}&limit=30").json()["exchanges"]
        sent = [(m, t, s) for m, t, s in session.bank.log if "/_sandbox/" not in t and "/sca/" not in t]
        kept = [(one["method"], one["status"]) for one in exchanges]
        same("journal", kept, [(method, status) for method, _, status in sent[-len(kept) :]])

    def _moves(self, who: int) -> None:
        """The model itself makes only allowed transitions, and conserves money."""
        model = self.models[who]
        for kind, before, after in model.moves:
            FIGURES[f"moved: {kind} {before} → {after}"] += 1
            same(f"the model's move of a {kind} from {before} to", after in ALLOWED[kind, before], True)
        for payment in model.payments:
            count = len(model.executions(payment))
            if payment.status != "ACSP":
                same(f"the model's bookings of {name(payment)}, {payment.status}", count, 0)
            elif payment.days is None:
                same(f"the model's bookings of {name(payment)}", count, 1)
