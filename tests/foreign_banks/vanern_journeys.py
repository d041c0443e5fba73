"""Two journeys of the app Kassaboken and its customers at Vänern."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

BASE = "/oppen/v2"
LOGIN, CONSENTS, ACCOUNTS = f"{BASE}/inloggning", f"{BASE}/medgivanden", f"{BASE}/konton"
PAYMENTS, PENDING, TRANSFERS = f"{BASE}/betalningar", f"{BASE}/kommande", f"{BASE}/overforingar"
EVERYTHING = ["konton", "saldon", "rorelser", "betalningar"]
AMOUNT = re.compile(r"^-?\d{1,3}( \d{3})*,\d\d$")
CONSENT, PAYMENT = re.compile(r"^MG-[0-9A-Z]{9}$"), re.compile(r"^BET-[0-9A-Z]{10}$")
REF = re.compile(r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def kronor(ore: int) -> str:
    """An amount as the bank writes it."""
    whole = f"{abs(ore) // 100:,}".replace(",", " ")
    return f"{'-' if ore < 0 else ''}{whole},{abs(ore) % 100:02}"


def ore(answer: Answer, place: str) -> int:
    """The amount at this place in öre, or 0."""
    text = str(answer.find(f"{place}.varde"))
    return int(re.sub(r"[ ,]", "", text)) if AMOUNT.search(text) else 0


class VanernApp:
    def __init__(self, walk: Walk, person: str, code: str) -> None:
        self.walk, self._person, self._code = walk, person, code
        self._key: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        customer: Any = None,
        **request: Any,
    ) -> Answer:
        named = str(uuid5(NAMESPACE_URL, f"{self._person} {name}"))
        sent = {"Begaran-Id": named}
        if self._key:
            sent["Authorization"] = f"Nyckel {self._key}"
        if customer:
            sent["Kundnyckel"] = str(customer)
        expected = {"@Begaran-Id": named, **(members or {})}
        if status >= 400:
            expected["fel.begaranId"] = named
        return self.walk.step(name, method, path, status, expected, headers=sent, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, word: str, place: str = "", **request: Any
    ) -> None:
        members = {"fel.kod": word, "fel.text": str} | ({"fel.detaljer.0.falt": place} if place else {})
        self.call(name, method, path, status, members, **request)

    def log_in(self, name: str) -> None:
        self._key = None
        members = {"nyckel": re.compile(r"^\w{30}$"), "giltigSekunder": 1800}
        data = {"app": "kassaboken", "hemlighet": "lingonris"}
        self._key = self.call(name, "POST", LOGIN, 200, members, json=data).find("nyckel")

    def ask(self, name: str, scope: list[str], days: int) -> Any:
        members = {
            "medgivande.medgivandeId": CONSENT,
            "medgivande.lage": "oklart",
            "medgivande.omfattning": scope,
            "medgivande.giltigtTill": self.day(days),
            "lankar.legitimering": re.compile(f"^{CONSENTS}/MG-[0-9A-Z]{{9}}/legitimering$"),
            "@Location": re.compile(f"^{CONSENTS}/MG-[0-9A-Z]{{9}}$"),
        }
        made = self.call(name, "POST", CONSENTS, 201, members, json={"omfattning": scope, "dagar": days})
        return made.find("medgivande.medgivandeId")

    def start(self, name: str, path: str) -> Any:
        """Start the identification app and return the order reference."""
        members = {
            "orderreferens": REF,
            "status": "vantar",
            "autostart": str,
            "lankar.status": re.compile(f"^{BASE}/legitimeringar/[0-9a-f-]{{36}}$"),
            "lankar.sandlada": re.compile("^/sandlada/legitimeringar/[0-9a-f-]{36}/svar$"),
        }
        return self.call(name, "POST", path, 202, members).find("orderreferens")

    def decide(self, name: str, ref: Any, said: str) -> None:
        """The customer uses the identification app."""
        data = {"personnummer": self._person, "sakerhetskod": self._code, "svar": said}
        members = {"orderreferens": ref, "status": {"signera": "klar", "avbryt": "misslyckad"}[said]}
        self.walk.step(name, "POST", f"/sandlada/legitimeringar/{ref}/svar", 200, members, json=data)

    def mistype(self, name: str, ref: Any, code: str) -> None:
        data = {"personnummer": self._person, "sakerhetskod": code, "svar": "signera"}
        members = {"fel.kod": "fel_sakerhetskod", "fel.text": str}
        self.walk.step(name, "POST", f"/sandlada/legitimeringar/{ref}/svar", 403, members, json=data)

    def poll(self, name: str, ref: Any, id: Any, status: str, state: str, **more: Any) -> Any:
        """Return the customer's key, if there is one."""
        members = {"orderreferens": ref, "status": status, "arende.id": id, "arende.lage": state, **more}
        return self.call(name, "GET", f"{BASE}/legitimeringar/{ref}", 200, members).find("kundnyckel")

    def accounts(self, name: str, customer: Any, count: int, holder: str) -> Answer:
        members = {
            "konton.#": count,
            "antal": count,
            "konton.0.kontoId": re.compile(r"^K[0-9A-Z]{9}$"),
            "konton.0.kontonummer": re.compile(r"^9512-\d{7}$"),
            "konton.0.iban": re.compile(r"^SE\d{22}$"),
            "konton.0.innehavare": holder,
            "konton.0.valuta": "SEK",
            "konton.0.dagsgrans.varde": "25 000,00",
        }
        return self.call(name, "GET", ACCOUNTS, 200, members, customer=customer)

    def balances(self, name: str, account: Any, customer: Any, **amounts: int) -> Answer:
        members: dict[str, Any] = {"kontoId": account, "saldon.bokfort.valuta": "SEK"}
        members |= {f"saldon.{one}.varde": AMOUNT for one in ("bokfort", "reserverat", "disponibelt")}
        members |= {f"saldon.{one}.varde": kronor(amount) for one, amount in amounts.items()}
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/saldon", 200, members, customer=customer)

    def rows(self, name: str, account: Any, customer: Any, query: dict[str, str], count: int, **more: Any) -> Answer:
        members = {"kontoId": account, "rorelser.#": count, "bladdring.totaltAntal": int}
        members |= {"rorelser.0.bokforingsdag": re.compile(r"^\d{4}-\d\d-\d\d$"), "rorelser.0.belopp.varde": AMOUNT}
        members |= {place.replace("__", "."): value for place, value in more.items()}
        path = f"{ACCOUNTS}/{account}/rorelser"
        return self.call(name, "GET", path, 200, members, customer=customer, params=query)

    def bill(
        self, account: Any, payee: tuple[str, str], amount: str, message: str, day: str | None = None
    ) -> dict[str, Any]:
        to = {"namn": payee[0], "bankgiro": payee[1]}
        data = {"frankonto": account, "mottagare": to, "belopp": {"varde": amount, "valuta": "SEK"}}
        return data | {"meddelande": message} | ({"betaldag": day} if day else {})

    def pay(self, name: str, customer: Any, bill: dict[str, Any], amount: int) -> Any:
        members = {
            "betalning.betalningsId": PAYMENT,
            "betalning.lage": "osignerat",
            "betalning.frankonto": bill["frankonto"],
            "betalning.mottagare.namn": bill["mottagare"]["namn"],
            "betalning.mottagare.bankgiro": bill["mottagare"]["bankgiro"],
            "betalning.belopp.varde": kronor(amount),
            "betalning.betaldag": bill.get("betaldag", self.day(0)),
            "betalning.meddelande": bill["meddelande"],
            "@Location": re.compile(f"^{PAYMENTS}/BET-[0-9A-Z]{{10}}$"),
        }
        made = self.call(name, "POST", PAYMENTS, 201, members, customer=customer, json=bill)
        return made.find("betalning.betalningsId")

    def follow(self, name: str, payment: Any, state: str) -> None:
        members = {"betalning.betalningsId": payment, "betalning.lage": state}
        self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, members)

    def cancel(self, name: str, payment: Any) -> None:
        members = {"betalning.betalningsId": payment, "betalning.lage": "makulerat"}
        self.call(name, "PUT", f"{PAYMENTS}/{payment}/makulering", 200, members)

    def transfer(self, name: str, customer: Any, ends: tuple[Any, Any], sent: str, amount: int, text: str) -> None:
        data = {"frankonto": ends[0], "tillkonto": ends[1], "belopp": {"varde": sent, "valuta": "SEK"}, "text": text}
        members = {
            "overforing.overforingsId": re.compile(r"^OVF-[0-9A-Z]{10}$"),
            "overforing.lage": "genomfort",
            "overforing.frankonto": ends[0],
            "overforing.tillkonto": ends[1],
            "overforing.text": text,
            "overforing.belopp.varde": kronor(amount),
        }
        self.call(name, "POST", TRANSFERS, 201, members, customer=customer, json=data)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = VanernApp(walk, "198203142385", "407193")
    members: dict[str, Any] = {"fel.kod": "huvud_saknas", "fel.detaljer.0.falt": "Begaran-Id"}
    walk.step("accounts without a request id", "GET", ACCOUNTS, 400, members)
    wish = {"omfattning": EVERYTHING, "dagar": 30}
    app.refuse("consent without a key", "POST", CONSENTS, 401, "nyckel_ogiltig", json=wish)
    app.log_in("log in")
    wish = {"omfattning": ["lan"], "dagar": 30}
    app.refuse("consent for loans", "POST", CONSENTS, 422, "ogiltiga_uppgifter", "omfattning", json=wish)
    consent = app.ask("consent", EVERYTHING, 30)
    ref = app.start("start the identification", f"{CONSENTS}/{consent}/legitimering")
    app.poll("identification waits", ref, consent, "vantar", "oklart", kundnyckel=None)
    app.mistype("customer mistypes the code", ref, "407139")
    app.decide("customer agrees", ref, "signera")
    key = app.poll("identification is done", ref, consent, "klar", "galler", kundnyckel=re.compile(r"^\w{26}$"))
    accounts = app.accounts("accounts", key, 2, "Astrid Lindqvist")
    account, savings = accounts.find("konton.0.kontoId"), accounts.find("konton.1.kontoId")
    booked = ore(app.balances("balances", account, key, reserverat=0), "saldon.bokfort")
    query = {"fran": app.day(-80), "till": app.day(-1), "storlek": "5"}
    paging: dict[str, Any] = {"bladdring__storlek": 5, "bladdring__sida": 1, "bladdring__nasta": re.compile("sida=2")}
    app.rows("transactions", account, key, query, 5, **paging)
    query["sida"] = "2"
    app.rows("more transactions", account, key, query, 5, bladdring__storlek=5, bladdring__sida=2)
    app.refuse("unknown account", "GET", f"{ACCOUNTS}/K000000000/saldon", 404, "finns_inte", customer=key)

    energy = ("Vänerkraft AB", "5821-3307")
    bill = app.bill(account, ("Vänerkraft AB", "5821-3308"), "1845,50", "Faktura 20418")
    place = "mottagare.bankgiro"
    app.refuse("wrong bankgiro", "POST", PAYMENTS, 422, "ogiltiga_uppgifter", place, customer=key, json=bill)
    bill = app.bill(account, energy, "26 000,00", "Faktura 20418")
    members = {"fel.kod": "dagsgrans_overskriden", "fel.kvar.varde": "25 000,00", "fel.kvar.valuta": "SEK"}
    app.call("payment above the limit", "POST", PAYMENTS, 422, members, customer=key, json=bill)
    bill = app.bill(account, energy, "1845,50", "Faktura 20418")
    payment = app.pay("payment", key, bill, 184_550)
    ref = app.start("start the signature", f"{PAYMENTS}/{payment}/signering")
    app.decide("customer signs the payment", ref, "signera")
    members = {
        "kommande.#": 1,
        "antal": 1,
        "summa.varde": "1 845,50",
        "kommande.0.betalningsId": payment,
        "kommande.0.lage": "signerat",
        "kommande.0.mottagare.namn": "Vänerkraft AB",
        "kommande.0.belopp.varde": "1 845,50",
    }
    app.call("pending payments", "GET", PENDING, 200, members, customer=key)
    left = booked - 184_550
    app.balances("balances meanwhile", account, key, bokfort=booked, reserverat=184_550, disponibelt=left)
    wait(timedelta(minutes=6))
    app.follow("payment is booked", payment, "bokfort")
    path = f"{PAYMENTS}/{payment}/makulering"
    app.call("cancel it too late", "PUT", path, 409, {"fel.kod": "kan_inte_makuleras", "fel.lage": "bokfort"})
    query = {"minst": "1 845,50", "sok": "vänerkraft"}
    row: dict[str, Any] = {"rorelser__0__text": "Vänerkraft AB", "rorelser__0__belopp__varde": "-1 845,50"}
    row |= {"rorelser__0__typ": "bankgiro", "bladdring__totaltAntal": 1}
    app.rows("payment among the transactions", account, key, query, 1, **row)
    app.transfer("transfer to savings", key, (account, savings), "2 500,00", 250_000, "Semester")
    left -= 250_000
    app.balances("balances afterwards", account, key, bokfort=left, reserverat=0, disponibelt=left)

    club = ("Karlstads Roddklubb", "338-1621")
    later = app.pay("payment for next week", key, app.bill(account, club, "640,00", "Avgift", app.day(7)), 64_000)
    app.cancel("cancel it", later)
    other = app.pay("another payment", key, app.bill(account, club, "715,25", "Avgift vår"), 71_525)
    ref = app.start("start its signature", f"{PAYMENTS}/{other}/signering")
    app.decide("customer declines the payment", ref, "avbryt")
    app.poll("signature has failed", ref, other, "misslyckad", "avbojt", orsak="kunden_avbrot")
    app.call("withdraw the consent", "DELETE", f"{CONSENTS}/{consent}", 204)
    members = {"medgivande.medgivandeId": consent, "medgivande.lage": "aterkallat"}
    app.call("consent is withdrawn", "GET", f"{CONSENTS}/{consent}", 200, members)
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "medgivande_galler_inte", customer=key)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = VanernApp(walk, "197511068274", "582640")
    app.log_in("log in")
    narrow = app.ask("consent for balances", ["konton", "saldon"], 40)
    consent = app.ask("consent", ["betalningar", "rorelser", "saldon", "konton"], 5)
    ref, no = (
        app.start("start the second", f"{CONSENTS}/{consent}/legitimering"),
        app.start("start the first", f"{CONSENTS}/{narrow}/legitimering"),
    )
    app.mistype("customer mistypes the code", no, "582604")
    app.decide("customer declines the first", no, "avbryt")
    app.decide("customer agrees to the second", ref, "signera")
    key = app.poll("second is done", ref, consent, "klar", "galler", kundnyckel=str)
    app.poll("first has failed", no, narrow, "misslyckad", "avbojt", kundnyckel=None, orsak="kunden_avbrot")
    members = {"konton.0.kontoId": re.compile(r"^K[0-9A-Z]{9}$"), "konton.1.kontoId": str, "antal": int}
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, customer=key)
    account, bills = accounts.find("konton.0.kontoId"), accounts.find("konton.1.kontoId")
    before = app.balances("balances", account, key, reserverat=0)
    booked = ore(before, "saldon.bokfort")
    query = {"fran": app.day(-70), "storlek": "3", "sida": "2"}
    app.rows("second page of transactions", account, key, query, 3, bladdring__storlek=3, bladdring__sida=2)
    members = {"kommande.#": 0, "antal": 0, "summa.varde": "0,00"}
    app.call("nothing is pending", "GET", PENDING, 200, members, customer=key)

    roof, school = ("Hammarö Plåt & Tak", "5174-6626"), ("Kulturskolan", "991-2379")
    bill = app.bill(account, roof, "13 000,00", "Takränna", app.day(-2))
    app.refuse("payment in the past", "POST", PAYMENTS, 422, "ogiltiga_uppgifter", "betaldag", customer=key, json=bill)
    paid = app.pay("payment", key, app.bill(account, roof, "13000,00", "Takränna"), 1_300_000)
    refused = app.pay("payment to decline", key, app.bill(account, school, "925,50", "Piano"), 92_550)
    later_bill = app.bill(account, school, "1 210,00", "Fiol", app.day(12))
    later = app.pay("payment for later", key, later_bill, 121_000)
    no, yes = (
        app.start("start to sign the second", f"{PAYMENTS}/{refused}/signering"),
        app.start("start to sign the first", f"{PAYMENTS}/{paid}/signering"),
    )
    app.decide("customer signs the payment", yes, "signera")
    app.decide("customer declines the other", no, "avbryt")
    bill = app.bill(account, roof, "12500,00", "Tak")
    members = {"fel.kod": "dagsgrans_overskriden", "fel.kvar.varde": "12 000,00"}
    app.call("two payments above the limit", "POST", PAYMENTS, 422, members, customer=key, json=bill)
    app.decide(
        "customer signs the later one", app.start("start to sign the third", f"{PAYMENTS}/{later}/signering"), "signera"
    )
    members = {
        "kommande.#": 2,
        "antal": 2,
        "summa.varde": "14 210,00",
        "kommande.0.betalningsId": paid,
        "kommande.1.betalningsId": later,
        "kommande.1.lage": "signerat",
        "kommande.1.belopp.varde": "1 210,00",
    }
    app.call("two payments are pending", "GET", PENDING, 200, members, customer=key)
    app.cancel("cancel the later one", later)
    left = booked - 1_300_000
    app.balances("balances meanwhile", account, key, bokfort=booked, reserverat=1_300_000, disponibelt=left)
    wait(timedelta(minutes=9))
    app.follow("payment is booked", paid, "bokfort")
    app.follow("other payment is declined", refused, "avbojt")
    app.transfer("transfer to the account for bills", key, (account, bills), "3175,00", 317_500, "Juni")
    left -= 317_500
    app.balances("balances afterwards", account, key, bokfort=left, reserverat=0, disponibelt=left)
    row: dict[str, Any] = {"rorelser__0__text": "Hammarö Plåt & Tak", "rorelser__0__belopp__varde": "-13 000,00"}
    row |= {"rorelser__0__typ": "bankgiro", "bladdring__totaltAntal": 1}
    app.rows("payment among the transactions", account, key, {"sok": "plåt", "fran": app.day(-1)}, 1, **row)
    wait(7 * DAY)
    app.refuse("key has expired", "GET", ACCOUNTS, 401, "nyckel_ogiltig", customer=key)
    app.log_in("log in again")
    app.refuse("consent has ended", "GET", ACCOUNTS, 403, "medgivande_galler_inte", customer=key)
    return walk.steps
