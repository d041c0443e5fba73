"""Two journeys for each bank, walked by an app and its customer.

The first is there to be recorded. The second uses the same rules with other customers, accounts and amounts, and in
another order. Ids, links and balances are taken from answers. What the customer knows (names, PINs, account numbers)
and what the app knows (its keys and its own tokens) is written here.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks import (
    aare_journeys,
    adda_journeys,
    ammer_journeys,
    arve_journeys,
    bodrog_journeys,
    brenta_journeys,
    bursztyn_journeys,
    clyde_journeys,
    corrib_journeys,
    cottonwood_journeys,
    dallae_journeys,
    drina_journeys,
    dvina_journeys,
    ebro_journeys,
    estuaire_journeys,
    evros_journeys,
    garonne_journeys,
    gauja_journeys,
    glomma_journeys,
    gulmohar_journeys,
    inn_journeys,
    isere_journeys,
    jacaranda_journeys,
    kataja_journeys,
    kupa_journeys,
    lagan_journeys,
    lech_journeys,
    mersey_journeys,
    minho_journeys,
    morar_journeys,
    morava_journeys,
    mures_journeys,
    narew_journeys,
    nemunas_journeys,
    neretva_journeys,
    nidd_journeys,
    notec_journeys,
    odra_journeys,
    platte_journeys,
    pukeko_journeys,
    raba_journeys,
    rhone_journeys,
    ribera_journeys,
    salzach_journeys,
    severn_journeys,
    siret_journeys,
    skagen_journeys,
    soca_journeys,
    struma_journeys,
    taff_journeys,
    tagus_journeys,
    tajo_journeys,
    tejo_journeys,
    tisza_journeys,
    torne_journeys,
    vanern_journeys,
    venta_journeys,
    vistula_journeys,
    vltava_journeys,
    wisla_journeys,
    yarrow_journeys,
    zala_journeys,
    zeytin_journeys,
)
from tests.foreign_banks.aare import Aare
from tests.foreign_banks.adda import Adda
from tests.foreign_banks.ammer import Ammer
from tests.foreign_banks.arve import Arve
from tests.foreign_banks.bodrog import Bodrog
from tests.foreign_banks.brenta import Brenta
from tests.foreign_banks.bursztyn import Bursztyn
from tests.foreign_banks.clyde import Clyde
from tests.foreign_banks.corrib import Corrib
from tests.foreign_banks.cottonwood import Cottonwood
from tests.foreign_banks.dallae import Dallae
from tests.foreign_banks.drina import Drina
from tests.foreign_banks.dvina import Dvina
from tests.foreign_banks.ebro import Ebro
from tests.foreign_banks.estuaire import Estuaire
from tests.foreign_banks.evros import Evros
from tests.foreign_banks.garonne import Garonne
from tests.foreign_banks.gauja import Gauja
from tests.foreign_banks.glomma import Glomma
from tests.foreign_banks.gulmohar import Gulmohar
from tests.foreign_banks.harbour import Harbour
from tests.foreign_banks.inn import Inn
from tests.foreign_banks.isere import Isere
from tests.foreign_banks.jacaranda import Jacaranda
from tests.foreign_banks.javor import Javor
from tests.foreign_banks.kataja import Kataja
from tests.foreign_banks.kupa import Kupa
from tests.foreign_banks.lagan import Lagan
from tests.foreign_banks.lech import Lech
from tests.foreign_banks.mersey import Mersey
from tests.foreign_banks.minho import Minho
from tests.foreign_banks.morar import Morar
from tests.foreign_banks.morava import Morava
from tests.foreign_banks.mures import Mures
from tests.foreign_banks.narew import Narew
from tests.foreign_banks.nemunas import Nemunas
from tests.foreign_banks.neretva import Neretva
from tests.foreign_banks.nidd import Nidd
from tests.foreign_banks.norrsken import Norrsken
from tests.foreign_banks.notec import Notec
from tests.foreign_banks.odra import Odra
from tests.foreign_banks.platte import Platte
from tests.foreign_banks.pukeko import Pukeko
from tests.foreign_banks.raba import Raba
from tests.foreign_banks.rhone import Rhone
from tests.foreign_banks.ribera import Ribera
from tests.foreign_banks.salzach import Salzach
from tests.foreign_banks.server import Clock, ForeignBank
from tests.foreign_banks.severn import Severn
from tests.foreign_banks.siret import Siret
from tests.foreign_banks.skagen import Skagen
from tests.foreign_banks.soca import Soca
from tests.foreign_banks.struma import Struma
from tests.foreign_banks.taff import Taff
from tests.foreign_banks.tagus import Tagus
from tests.foreign_banks.tajo import Tajo
from tests.foreign_banks.tejo import Tejo
from tests.foreign_banks.tisza import Tisza
from tests.foreign_banks.torne import Torne
from tests.foreign_banks.vanern import Vanern
from tests.foreign_banks.venta import Venta
from tests.foreign_banks.vistula import Vistula
from tests.foreign_banks.vltava import Vltava
from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk
from tests.foreign_banks.wisla import Wisla
from tests.foreign_banks.yarrow import Yarrow
from tests.foreign_banks.zala import Zala
from tests.foreign_banks.zeytin import Zeytin

type Journey = Callable[[httpx.Client, Wait], list[Step]]

HOUR = timedelta(hours=1)


def amount(answer: Answer, place: str) -> float:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int | float) else 0


# Javor


class JavorApp:
    def __init__(self, walk: Walk, key: str, back: str, name: str) -> None:
        self.walk, self._key, self._back, self._name = walk, key, back, name
        self.consent: str | None = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).strftime("%d.%m.%Y")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        token = f"{self._name}-{len(self.walk.steps):04}"
        sent = {"App-Key": self._key, "TPP-Request-Token": token, "TPP-Return-To": self._back}
        if self.consent:
            sent["Consent-Reference"] = self.consent
        sent |= headers or {}
        sent.pop(without, None)
        url = path if str(path).startswith("/openbanking/") else f"/openbanking/si/2.4/{path}"
        return self.walk.step(name, method, url, status, members, headers=sent, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, code: str, pointer: str = "", **more: Any) -> None:
        members = {"errors.0.code": code, "trace": str} | ({"errors.0.pointer": pointer} if pointer else {})
        self.call(name, method, path, status, members, **more)

    def ask(self, name: str, accounts: Any, days: int = 30, reads: int = 10) -> Answer:
        document = {"access": {"accounts": accounts}, "validTo": self.day(days), "dailyReads": reads}
        members = {
            "consentId": re.compile(r"^C-\d\d-\d{6}-[A-Z]$"),
            "state": "requested",
            "access.accounts": accounts,
            "validTo": document["validTo"],
            "requestedAt": int,
            "_links.scaPage.href": re.compile("/sca/"),
        }
        return self.call(name, "POST", "consents", 202, members, json=document)

    def pay(self, name: str, status: int, members: Expected, **members_of_body: Any) -> Answer:
        return self.call(name, "POST", "payments/sepa", status, members, json=members_of_body)

    def page(self, answer: Answer) -> Any:
        return answer.find("_links.scaPage.href")

    def decide(self, name: str, page: Any, user: str, pin: str, answer: str = "approve") -> None:
        outcome = "ok" if answer == "approve" else "no"
        back = {"@Location": self._back + ("&" if "?" in self._back else "?") + f"outcome={outcome}"}
        self.walk.step(name, "POST", page, 303, back, data={"user": user, "pin": pin, "answer": answer})


def javor_first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = JavorApp(walk, "8c1f-kumara", "https://kumara.example/back", "kumara-a")
    mercator = {"name": "Mercator Ajda", "iban": "DE89370400440532013000"}
    app.refuse("consent without a token", "POST", "consents", 400, "JV-4001", without="TPP-Request-Token", json={})
    app.refuse("consent of an unknown app", "POST", "consents", 401, "JV-4011", headers={"App-Key": "x"}, json={})
    app.refuse("consent in broken JSON", "POST", "consents", 400, "JV-4000", content="{access")
    app.refuse("consent without a day", "POST", "consents", 400, "JV-4003", "body.validTo", json={"access": {}})
    long = {"access": {"accounts": "ALL"}, "validTo": app.day(91), "dailyReads": 4}
    app.refuse("consent for too long", "POST", "consents", 422, "JV-4221", "body.validTo", json=long)
    consent = app.ask("consent for all accounts", "ALL", 60, 11)
    id, page = consent.find("consentId"), app.page(consent)
    own = consent.find("_links.self.href")
    app.call("consent is requested", "GET", consent.find("_links.state.href"), 200, {"state": "requested"})
    app.refuse("accounts without a consent", "GET", "accounts", 401, "JV-4012", "header.Consent-Reference")
    app.consent = id
    app.refuse("accounts before the customer agrees", "GET", "accounts", 403, "JV-4031")
    walk.step("page of the consent", "GET", page, 200, PAGE | {"page": re.compile("Kumara")})
    wrong = {"user": "neja", "pin": "0000", "answer": "approve"}
    walk.step("page with a wrong PIN", "POST", page, 401, PAGE, data=wrong)
    app.decide("customer agrees", page, "neja", "2718")
    walk.step("page is used up", "GET", page, 410, PAGE)
    app.call("consent is granted", "GET", own, 200, {"consentId": id, "state": "granted", "customer": "Neja Kovač"})
    accounts = app.call("accounts", "GET", "accounts", 200, {"accountList.#": 2, "accountList.0.currency": "EUR"})
    account = accounts.pick("accountList", iban="SI56191000000123438")
    path = f"accounts/{account.get('accountId')}"
    balances, bookings = (account.get("_links", {}).get(name, {}).get("href") for name in ("balances", "transactions"))
    app.call("one account", "GET", path, 200, {"iban": "SI56191000000123438", "label": "Osebni račun"})
    app.refuse("unknown account", "GET", "accounts/AAAABBBBCCCC", 404, "JV-4042")
    before = app.call("balances", "GET", balances, 200, {"balances.booked": float, "balances.currency": "EUR"})
    app.refuse("transactions without a day", "GET", bookings, 400, "JV-4003", "query.from")
    period = {"from": app.day(-80), "to": app.day(0), "size": "20"}
    rows = app.call(
        "transactions", "GET", bookings, 200, {"bookings.#": 20, "paging.page": 1, "paging.pages": 2}, params=period
    )
    total = amount(rows, "paging.total")
    members = {"bookings.#": total - 20, "paging.page": 2, "paging.total": total}
    app.call("second page", "GET", bookings, 200, members, params=period | {"page": "2"})
    app.refuse("page after the last", "GET", bookings, 422, "JV-4223", params=period | {"page": "3"})

    payment = {"debtor": "SI56191000000123438", "creditor": mercator, "sum": {"amount": 84.35, "currency": "EUR"}}
    text = payment | {"sum": {"amount": "84,35", "currency": "EUR"}}
    app.refuse("payment with a text", "POST", "payments/sepa", 400, "JV-4006", "body.sum.amount", json=text)
    much = payment | {"sum": {"amount": 5000.01, "currency": "EUR"}}
    app.refuse("payment over the limit", "POST", "payments/sepa", 422, "JV-4225", "body.sum.amount", json=much)
    made = app.pay(
        "payment",
        201,
        {"paymentId": re.compile(r"^P\d{10}$"), "state": "OPEN", "sum.amount": 84.35},
        **payment,
        note="Nakup 17",
    )
    state = made.find("_links.state.href")
    app.call("payment is open", "GET", state, 200, {"state": "OPEN", "final": False})
    walk.step("page of the payment", "GET", app.page(made), 200, PAGE)
    app.decide("customer approves", app.page(made), "neja", "2718")
    app.call("payment is confirmed", "GET", state, 200, {"state": "CONFIRMED", "final": False})
    held = {
        "balances.booked": amount(before, "balances.booked"),
        "balances.available": round(amount(before, "balances.available") - 84.35, 2),
    }
    app.call("balances with the amount held", "GET", balances, 200, held)
    app.call("payment is settled", "GET", state, 200, {"state": "SETTLED", "final": True})
    left = round(amount(before, "balances.booked") - 84.35, 2)
    app.call("balances after", "GET", balances, 200, {"balances.booked": left, "balances.available": left})
    app.call(
        "transactions after",
        "GET",
        bookings,
        200,
        {"bookings.0.amount": -84.35, "bookings.0.counterparty.name": "Mercator Ajda", "paging.total": 1},
        params={"from": app.day(0)},
    )
    app.refuse("too late to withdraw", "DELETE", made.find("_links.self.href"), 409, "JV-4092")
    app.refuse("reads are used up", "GET", balances, 429, "JV-4290")
    app.call("reads with the customer", "GET", balances, 200, headers={"Customer-Present": "yes"})
    second = app.pay("payment to decline", 201, {"state": "OPEN"}, **payment)
    app.decide("customer declines", app.page(second), "neja", "2718", "decline")
    app.call("payment is declined", "GET", second.find("_links.state.href"), 200, {"state": "DECLINED"})
    third = app.pay("payment to withdraw", 201, {"state": "OPEN"}, **payment)
    app.call("withdraw the payment", "DELETE", third.find("_links.self.href"), 200, {"state": "WITHDRAWN"})
    app.call("revoke the consent", "POST", f"{own}/withdrawal", 200, {"state": "withdrawn"})
    app.refuse("accounts after that", "GET", "accounts", 403, "JV-4031")
    app.refuse("revoke it again", "POST", f"{own}/withdrawal", 409, "JV-4091")
    return walk.steps


def javor_second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = JavorApp(walk, "77d0-lipa", "https://lipa.example/bank?visit=9", "lipa-b")
    app.refuse("unknown consent", "GET", "consents/C-26-000001-K", 404, "JV-4041")
    app.refuse("unknown payment", "GET", "payments/sepa/P0000000001", 404, "JV-4043")
    app.refuse("unknown path", "GET", "cards", 404, "JV-4040")
    app.refuse("wrong method", "PUT", "consents", 405, "JV-4050", json={})
    app.refuse("short token", "GET", "accounts", 400, "JV-4002", headers={"TPP-Request-Token": "short"})
    many = {"access": {"accounts": "ALL"}, "validTo": app.day(5), "dailyReads": 13}
    app.refuse("too many reads", "POST", "consents", 422, "JV-4222", "body.dailyReads", json=many)
    odd = many | {"access": {"accounts": ["SI00"]}}
    app.refuse("access to no account", "POST", "consents", 400, "JV-4005", "body.access.accounts", json=odd)
    iso = many | {"validTo": "2031-01-01"}
    app.refuse("ISO day", "POST", "consents", 400, "JV-4004", "body.validTo", json=iso)

    gift = {"debtor": "SI56191000000987805", "creditor": {"name": "Ana Horvat", "iban": "HR1210010051863000160"}}
    gift["sum"] = {"amount": 240, "currency": "EUR"}
    again = {"TPP-Request-Token": "lipa-repeated-1"}
    made = app.call("payment", "POST", "payments/sepa", 201, {"state": "OPEN"}, headers=again, json=gift)
    same = {"paymentId": made.find("paymentId"), "sum.amount": 240}
    app.call("same payment again", "POST", "payments/sepa", 200, same, headers=again, json=gift)
    stranger = {"user": "neja", "pin": "2718", "answer": "approve"}
    walk.step("page with another customer", "POST", app.page(made), 403, PAGE, data=stranger)
    app.decide("customer approves", app.page(made), "tilen", "1618")
    app.call("withdraw when confirmed", "DELETE", made.find("_links.self.href"), 200, {"state": "WITHDRAWN"})
    app.refuse("withdraw again", "DELETE", made.find("_links.self.href"), 409, "JV-4092")
    bad = gift | {"creditor": {"name": "Ana Horvat", "iban": "HR1310010051863000160"}}
    app.refuse("wrong IBAN", "POST", "payments/sepa", 422, "JV-4226", "body.creditor", json=bad)
    foreign = gift | {"debtor": "AT611904300234573201"}
    app.refuse("debtor elsewhere", "POST", "payments/sepa", 422, "JV-4227", "body.debtor", json=foreign)
    other = gift | {"sum": {"amount": 240, "currency": "CHF"}}
    app.refuse("francs", "POST", "payments/sepa", 422, "JV-4224", "body.sum", json=other)
    late = gift | {"due": app.day(0)}
    app.refuse("due today", "POST", "payments/sepa", 422, "JV-4229", "body.due", json=late)

    wanted = ["SI56191000000987805", "SI56191000000987902"]
    first = app.ask("consent to decline", wanted, 10, 3)
    app.decide("customer declines", app.page(first), "tilen", "1618", "decline")
    app.call("consent is declined", "GET", first.find("_links.state.href"), 200, {"state": "declined"})
    single = app.ask("consent for one account", ["SI56191000000987708"], 1, 1)
    app.decide("customer agrees to one", app.page(single), "tilen", "1618")
    app.consent = single.find("consentId")
    members = {"accountList.#": 1, "accountList.0.label": "Tekoči račun"}
    current = app.call("its account", "GET", "accounts", 200, members).find("accountList.0.accountId")
    consent = app.ask("consent for two accounts", wanted, 2, 5)
    own = consent.find("_links.self.href")
    app.decide("customer agrees", app.page(consent), "tilen", "1618")
    app.consent = consent.find("consentId")
    accounts = app.call("accounts", "GET", "accounts", 200, {"accountList.#": 2})
    joint = accounts.pick("accountList", iban="SI56191000000987805").get("accountId")
    trips = accounts.pick("accountList", iban="SI56191000000987902").get("accountId")
    before = app.call("balances", "GET", f"accounts/{joint}/balances", 200, {"balances.booked": float})
    none = {"bookings.#": 0, "paging.total": 0, "paging.pages": 0}
    empty = {"from": app.day(0), "to": app.day(0), "size": "5"}
    app.call("no transactions", "GET", f"accounts/{trips}/transactions", 200, none, params=empty)
    wrong = {"from": app.day(0), "to": app.day(-1)}
    app.refuse("account of the other consent", "GET", f"accounts/{current}", 403, "JV-4032")
    app.refuse("period backwards", "GET", f"accounts/{trips}/transactions", 422, "JV-4223", params=wrong)
    app.refuse("reads are used up", "GET", f"accounts/{trips}", 429, "JV-4290")

    due = app.day(1)
    planned = app.pay("payment for tomorrow", 201, {"state": "OPEN", "due": due}, **gift, due=due, note="Darilo")
    app.decide("customer approves tomorrow's", app.page(planned), "tilen", "1618")
    state = planned.find("_links.state.href")
    app.call("payment is scheduled", "GET", state, 200, {"state": "SCHEDULED", "final": False})
    gift["debtor"], gift["sum"] = "SI56191000000987902", {"amount": 42.76, "currency": "EUR"}
    poor = app.pay("payment without cover", 201, {"state": "OPEN"}, **gift)
    app.decide("customer approves it", app.page(poor), "tilen", "1618")
    poor_state = poor.find("_links.state.href")
    app.call("it is confirmed", "GET", poor_state, 200, {"state": "CONFIRMED"})
    app.call("it bounces", "GET", poor_state, 200, {"state": "BOUNCED", "final": True})
    walk.wait(DAY)
    app.call("payment is settled", "GET", state, 200, {"state": "SETTLED", "final": True})
    left = {"balances.booked": round(amount(before, "balances.booked") - 240, 2)}
    app.call("balances on the next day", "GET", f"accounts/{joint}/balances", 200, left)
    app.call(
        "payment itself", "GET", planned.find("_links.self.href"), 200, {"customer": "Tilen Zupan", "note": "Darilo"}
    )
    blocked = app.ask("consent with wrong PINs", "ALL", 1, 1)
    for time, status in (("first", 401), ("second", 401), ("third", 303)):
        wrong = {"user": "tilen", "pin": "1111", "answer": "approve"}
        walk.step(f"wrong PIN, {time} time", "POST", app.page(blocked), status, data=wrong)
    app.call("consent is declined by that", "GET", blocked.find("_links.state.href"), 200, {"state": "declined"})
    walk.wait(2 * DAY)
    app.call("consent has lapsed", "GET", own, 200, {"state": "lapsed"})
    app.refuse("accounts after that", "GET", "accounts", 403, "JV-4031")
    return walk.steps


# Harbour


class HarbourApp:
    def __init__(self, walk: Walk, name: str, secret: str, back: str) -> None:
        self.walk, self._name, self._secret, self.back = walk, name, secret, back
        self._ticket: Any = None

    def key(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._name} {word}"))

    def sign_in(self, name: str) -> None:
        form = {"client_name": self._name, "client_secret": self._secret}
        self._ticket = self.walk.step(
            name, "POST", "/auth/tickets", 201, {"ticket": str, "@Cache-Control": "no-store"}, data=form
        ).find("ticket")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        sent = {"Authorization": f"Ticket {self._ticket}", "Harbour-Version": "2026-02"} | (headers or {})
        sent.pop(without, None)
        return self.walk.step(name, method, path, status, members, headers=sent, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, kind: str, field: str = "", **more: Any) -> None:
        members: dict[str, Any] = {"type": f"urn:harbour:problem:{kind}", "status": status}
        members["@Content-Type"] = "application/problem+json"
        self.call(name, method, path, status, members | ({"invalid.0.field": field} if field else {}), **more)

    def draft(self, purpose: str, scope: list[str], until: timedelta) -> dict[str, Any]:
        time = (self.walk.now + until).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"purpose": purpose, "scope": scope, "until": time, "return_to": self.back}

    def ask(self, name: str, document: dict[str, Any]) -> Answer:
        members = {
            "agreement.number": int,
            "agreement.phase": "draft",
            "agreement.purpose": document["purpose"],
            "agreement.scope": document["scope"],
            "agreement.holder": None,
            "@ETag": '"v1"',
            "@Location": re.compile(r"^/api/agreements/\d+$"),
        }
        return self.call(name, "POST", "/api/agreements", 201, members, json=document)

    def link(self, answer: Answer, rel: str) -> Any:
        return answer.pick("links", rel=rel).get("href")

    def propose(self, name: str, key: str, document: dict[str, Any]) -> Answer:
        members = {"order.phase": "proposed", "order.minor": document["minor"], "order.key": key}
        return self.call(name, "PUT", f"/api/orders/{key}", 201, members, json=document)

    def patch(self, name: str, path: Any, tag: Any, status: int, members: Expected, **document: Any) -> Answer:
        return self.call(name, "PATCH", path, status, members, headers={"If-Match": str(tag)}, json=document)

    def enter(self, name: str, page: Any, who: str, word: str) -> dict[str, Any]:
        """Sign the customer in and return the fields of the page that follows."""
        members = PAGE | {"page": re.compile(f"Hello {who.capitalize()}")}
        fields = self.walk.step(name, "POST", page, 200, members, data={"who": who, "word": word}).fields
        return {"session": fields.get("session", [""])[0], "holding": fields.get("holding", [])}

    def decide(self, name: str, page: Any, form: dict[str, Any], decision: str) -> str:
        """Return the proof."""
        query = r"\?proof=\w+$" if decision == "yes" else r"\?declined=1$"
        members = {"@Location": re.compile(re.escape(self.back) + query)}
        back = self.walk.step(name, "POST", page, 302, members, data=form | {"decision": decision}).find("@Location")
        return parse_qs(urlsplit(back or "").query).get("proof", [""])[0]


def harbour_first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = HarbourApp(walk, "ledgerly", "wet-anchor", "https://ledgerly.example/return")
    bad = {"type": "urn:harbour:problem:bad-client"}
    form = {"client_name": "ledgerly", "client_secret": "dry"}
    walk.step("ticket with a wrong secret", "POST", "/auth/tickets", 401, bad, data=form)
    app.refuse("agreement without a ticket", "POST", "/api/agreements", 401, "no-ticket", without="Authorization")
    app.sign_in("ticket")
    draft = app.draft("Household budget", ["holdings", "positions", "movements", "orders"], 30 * DAY)
    app.refuse("no version", "POST", "/api/agreements", 400, "no-version", without="Harbour-Version", json=draft)
    app.refuse("broken JSON", "POST", "/api/agreements", 400, "unreadable", content="{")
    app.refuse("no purpose", "POST", "/api/agreements", 422, "invalid", "purpose", json=draft | {"purpose": ""})
    app.refuse("unknown scope", "POST", "/api/agreements", 422, "invalid", "scope", json=draft | {"scope": ["all"]})
    made = app.ask("agreement", draft)
    own, page = app.link(made, "self"), app.link(made, "customer")
    app.call("agreement is a draft", "GET", own, 200, {"agreement.phase": "draft", "@ETag": '"v1"'})
    app.refuse("holdings of a draft", "GET", f"{own}/holdings", 403, "not-active")
    walk.step("page", "GET", page, 200, PAGE | {"page": re.compile("Sign in")})
    walk.step("page with a wrong word", "POST", page, 403, PAGE, data={"who": "morwenna", "word": "gull"})
    boxes = app.enter("customer signs in", page, "morwenna", "kittiwake")
    proof = app.decide("customer agrees", page, boxes, "yes")
    confirmed = app.call("agreement is confirmed", "GET", own, 200, {"agreement.phase": "confirmed", "@ETag": '"v2"'})
    tag = confirmed.find("@ETag")
    activate = {"phase": "active", "proof": proof}
    app.refuse("activate without a tag", "PATCH", own, 428, "no-if-match", json=activate)
    app.refuse("with an old tag", "PATCH", own, 412, "changed", headers={"If-Match": '"v1"'}, json=activate)
    wrong = {"phase": "active", "proof": "guess"}
    app.refuse("with a wrong proof", "PATCH", own, 403, "wrong-proof", headers={"If-Match": str(tag)}, json=wrong)
    active = app.patch(
        "activate", own, tag, 200, {"agreement.phase": "active", "agreement.holder": "Morwenna"}, **activate
    )
    holdings = app.link(active, "holdings")
    members: dict[str, Any] = {"holdings.#": 2, "next": None, "holdings.0.currency": "GBP", "holdings.0.number": int}
    number = app.call("holdings", "GET", holdings, 200, members).pick("holdings", name="Everyday").get("number")
    one = f"{holdings}/{number}"
    app.call("one holding", "GET", one, 200, {"holding.account": "20411006", "holding.sort": "60-17-21"})
    app.refuse("unknown holding", "GET", f"{holdings}/7", 404, "unknown-holding")
    members = {"position.cleared": int, "position.pending": 0, "position.scale": 2}
    cleared = amount(app.call("position", "GET", f"{one}/position", 200, members), "position.cleared")
    since = {"since": (walk.now - 95 * DAY).date().isoformat(), "limit": "20"}
    members = {
        "movements.#": 20,
        "next": str,
        "movements.0.minor": int,
        "movements.0.direction": re.compile("in|out"),
    }
    cursor = app.call("movements", "GET", f"{one}/movements", 200, members, params=since).find("next")
    after = since | {"after": cursor}
    app.call("rest of them", "GET", f"{one}/movements", 200, {"movements.#": 11, "next": None}, params=after)
    app.refuse("made-up cursor", "GET", f"{one}/movements", 400, "bad-cursor", params={"after": "Zm9v"})
    app.refuse("too many rows", "GET", f"{one}/movements", 400, "bad-limit", params={"limit": "26"})

    key, to = app.key("rent"), {"name": "Pier Lettings", "sort": "20-00-51", "account": "88412008"}
    order = {"agreement": made.find("agreement.number"), "from": number, "to": to, "minor": 61_250, "memo": "Rent"}
    path = f"/api/orders/{key}"
    much = order | {"minor": 250_001}
    app.refuse("order over the limit", "PUT", path, 403, "over-limit", json=much)
    app.refuse("order without cover", "PUT", path, 402, "no-cover", json=order | {"minor": 190_000})
    digit = order | {"to": to | {"account": "88412009"}}
    app.refuse("wrong check digit", "PUT", path, 422, "invalid", "to.account", json=digit)
    proposed = app.propose("order", key, order)
    app.call("same order again", "PUT", path, 200, {"order.phase": "proposed"}, json=order)
    app.refuse("key used again", "PUT", path, 409, "key-reused", json=order | {"minor": 61_251})
    page = app.link(proposed, "customer")
    entered = app.enter("customer signs in again", page, "morwenna", "kittiwake")
    proof = app.decide("customer approves", page, {"session": entered["session"]}, "yes")
    tag = app.call("order is confirmed", "GET", path, 200, {"order.phase": "confirmed"}).find("@ETag")
    app.patch("approve", path, tag, 200, {"order.phase": "approved"}, phase="approved", proof=proof)
    held = {"position.cleared": cleared, "position.pending": -61_250}
    app.call("position with the amount held", "GET", f"{one}/position", 200, held)
    wait(timedelta(seconds=40))
    tag = app.call("order is sent", "GET", path, 200, {"order.phase": "sent"}).find("@ETag")
    late = {"phase": "cancelled"}
    app.refuse("too late to cancel", "PATCH", path, 409, "too-late", headers={"If-Match": str(tag)}, json=late)
    wait(timedelta(seconds=90))
    app.call("order is settled", "GET", path, 200, {"order.phase": "settled"})
    paid = {"position.cleared": cleared - 61_250, "position.pending": 0}
    app.call("position after", "GET", f"{one}/position", 200, paid)
    today = {"since": walk.now.date().isoformat()}
    members = {
        "movements.#": 1,
        "movements.0.minor": 61_250,
        "movements.0.direction": "out",
        "movements.0.memo": "Rent",
    }
    app.call("movements after", "GET", f"{one}/movements", 200, members, params=today)
    app.refuse("delete an active one", "DELETE", own, 409, "wrong-phase")
    ended = app.patch("end the agreement", own, active.find("@ETag"), 200, {"agreement.phase": "ended"}, phase="ended")
    app.refuse("holdings after that", "GET", f"{app.link(ended, 'self')}/holdings", 403, "not-active")
    app.call("delete the agreement", "DELETE", own, 204)
    app.refuse("it is gone", "GET", own, 410, "gone")
    return walk.steps


def harbour_second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = HarbourApp(walk, "pennywise", "dry-dock", "https://app.pennywise.example/done")
    kind = {"type": "urn:harbour:problem:not-a-form"}
    walk.step("ticket with JSON", "POST", "/auth/tickets", 415, kind, json={"client_name": "pennywise"})
    app.sign_in("ticket")
    app.refuse("unknown agreement", "GET", "/api/agreements/1", 404, "unknown-agreement")
    app.refuse("other version", "GET", "/api/agreements/1", 406, "other-version", headers={"Harbour-Version": "2025"})
    app.refuse("wrong method", "PUT", "/api/agreements", 405, "no-such-thing", json={})
    past = app.draft("Savings coach", ["holdings"], -DAY)
    app.refuse("until yesterday", "POST", "/api/agreements", 422, "invalid", "until", json=past)
    app.refuse("no return", "POST", "/api/agreements", 422, "invalid", "until", json=past | {"return_to": ""})
    narrow = app.ask("agreement without orders", app.draft("Look only", ["holdings", "positions"], 2 * HOUR))
    other = app.ask(
        "second draft", app.draft("Savings coach", ["holdings", "positions", "orders", "movements"], 9 * DAY)
    )
    third = app.draft("One more", ["holdings"], DAY)
    app.refuse("third draft", "POST", "/api/agreements", 429, "too-many-drafts", json=third)
    page = app.link(other, "customer")
    boxes = app.enter("customer signs in", page, "jago", "spindrift")
    walk.step("customer ticks nothing", "POST", page, 400, PAGE, data={**boxes, "holding": [], "decision": "yes"})
    proof = app.decide("customer agrees to two", page, boxes | {"holding": boxes["holding"][:2]}, "yes")
    walk.step("page is used up", "GET", page, 404, PAGE)
    own = app.link(other, "self")
    active = app.patch("activate", own, '"v2"', 200, {"agreement.phase": "active"}, phase="active", proof=proof)
    twice = {"phase": "active", "proof": proof}
    tag = {"If-Match": str(active.find("@ETag"))}
    app.refuse("activate again", "PATCH", own, 409, "wrong-phase", headers=tag, json=twice)
    app.refuse("unknown phase", "PATCH", own, 422, "invalid", "phase", headers=tag, json={"phase": "paused"})
    holdings = app.link(active, "holdings")
    members = {"holdings.#": 1, "holdings.0.name": "Main", "next": str}
    first = app.call("first holding", "GET", holdings, 200, members, params={"limit": "1"})
    members = {"holdings.#": 1, "holdings.0.name": "Bills", "next": None}
    rest = {"limit": "1", "after": first.find("next")}
    bills = app.call("second holding", "GET", holdings, 200, members, params=rest).find("holdings.0.number")

    page = app.link(narrow, "customer")
    boxes = app.enter("customer signs in for the other", page, "jago", "spindrift")
    proof = app.decide("customer agrees to all", page, boxes, "yes")
    look = app.link(narrow, "self")
    app.patch("activate the other", look, '"v2"', 200, {"agreement.phase": "active"}, phase="active", proof=proof)
    app.call("three holdings", "GET", f"{look}/holdings", 200, {"holdings.#": 3, "next": None})
    app.refuse("movements outside the scope", "GET", f"{look}/holdings/{bills}/movements", 403, "outside-scope")
    to = {"name": "Morwenna Angove", "sort": "60-17-21", "account": "20411014"}
    order = {"agreement": narrow.find("agreement.number"), "from": bills, "to": to, "minor": 1_999, "memo": "Paint"}
    app.refuse("order outside the scope", "PUT", f"/api/orders/{app.key('paint')}", 403, "outside-scope", json=order)

    one = f"{holdings}/{bills}"
    same_day = {"since": "2026-01-01", "before": "2026-01-01"}
    app.refuse("empty period", "GET", f"{one}/movements", 400, "bad-period", params=same_day)
    app.refuse("unknown order", "GET", f"/api/orders/{app.key('none')}", 404, "unknown-order")
    cleared = amount(app.call("position", "GET", f"{one}/position", 200, {"position.pending": 0}), "position.cleared")
    order["agreement"] = other.find("agreement.number")
    zero = order | {"minor": 0}
    app.refuse("order of nothing", "PUT", f"/api/orders/{app.key('zero')}", 422, "invalid", "minor", json=zero)
    declined = app.propose("order to decline", app.key("no"), order)
    page = app.link(declined, "customer")
    entered = app.enter("customer signs in for the order", page, "jago", "spindrift")
    app.decide("customer declines", page, {"session": entered["session"]}, "no")
    app.call("order is declined", "GET", app.link(declined, "self"), 200, {"order.phase": "declined"})
    stopped = app.propose("order to cancel", app.key("stop"), order | {"minor": 30_000})
    path = app.link(stopped, "self")
    app.patch("cancel the order", path, stopped.find("@ETag"), 200, {"order.phase": "cancelled"}, phase="cancelled")
    paint = app.propose("order", app.key("paint"), order)
    path, page = app.link(paint, "self"), app.link(paint, "customer")
    entered = app.enter("customer signs in once more", page, "jago", "spindrift")
    proof = app.decide("customer approves", page, {"session": entered["session"]}, "yes")
    app.patch("approve", path, '"v2"', 200, {"order.phase": "approved"}, phase="approved", proof=proof)
    wait(timedelta(seconds=125))
    members = {"position.cleared": cleared - 1_999, "position.pending": 0}
    app.call("position after", "GET", f"{one}/position", 200, members)
    app.call("order is settled", "GET", path, 200, {"order.phase": "settled", "order.memo": "Paint"})
    members = {"orders.#": 3, "orders.2.phase": "settled", "orders.1.phase": "cancelled", "orders.0.phase": "declined"}
    app.call("orders", "GET", app.link(active, "orders"), 200, members)
    wait(2 * HOUR)
    app.refuse("ticket has ended", "GET", look, 401, "ticket-ended")
    app.sign_in("new ticket")
    app.call("agreement has expired", "GET", look, 200, {"agreement.phase": "expired"})
    app.refuse("holdings after that", "GET", f"{look}/holdings", 403, "not-active")
    app.call("the other goes on", "GET", own, 200, {"agreement.phase": "active"})
    return walk.steps


# Norrsken


class NorrskenApp:
    def __init__(self, walk: Walk, app: str, key: str) -> None:
        self.walk, self._app, self._key = walk, app, key
        self._pass: Any = None

    def enter(self, name: str) -> None:
        members = {"code": 0, "@X-Nk-Pass": re.compile(r"^\w{6}\.\w{18}$")}
        document = {"app": self._app, "key": self._key}
        self._pass = self.walk.step(name, "POST", "/svc/enter", 200, members, json=document).find("@X-Nk-Pass")

    def call(self, name: str, service: str, code: int = 0, members: Expected | None = None, **document: Any) -> Answer:
        headers = {"X-Nk-Pass": str(self._pass)}
        expected = {"code": code, "at": int, **(members or {})}
        return self.walk.step(name, "POST", f"/svc/{service}", 200, expected, headers=headers, json=document)

    def ask(self, name: str, service: str, code: int = 0, **document: Any) -> tuple[str, str]:
        """Return the page and the reference, which is its last part."""
        where = {"@Location": re.compile(r"^/(slip|pay)/\w{9}$"), "body": None}
        page = str(self.call(name, service, code, where, **document).find("@Location"))
        return page, page.rpartition("/")[2]

    def sign(self, name: str, page: str, pnr: str, kod: str, do: str = "sign", text: str = "Klart!") -> None:
        """Open the page as the customer, and sign or refuse."""
        opened = self.walk.step(f"{name}: page", "GET", page, 200, PAGE | {"page": re.compile("seal")})
        form = {"seal": opened.fields.get("seal", [""])[0], "pnr": pnr, "kod": kod, "do": do}
        self.walk.step(name, "POST", page, 200, PAGE | {"page": re.compile(text)}, data=form)


def kronor(text: Any) -> int:
    """Ören of an amount, or 0."""
    return int(str(text).replace(",", "")) if re.fullmatch(r"-?\d+,\d\d", str(text)) else 0


def write_kronor(ore: int) -> str:
    return f"{ore // 100},{ore % 100:02}"


def norrsken_first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NorrskenApp(walk, "kassaboken", "blaklint")
    astrid = ("19780314-2381", "4417")
    no_pass = {"code": 1001, "text": "Passet saknas"}
    walk.step("call without a pass", "POST", "/svc/access.ask", 200, no_pass, json={"what": ["saldo"]})
    unknown = {"app": "kassaboken", "key": "rosor"}
    walk.step("enter with a wrong key", "POST", "/svc/enter", 200, {"code": 1002}, json=unknown)
    walk.step("call by GET", "GET", "/svc/accounts", 405, {"@X-Nk-Hint": re.compile("POST")})
    app.enter("enter")
    app.call("unknown service", "access.give", 9404, {"service": "access.give"})
    app.call("slip without rights", "access.ask", 1003, {"field": "what"}, days=30, tag="hushall-1")
    app.call("slip for too long", "access.ask", 3100, {"most": 90}, what=["saldo"], days=91, tag="hushall-1")
    page, slip = app.ask("slip", "access.ask", what=["saldo", "ledger", "pay"], days=30, tag="hushall-1")
    again, _ = app.ask("same tag again", "access.ask", 4001, what=["saldo"], days=3, tag="hushall-1")
    app.call("slip is asked", "access.look", 0, {"body.state": 10, "body.tag": "hushall-1"}, slip=slip)
    app.call("accounts too early", "accounts", 2002, {"state": 10}, slip=slip)
    walk.step("page without the seal", "POST", page, 400, PAGE, data={"pnr": astrid[0], "kod": astrid[1]})
    app.sign("customer with a wrong code", again, astrid[0], "0000", text="Fel personnummer")
    app.sign("customer signs", page, *astrid)
    app.call("slip is signed", "access.look", 0, {"body.state": 20, "body.who": "Astrid Lindqvist"}, slip=slip)
    app.call("slip is live", "access.look", 0, {"body.state": 30, "body.what.#": 3}, slip=slip)
    rows = app.call("accounts", "accounts", 0, {"body.rows.#": 2, "body.rows.0.cur": "SEK"}, slip=slip)
    acc = rows.pick("body.rows", no="9960-2601134").get("acc")
    use: dict[str, Any] = {"slip": slip, "acc": acc}
    app.call("one account", "account", 0, {"body.account.name": "Lön", "body.account.no": "9960-2601134"}, **use)
    app.call("unknown account", "account", 2004, slip=slip, acc="ÅÄÖ1")
    app.call("unknown slip", "saldo", 2001, slip="aaaaaaaaa", acc=acc)
    saldo = kronor(app.call("saldo", "saldo", 0, {"body.acc": acc}, **use).find("body.saldo"))
    day = int((walk.now - 70 * DAY).strftime("%Y%m%d"))
    members = {"body.rows.#": 10, "body.more": True, "body.rows.0.sum": re.compile(r"^-?\d+,\d\d$")}
    app.call("ledger", "ledger", 0, members, **use, **{"from": day})
    app.call("rest of it", "ledger", 0, {"body.rows.#": 7, "body.more": False}, **use, **{"from": day}, skip=10)
    app.call("too many rows", "ledger", 3101, {"most": 10}, **use, take=11)

    to = {"giro": "505-0109", "name": "Hyresgästerna"}
    pay = {**use, "to": to, "tag": "hyra-juni"}
    app.call("payment over the limit", "pay.ask", 3001, {"most": "20000,00"}, **pay, sum="20000,01")
    app.call("payment without cover", "pay.ask", 3002, **pay, sum="18999,00")
    app.call("payment with a point", "pay.ask", 1003, {"field": "sum"}, **pay, sum="875.50")
    wrong = {**pay, "to": to | {"giro": "505-0108"}}
    app.call("payment to a wrong giro", "pay.ask", 3003, **wrong, sum="875,50")
    page, ref = app.ask("payment", "pay.ask", **pay, sum="875,50")
    app.call("payment is asked", "pay.look", 0, {"body.state": 10, "body.sum": "875,50"}, pay=ref)
    app.sign("customer signs the payment", page, *astrid)
    app.call("payment is signed", "pay.look", 0, {"body.state": 20, "body.to.giro": "505-0109"}, pay=ref)
    held = {"body.saldo": write_kronor(saldo), "body.free": write_kronor(saldo - 87_550)}
    app.call("saldo with the amount held", "saldo", 0, held, **use)
    wait(timedelta(seconds=75))
    app.call("payment is on its way", "pay.look", 0, {"body.state": 30}, pay=ref)
    app.call("too late to stop", "pay.stop", 3004, {"state": 30}, pay=ref)
    wait(timedelta(minutes=10))
    app.call("pass has ended", "pay.look", 1004, pay=ref)
    app.enter("enter again")
    app.call("payment is done", "pay.look", 0, {"body.state": 40}, pay=ref)
    left = write_kronor(saldo - 87_550)
    app.call("saldo after", "saldo", 0, {"body.saldo": left, "body.free": left}, **use)
    today = int(walk.now.strftime("%Y%m%d"))
    members = {"body.rows.#": 1, "body.rows.0.sum": "-875,50", "body.rows.0.text": "Hyresgästerna"}
    app.call("ledger after", "ledger", 0, members, **use, **{"from": today})
    app.call("drop the slip", "access.drop", 0, {"body.state": 90}, slip=slip)
    app.call("accounts after that", "accounts", 2002, {"state": 90}, slip=slip)
    app.call("drop it again", "access.drop", 2002, {"state": 90}, slip=slip)
    return walk.steps


def norrsken_second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = NorrskenApp(walk, "slantar", "smultron")
    olle = ("19910922-5577", "9035")
    app.enter("enter")
    app.call("unknown payment", "pay.look", 3000, pay="bbbbbbbbb")
    app.call("unknown right", "access.ask", 1003, {"field": "what"}, what=["kort"], days=5, tag="spar-77")
    app.call("short tag", "access.ask", 1003, {"field": "tag"}, what=["saldo"], days=5, tag="x")
    page, slip = app.ask("slip to refuse", "access.ask", what=["ledger"], days=5, tag="spar-77")
    app.sign("customer refuses", page, *olle, do="refuse", text="Du har sagt nej")
    app.call("slip is refused", "access.look", 0, {"body.state": 80}, slip=slip)
    page, slow = app.ask("slip to forget", "access.ask", what=["ledger"], days=9, tag="spar-78")
    wait(timedelta(minutes=6))
    app.call("slip has lapsed", "access.look", 0, {"body.state": 95}, slip=slow)
    walk.step("page of it", "GET", page, 200, PAGE | {"page": re.compile("Inget att skriva under")})
    app.call("accounts of it", "accounts", 2003, slip=slow)
    look, view = app.ask("slip without payments", "access.ask", what=["saldo"], days=2, tag="bara-saldo")
    page, slip = app.ask("slip for payments", "access.ask", what=["pay", "saldo", "ledger"], days=60, tag="spar-79")
    app.sign("customer signs for payments", page, *olle)
    app.sign("customer signs the other", look, *olle)
    app.call("slip is signed", "access.look", 0, {"body.state": 20}, slip=slip)
    app.call("accounts while it is checked", "accounts", 2002, {"state": 20}, slip=slip)
    app.call("slip is live", "access.look", 0, {"body.state": 30, "body.who": "Olle Bergström"}, slip=slip)
    app.call("other slip is signed", "access.look", 0, {"body.state": 20}, slip=view)
    app.call("other slip is live", "access.look", 0, {"body.state": 30, "body.what.#": 1}, slip=view)
    rows = app.call("accounts", "accounts", 0, {"body.rows.#": 2}, slip=slip)
    acc = rows.find("body.rows.1.acc")
    use: dict[str, Any] = {"slip": slip, "acc": acc}
    app.call("ledger outside the slip", "ledger", 2005, {"what": "ledger"}, slip=view, acc=acc)
    saldo = kronor(app.call("saldo", "saldo", 0, {"body.acc": acc}, slip=view, acc=acc).find("body.saldo"))
    app.call("part of the ledger", "ledger", 0, {"body.rows.#": 4, "body.more": True}, **use, skip=2, take=4)
    app.call("negative skip", "ledger", 1003, {"field": "skip"}, **use, skip=-1)

    to = {"giro": "912-3456", "name": "Cykelverkstan"}
    app.call("pay without the right", "pay.ask", 2005, slip=view, acc=acc, to=to, sum="10,00", tag="cykel-0")
    app.call("payment to nobody", "pay.ask", 1003, {"field": "to"}, **use, sum="10,00", tag="cykel-0")
    page, ref = app.ask("payment to refuse", "pay.ask", **use, to=to, sum="310,05", tag="cykel-1")
    app.sign("customer refuses the payment", page, *olle, do="refuse", text="Du har sagt nej")
    app.call("payment is refused", "pay.look", 0, {"body.state": 80}, pay=ref)
    page, ref = app.ask("payment to stop", "pay.ask", **use, to=to, sum="500,00", tag="cykel-2")
    app.sign("customer signs the first", page, *olle)
    app.call("stop the payment", "pay.stop", 0, {"body.state": 90}, pay=ref)
    app.call("saldo as before", "saldo", 0, {"body.saldo": write_kronor(saldo)}, **use)
    page, ref = app.ask(
        "payment", "pay.ask", **use, to={"giro": "600-1234", "name": "Tandläkaren"}, sum="149,90", tag="tand"
    )
    app.sign("customer signs the second", page, *olle)
    wait(timedelta(minutes=11))
    app.call("pass has ended", "saldo", 1004, **use)
    app.enter("enter again")
    left = write_kronor(saldo - 14_990)
    app.call("saldo after", "saldo", 0, {"body.saldo": left, "body.free": left}, **use)
    app.call("payment is done", "pay.look", 0, {"body.state": 40, "body.to.name": "Tandläkaren"}, pay=ref)
    members = {"body.rows.0.sum": "-149,90", "body.rows.0.text": "Tandläkaren", "body.more": True}
    app.call("ledger after", "ledger", 0, members, **use, take=1)
    wait(3 * DAY)
    app.enter("enter after three days")
    app.call("other slip has lapsed", "saldo", 2003, slip=view, acc=acc)
    app.call("slip is still live", "saldo", 0, {"body.saldo": left}, **use)
    return walk.steps


@dataclass(frozen=True)
class Foreign:
    """A bank, made from a seed and a clock, and its journeys.

    `things` is a pattern for the ids of its resources in requests and answers, `state` one for their members with a
    state.
    """

    bank: Callable[[int, Clock], ForeignBank]
    first: Journey
    second: Journey
    things: str
    state: str


BANKS = {
    "javor": Foreign(Javor, javor_first, javor_second, r"\bC-\d\d-\d{6}-[A-Z]|\bP\d{10}", "state"),
    "harbour": Foreign(Harbour, harbour_first, harbour_second, r"/api/(?:agreements|orders)/[\w-]+", "phase"),
    "norrsken": Foreign(
        Norrsken, norrsken_first, norrsken_second, r'"(?:slip|pay)": "\w{9}"|(?<=/)(?:slip|pay)/\w{9}', "state"
    ),
    "jacaranda": Foreign(
        Jacaranda, jacaranda_journeys.first, jacaranda_journeys.second, r"\b(?:prm|t|p)-[0-9a-f]{8}", "situacao"
    ),
    "bursztyn": Foreign(
        Bursztyn, bursztyn_journeys.first, bursztyn_journeys.second, r"/api/(?:zgody|przelewy|paczki)/\w+", "stan"
    ),
    "dallae": Foreign(
        Dallae, dallae_journeys.first, dallae_journeys.second, r"/v2/(?:dongui|iche|illgwal|injeung)/[\w-]+", "sangtae"
    ),
    "gulmohar": Foreign(
        Gulmohar,
        gulmohar_journeys.first,
        gulmohar_journeys.second,
        r"/gm/v3/(?:sahmati(?:/handle)?|bhugtan|swachalit)/[\w@-]+",
        "sthiti",
    ),
    "pukeko": Foreign(Pukeko, pukeko_journeys.first, pukeko_journeys.second, r"\b(?:prm|trf)_\w{12}", "stage"),
    "tisza": Foreign(
        Tisza,
        tisza_journeys.first,
        tisza_journeys.second,
        r"\bCNS-[0-9a-f]{10}|(?<=sepa-credit-transfers/)\d{13}",
        "(consent|transaction)Status",
    ),
    "ribera": Foreign(
        Ribera,
        ribera_journeys.first,
        ribera_journeys.second,
        r"/v1/(?:consents|payments/[\w-]+)/[0-9a-f-]{36}(?:/authorisations/[0-9a-f-]{36})?",
        "(consent|transaction|sca)Status",
    ),
    "estuaire": Foreign(
        Estuaire,
        estuaire_journeys.first,
        estuaire_journeys.second,
        r"/dsp2/v1/(?:consents|payments)/[\w-]+",
        "status",
    ),
    "gauja": Foreign(
        Gauja,
        gauja_journeys.first,
        gauja_journeys.second,
        r"\bpk-\w{4}-\w{4}\b|\bM\d{13}\b|(?<=/authorisations/)\d{8}",
        "(consent|transaction|sca)Status",
    ),
    "zeytin": Foreign(
        Zeytin, zeytin_journeys.first, zeytin_journeys.second, r"\bizn-[a-z0-9]{10}|\bode-\d{9}", "durum|asama"
    ),
    "cottonwood": Foreign(
        Cottonwood, cottonwood_journeys.first, cottonwood_journeys.second, r"\b(?:link|xfer)_[0-9A-Z]{16}", "status"
    ),
    "siret": Foreign(
        Siret,
        siret_journeys.first,
        siret_journeys.second,
        r"\b[0-9a-f]{24}\b|\bOP\d{12}\b",
        "(consent|transaction)Status",
    ),
    "corrib": Foreign(Corrib, corrib_journeys.first, corrib_journeys.second, r"\b(?:pm|or)-[0-9a-z]{10}\b", "standing"),
    "kataja": Foreign(
        Kataja, kataja_journeys.first, kataja_journeys.second, r"\bLU-\d{4}-\d{4}\b|\bMK\d{10}\b", "tila"
    ),
    "brenta": Foreign(Brenta, brenta_journeys.first, brenta_journeys.second, r"\bM\d{9}\b|\bD\d{10}\b", "stato"),
    "kupa": Foreign(
        Kupa,
        kupa_journeys.first,
        kupa_journeys.second,
        r"\bKC[A-Z0-9]{10}\b|(?<=sepa-credit-transfers/)\d{15}|(?<=/eprijava/)[0-9a-f]{12}",
        "(consent|transaction|sca)Status",
    ),
    "notec": Foreign(Notec, notec_journeys.first, notec_journeys.second, r"\bNTC\d{12}\b", "(general|detailed)Status"),
    "drina": Foreign(
        Drina,
        drina_journeys.first,
        drina_journeys.second,
        r"\bOV-\d{8}\b|\bSGL-[A-Z]{4}-\d{4}\b(?!/authorisations)|\bNAL\d{10}\b(?!/authorisations)",
        "(consent|transaction|sca)Status",
    ),
    "garonne": Foreign(
        Garonne, garonne_journeys.first, garonne_journeys.second, r"\bVIR-\d{10}\b", "paymentInformationStatus"
    ),
    "evros": Foreign(
        Evros,
        evros_journeys.first,
        evros_journeys.second,
        r"\b[A-Z]{4}-\d{4}\b|\brm\.[0-9a-z]{12}\b",
        "lifecycle",
    ),
    "morava": Foreign(
        Morava,
        morava_journeys.first,
        morava_journeys.second,
        r"\b[A-Z2-9]{5}-[A-Z2-9]{5}\b|\bM\d\d-\d{6}-\d\b",
        "(consent|transaction)Status|state",
    ),
    "odra": Foreign(
        Odra,
        odra_journeys.first,
        odra_journeys.second,
        r"(?<=/grants/)[a-z2-9-]{14}(?!/[aq]|/pay)|(?<=/payees/)B\d{9}|(?<=/quotes/)[0-9a-f]{20}|(?<=/payouts/)\w{22}",
        "status",
    ),
    "struma": Foreign(
        Struma,
        struma_journeys.first,
        struma_journeys.second,
        r"\b\d{4}-\d{4}-\d{4}\b(?!/auth)|\bST[0-9A-Z]{10}\b(?!/(?:cancellation-)?auth)"
        r"|(?<=authorisations/)[0-9a-f]{8}\b",
        "(consent|transaction|sca)Status",
    ),
    "skagen": Foreign(
        Skagen, skagen_journeys.first, skagen_journeys.second, r"\bFM-[A-Z0-9]{8}\b|\bBT\d{11}\b", "status"
    ),
    "mures": Foreign(
        Mures,
        mures_journeys.first,
        mures_journeys.second,
        r"\bMC[0-9A-Z]{14}\b|(?<!Comision )\bMP\d{12}\b",
        "(consent|transaction)Status",
    ),
    "rhone": Foreign(
        Rhone,
        rhone_journeys.first,
        rhone_journeys.second,
        r"\b(?:ACD|VIR|VPM)\d{9}\b|\bDEM-[BCDFGHJKLMNPQRSTVWXZ]{4}-\d{4}\b",
        "etat|situation",
    ),
    "ammer": Foreign(
        Ammer,
        ammer_journeys.first,
        ammer_journeys.second,
        r"\b[KZF]\d{4}-\d{4}-\d{4}\b",
        "(consent|transaction|sca)Status",
    ),
    "vistula": Foreign(
        Vistula, vistula_journeys.first, vistula_journeys.second, r"\bV[ATC]-[0-9A-Z]{9}\b", "phase|transferPhase"
    ),
    "yarrow": Foreign(
        Yarrow, yarrow_journeys.first, yarrow_journeys.second, r"\b(?:cnx|pay|act)_[0-9a-z]{14}\b", "phase"
    ),
    "lech": Foreign(
        Lech,
        lech_journeys.first,
        lech_journeys.second,
        r"\b(?:fg_[0-9a-f]{12}|77\d{8}|Z[A-Z2-9]{9})\b",
        "stand|status|statusText|lage",
    ),
    "tajo": Foreign(
        Tajo,
        tajo_journeys.first,
        tajo_journeys.second,
        r"\b(?:cns_[0-9A-Za-z]{16}|TJ[OP]\d{13}|aut_[0-9a-f]{12})\b",
        "(consent|transaction|sca)Status",
    ),
    "venta": Foreign(
        Venta, venta_journeys.first, venta_journeys.second, r"\b(?:V[CTA]-\d{5}-\d{4})\b", "state|scaState"
    ),
    "clyde": Foreign(Clyde, clyde_journeys.first, clyde_journeys.second, r"\b(?:dac|pyc|pmt)_[0-9A-Z]{12}\b", "stage"),
    "adda": Foreign(Adda, adda_journeys.first, adda_journeys.second, r"\b[CB]\d\d-[A-Z0-9]{4}-[A-Z0-9]{4}\b", "stato"),
    "vanern": Foreign(
        Vanern,
        vanern_journeys.first,
        vanern_journeys.second,
        r"\b(?:(?:MG|BET|OVF)-[0-9A-Z]{9,10}|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})\b",
        "lage|status",
    ),
    "platte": Foreign(
        Platte, platte_journeys.first, platte_journeys.second, r"\b(?:gnt|xfr)_[0-9a-z]{12}\b", "phase|stage"
    ),
    "zala": Foreign(
        Zala,
        zala_journeys.first,
        zala_journeys.second,
        r"\b(?:cns|pay|aut)[0-9a-f]{16}\b",
        "^(?:consentStatus|transactionStatus|scaStatus)$",
    ),
    "severn": Foreign(
        Severn, severn_journeys.first, severn_journeys.second, r"\b(?:aac|dpc|dp)-[0-9a-f]{16}\b", "^Status$"
    ),
    "nemunas": Foreign(
        Nemunas, nemunas_journeys.first, nemunas_journeys.second, r"\b(?:cns|pay|bat|apr)_[0-9a-z]{12}\b", "^state$"
    ),
    "salzach": Foreign(
        Salzach,
        salzach_journeys.first,
        salzach_journeys.second,
        r"\b(?:[0-9a-f]{32}|ZA\d{14}|au_\w{16})\b",
        "^(?:consentStatus|transactionStatus|scaStatus)$",
    ),
    "ebro": Foreign(
        Ebro,
        ebro_journeys.first,
        ebro_journeys.second,
        r"\bCNT-[0-9A-F]{20}\b|\bPE\d{15}\b|(?<![\w-])\d{12}(?![\w-])",
        "(consent|transaction|sca)Status",
    ),
    "narew": Foreign(
        Narew,
        narew_journeys.first,
        narew_journeys.second,
        r"\bZGD-[0-9A-Z]{4}-[0-9A-Z]{4}\b|\bZL\d{12}\b|\bAU\d{8}\b",
        "stanZgody|statusZlecenia|stanAutoryzacji",
    ),
    "isere": Foreign(
        Isere,
        isere_journeys.first,
        isere_journeys.second,
        r"\bCST[A-Z0-9]{12}\b|\bDP\d{2}-\d{9}\b",
        "etatConsentement|statut|statutOperation",
    ),
    "soca": Foreign(
        Soca, soca_journeys.first, soca_journeys.second, r"\b(?:mnd|mov|chg)_[0-9A-HJKMNP-TV-Z]{12}\b", "word"
    ),
    "tejo": Foreign(
        Tejo,
        tejo_journeys.first,
        tejo_journeys.second,
        r"\b(?:CNS-[0-9a-f]{20}|P\d{5}-\d{8})\b",
        "consentStatus|transactionStatus",
    ),
    "aare": Foreign(
        Aare,
        aare_journeys.first,
        aare_journeys.second,
        r"\b(?:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|A\d{6}-[0-9A-Z]{8})\b",
        "consentStatus|orderStatus",
    ),
    "bodrog": Foreign(
        Bodrog,
        bodrog_journeys.first,
        bodrog_journeys.second,
        r'TC-\d{6}-\d{10}|\d{6}TB\d{11}|(?<=authorisations/)[0-9a-f-]{36}|(?<="authorisationId": ")[0-9a-f-]{36}',
        "consentStatus|transactionStatus|scaStatus",
    ),
    "mersey": Foreign(
        Mersey,
        mersey_journeys.first,
        mersey_journeys.second,
        r"\bMP\.\d{4}-[A-Z]{2}|\bogo-[a-z]{5}\d{3}",
        "standing|stage",
    ),
    "neretva": Foreign(
        Neretva,
        neretva_journeys.first,
        neretva_journeys.second,
        r"\b(?:NC-26-[0-9A-Z]{6}|26PX\d{8})",
        "consentState|paymentState|step",
    ),
    "morar": Foreign(
        Morar,
        morar_journeys.first,
        morar_journeys.second,
        r"MBC(?:-[A-Z0-9]{4}){2}|(?:FP|CH)\d{6}-[A-Z0-9]{6}|SCA\d{9}",
        "consentStatus|transactionStatus|scaStatus",
    ),
    "tagus": Foreign(
        Tagus,
        tagus_journeys.first,
        tagus_journeys.second,
        r"\bG[0-9A-Z]{3}(?:-[0-9A-Z]{4}){2}|\bT\d{12}",
        "phase|progress",
    ),
    "wisla": Foreign(Wisla, wisla_journeys.first, wisla_journeys.second, r"\b[ZPA]\d{11}\b", "stan|etap"),
    "nidd": Foreign(
        Nidd,
        nidd_journeys.first,
        nidd_journeys.second,
        r"NC-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}|FPS\d{6}[A-Z0-9]{6}|[0-9a-f]{24}",
        "consentStatus|transactionStatus|scaStatus",
    ),
    "raba": Foreign(
        Raba, raba_journeys.first, raba_journeys.second, r"(?:cnx|qte|pay)_[A-Za-z0-9]{16}", "phase|validity|progress"
    ),
    "glomma": Foreign(
        Glomma,
        glomma_journeys.first,
        glomma_journeys.second,
        r"FM-\d{8}|OP-\d{6}-\d{5}|BK[0-9a-f]{16}",
        "tilstand|stilling|fase",
    ),
    "lagan": Foreign(
        Lagan,
        lagan_journeys.first,
        lagan_journeys.second,
        r"LC-[A-Z0-9]{4}-[A-Z0-9]{4}|\d{5}-\d{7}|AU\d{10}",
        "consentStatus|transactionStatus|scaStatus",
    ),
    "torne": Foreign(
        Torne, torne_journeys.first, torne_journeys.second, r"(?:lnk|trf|apv)_[0-9a-hjkmnp-tv-z]{14}", "state"
    ),
    "minho": Foreign(
        Minho,
        minho_journeys.first,
        minho_journeys.second,
        r"MD-[A-Z2-9]{4}-[A-Z2-9]{4}|TRF\d{6}-\d{5}|cf[0-9a-f]{18}",
        "situacao|fase|resposta",
    ),
    "dvina": Foreign(
        Dvina, dvina_journeys.first, dvina_journeys.second, r"AGM-[A-Z0-9]{10}|P\d{6}-\d{6}", "phase|progress"
    ),
    "arve": Foreign(
        Arve, arve_journeys.first, arve_journeys.second, r"AUT-[A-Z0-9]{4}-[A-Z0-9]{4}|VIR\d{10}", "etat|statut"
    ),
    "taff": Foreign(
        Taff,
        taff_journeys.first,
        taff_journeys.second,
        r"urn-taff-(?:aac|dpc)-[0-9a-z]{12}|FPS\d{8}-\d{6}",
        "(?:Consent|Payment)Status",
    ),
    "inn": Foreign(
        Inn,
        inn_journeys.first,
        inn_journeys.second,
        r"ZUS-[A-Z0-9]{4}-[A-Z0-9]{4}|[ZD]A\d{8}-\d{5}|FG\d{10}",
        "consentStatus|transactionStatus|scaStatus",
    ),
    "vltava": Foreign(
        Vltava,
        vltava_journeys.first,
        vltava_journeys.second,
        r"[0-9a-f]{24}|7\d{11}|9\d{9}|\d{15}",
        "grantState|instructionStatus|batchStatus|state",
    ),
}
