"""Two journeys for Skagen. The app knows its credentials; the customers know their names, passwords and payees."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BASE = "/aaben/v2"
GRANTS, KEYS, ACCOUNTS, PAYMENTS = f"{BASE}/fuldmagter", f"{BASE}/noegler", f"{BASE}/konti", f"{BASE}/betalinger"
BACK = "https://regnebraet.example/tilbage"
ALL = ["konti", "saldo", "posteringer", "betaling"]
APPROVE = re.compile(r"^/netbank/godkend\?sag=\w{20}$")
ACCOUNT = re.compile(r"^8460-\d{10}$")
DATE = re.compile(r"^\d{4}-\d\d-\d\d$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


def kroner(answer: Answer, place: str) -> float:
    """The number at this place, or 0."""
    value = answer.find(place)
    return value if isinstance(value, int | float) else 0


class SkagenApp:
    def __init__(self, walk: Walk, user: str, password: str) -> None:
        self.walk, self._user, self._password = walk, user, password
        self._key: Any = None
        self.renewal: Any = None

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
        is_signed: bool = True,
        **request: Any,
    ) -> Answer:
        """Send the app's credentials to what is between it and the bank, and the customer's key to all else."""
        trace = str(uuid5(NAMESPACE_URL, f"{self._user} {name}"))
        headers = {"Skagen-Sporing": trace}
        if path.startswith((GRANTS, KEYS)):
            if is_signed:
                request["auth"] = ("regnebraet", "havblik-77")
        elif is_signed:
            headers["Authorization"] = f"Bearer {self._key}"
        expected = {"@Skagen-Sporing": trace, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        word: str,
        place: str | None = None,
        more: Expected | None = None,
        **request: Any,
    ) -> None:
        members = {"fejl.#": 1, "fejl.0.kode": word, "fejl.0.felt": place, "fejl.0.tekst": str, "sporing": str}
        members |= {f"fejl.0.{name}": value for name, value in (more or {}).items()}
        self.call(name, method, path, status, members, **request)

    def wish(self, rights: list[str], days: int, reference: str) -> dict[str, Any]:
        return {"rettigheder": rights, "dage": days, "retur": BACK, "reference": reference}

    def ask(self, name: str, rights: list[str], days: int, reference: str) -> tuple[Any, Any]:
        """Return the id of the fuldmagt and the customer's page."""
        members = {
            "fuldmagtId": re.compile(r"^FM-[A-Z0-9]{8}$"),
            "status": "afventer",
            "oprettet": TIME,
            "rettigheder": rights,
            "gyldigTil": self.day(days),
            "reference": reference,
            "godkendUrl": APPROVE,
        }
        made = self.call(name, "POST", GRANTS, 201, members, json=self.wish(rights, days, reference))
        return made.find("fuldmagtId"), made.find("godkendUrl")

    def look(self, name: str, grant: Any, status: str, members: Expected | None = None) -> None:
        told = {"fuldmagtId": grant, "status": status, "godkendUrl": None, **(members or {})}
        self.call(name, "GET", f"{GRANTS}/{grant}", 200, told)

    def take_key(self, name: str, sent: dict[str, Any], grant: Any) -> None:
        members = {"noegle": re.compile(r"^\w{40}$"), "type": "Bearer", "sekunder": 1800, "fornyelse": str}
        members |= {"fuldmagtId": grant, "@Cache-Control": "no-store"}
        given = self.call(name, "POST", KEYS, 200, members, json=sent)
        self._key, self.renewal = given.find("noegle"), given.find("fornyelse")

    def renew(self, name: str, grant: Any) -> None:
        self.take_key(name, {"fornyelse": self.renewal}, grant)

    def payment(self, payer: Any, payee: dict[str, str], amount: float, text: str, own: str) -> dict[str, Any]:
        sent = {"eksternId": own, "fraKonto": payer, "modtager": payee, "beloeb": amount}
        return sent | {"tekst": text, "retur": BACK}

    def pay(self, name: str, payment: dict[str, Any]) -> tuple[Any, Any]:
        """Return the payment's id and the customer's page."""
        members = {"dato": self.day(0)} | {place: value for place, value in payment.items() if place != "retur"}
        members |= {"betalingId": re.compile(r"^BT\d{11}$"), "status": "afventer", "valuta": "DKK"}
        members |= {"oprettet": TIME, "godkendUrl": APPROVE}
        made = self.call(name, "POST", PAYMENTS, 201, members, json=payment)
        return made.find("betalingId"), made.find("godkendUrl")

    def refuse_payment(
        self, name: str, payment: dict[str, Any], word: str, place: str, status: int = 422, **more: Any
    ) -> None:
        self.refuse(name, "POST", PAYMENTS, status, word, place, more, json=payment)

    def follow(self, name: str, payment: Any, status: str) -> None:
        members = {"betalingId": payment, "status": status, "godkendUrl": None}
        self.call(name, "GET", f"{PAYMENTS}/{payment}", 200, members)

    def cancel(self, name: str, payment: Any) -> None:
        members = {"betalingId": payment, "status": "annulleret", "godkendUrl": None}
        self.call(name, "PATCH", f"{PAYMENTS}/{payment}", 200, members, json={"status": "annulleret"})

    def balance(self, name: str, account: Any, booked: Any = float, available: Any = float) -> Answer:
        members = {"kontoId": account, "bogfoert": booked, "disponibelt": available, "valuta": "DKK"}
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/saldo", 200, members | {"tidspunkt": TIME})

    def decide(self, name: str, page: Any, told: str, answer: str = "godkend", more: str = "") -> Any:
        """Return the receipt, if there is one."""
        form = {"brugernavn": self._user, "adgangskode": self._password, "svar": answer}
        result = {"godkend": "godkendt", "afvis": "afvist"}[answer]
        members = {"@Location": re.compile(f"^{re.escape(f'{BACK}?{told}&resultat={result}')}{more}$")}
        back = self.walk.step(name, "POST", page, 302, members, data=form).find("@Location")
        return parse_qs(urlsplit(back or "").query).get("kvittering", [None])[0]

    def mistype(self, name: str, page: Any, password: str) -> None:
        form = {"brugernavn": self._user, "adgangskode": password, "svar": "godkend"}
        members = PAGE | {"page": re.compile("Brugernavn eller adgangskode er forkert")}
        self.walk.step(name, "POST", page, 200, members, data=form)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SkagenApp(walk, "mette.kragh", "Fyrtaarn1858")
    wish = app.wish(ALL, 90, "mette-1")
    app.refuse("fuldmagt without credentials", "POST", GRANTS, 401, "APP_UKENDT", json=wish, is_signed=False)
    unknown = app.wish(["konti", "depoter"], 90, "mette-1")
    app.refuse("fuldmagt for deposits", "POST", GRANTS, 422, "FELT_UGYLDIGT", "rettigheder", json=unknown)
    grant, page = app.ask("fuldmagt", ALL, 90, "mette-1")
    members: dict[str, Any] = PAGE | {"page": re.compile("regnebraet beder om: konti, saldo, posteringer, betaling")}
    walk.step("customer's page", "GET", page, 200, members)
    app.mistype("customer mistypes the password", page, "Fyrtaarn1885")
    receipt = app.decide("customer approves", page, f"fuldmagt={grant}", more=r"&reference=mette-1&kvittering=\w{24}")
    app.look("fuldmagt is active", grant, "aktiv", {"kunde": "Mette Kragh", "gyldigTil": app.day(90)})
    app.take_key("key", {"kvittering": receipt}, grant)
    used = {"kvittering": receipt}
    app.refuse("same receipt again", "POST", KEYS, 400, "KVITTERING_UGYLDIG", "kvittering", json=used)

    members = {
        "antal": 2,
        "konti.#": 2,
        "konti.0.kontoId": ACCOUNT,
        "konti.0.navn": "Lønkonto",
        "konti.0.type": "loen",
        "konti.0.kredit": 5000,
        "konti.0.ejer": "Mette Kragh",
        "konti.1.valuta": "DKK",
    }
    account = app.call("accounts", "GET", ACCOUNTS, 200, members).find("konti.0.kontoId")
    before = app.balance("balance", account)
    booked, available = kroner(before, "bogfoert"), kroner(before, "disponibelt")
    entries = f"{ACCOUNTS}/{account}/posteringer"
    query = {"fra": app.day(-75), "til": app.day(-1), "antal": "10"}
    members = {
        "kontoId": account,
        "posteringer.#": 10,
        "posteringer.0.posteringId": re.compile(r"^\d{14}$"),
        "posteringer.0.dato": DATE,
        "posteringer.0.beloeb": float,
        "posteringer.0.saldo": booked,
        "side": 1,
        "sider": int,
        "ialt": int,
        "naeste": re.compile(f"^{entries}\\?.*side=2$"),
    }
    onward = app.call("transactions", "GET", entries, 200, members, params=query).find("naeste")
    members = {"kontoId": account, "posteringer.#": 10, "posteringer.9.saldo": float, "side": 2}
    app.call("more transactions", "GET", str(onward), 200, members)
    app.refuse(
        "transactions of long ago",
        "GET",
        entries,
        400,
        "PARAMETER_UGYLDIG",
        "fra",
        params={"fra": app.day(-500)},
    )
    nowhere = f"{ACCOUNTS}/8460-9999999999/saldo"
    app.refuse("balance of an unknown account", "GET", nowhere, 404, "FINDES_IKKE", "kontoId")

    landlord = {"konto": "3409-0011223344", "navn": "Klitgården Udlejning"}
    rent = app.payment(account, landlord, 6250.5, "Husleje juni", "husleje-06")
    much = rent | {"beloeb": 50_000.01}
    app.refuse_payment("payment above the limit", much, "BELOEB_OVER_GRAENSE", "beloeb", graense=50_000)
    wrong = rent | {"modtager": landlord | {"konto": "3409-11223"}}
    app.refuse_payment("payment to a wrong account", wrong, "FELT_UGYLDIGT", "modtager.konto")
    app.refuse_payment("payment without cover", rent | {"beloeb": 48_000}, "DAEKNING_MANGLER", "beloeb")
    paid, page = app.pay("payment", rent)
    members = PAGE | {"page": re.compile(f"6250,50 kr. fra {account}: Husleje juni")}
    walk.step("page of the payment", "GET", page, 200, members)
    app.decide("customer approves the payment", page, f"betaling={paid}")
    app.follow("payment is approved", paid, "godkendt")
    left = round(available - 6250.5, 2)
    app.balance("balance with the amount reserved", account, booked, left)
    again = rent | {"beloeb": 100}
    app.refuse_payment("payment with a used name", again, "DUBLET", "eksternId", 409, betalingId=paid)
    wait(timedelta(minutes=3))
    app.follow("payment is sent", paid, "sendt")
    path, more, stop = f"{PAYMENTS}/{paid}", {"aktuelStatus": "sendt"}, {"status": "annulleret"}
    app.refuse("cancel it too late", "PATCH", path, 409, "ANNULLERING_IKKE_MULIG", more=more, json=stop)
    wait(timedelta(minutes=18))
    app.follow("payment is done", paid, "gennemfoert")
    app.balance("balance after", account, round(booked - 6250.5, 2), left)
    members = {
        "posteringer.#": 1,
        "posteringer.0.dato": app.day(0),
        "posteringer.0.type": "overfoersel",
        "posteringer.0.tekst": "Husleje juni",
        "posteringer.0.beloeb": -6250.5,
        "posteringer.0.saldo": round(booked - 6250.5, 2),
        "sider": 1,
        "naeste": None,
    }
    app.call("transactions after", "GET", entries, 200, members, params={"fra": app.day(0)})

    slip = {"kort": "71", "betalingsId": "000000123456782", "kreditorNr": "85674321"}
    power = app.payment(account, slip, 842.75, "El 2. kvartal", "el-2") | {"dato": app.day(3)}
    stopped, page = app.pay("payment slip for later", power)
    app.decide("customer approves the slip", page, f"betaling={stopped}")
    app.cancel("cancel the slip", stopped)
    declined, page = app.pay("payment to decline", app.payment(account, landlord, 300, "Vask", "vask-1"))
    app.decide("customer declines the payment", page, f"betaling={declined}", "afvis")
    app.follow("payment is declined", declined, "afvist")
    other, page = app.ask("another fuldmagt", ["konti", "saldo"], 30, "mette-2")
    app.decide("customer declines the fuldmagt", page, f"fuldmagt={other}", "afvis", "&reference=mette-2")
    app.look("other fuldmagt is declined", other, "afvist")
    wait(timedelta(minutes=12))
    app.refuse("key has expired", "GET", ACCOUNTS, 401, "NOEGLE_UDLOEBET")
    app.renew("new key", grant)
    members = {"fuldmagtId": grant, "status": "tilbagekaldt"}
    app.call("withdraw the fuldmagt", "DELETE", f"{GRANTS}/{grant}", 200, members)
    more = {"aktuelStatus": "tilbagekaldt"}
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "FULDMAGT_IKKE_AKTIV", more=more)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = SkagenApp(walk, "jens.ancher", "Grenen-to-have")
    long = app.wish(ALL, 365, "jens-a")
    more: dict[str, Any] = {"graense": 180}
    app.refuse("fuldmagt for a year", "POST", GRANTS, 422, "FELT_UGYLDIGT", "dage", more, json=long)
    narrow, no = app.ask("fuldmagt to decline", ["posteringer"], 60, "jens-b")
    grant, yes = app.ask("fuldmagt", ["betaling", "konti", "posteringer", "saldo"], 10, "jens-c")
    members: dict[str, Any] = PAGE | {"page": re.compile("regnebraet beder om: betaling, konti, posteringer, saldo")}
    walk.step("page of the second", "GET", yes, 200, members)
    receipt = app.decide(
        "customer approves the second", yes, f"fuldmagt={grant}", more=r"&reference=jens-c&kvittering=\w{24}"
    )
    app.mistype("customer mistypes the password", no, "Grenen")
    app.decide("customer declines the first", no, f"fuldmagt={narrow}", "afvis", "&reference=jens-b")
    app.look("first is declined", narrow, "afvist")
    walk.step("page of the first", "GET", no, 410, PAGE | {"page": re.compile("Sagen er afsluttet")})
    app.take_key("key", {"kvittering": receipt}, grant)
    app.look("second is active", grant, "aktiv", {"kunde": "Jens Ancher"})

    members = {"antal": 3, "konti.1.kontoId": ACCOUNT, "konti.1.navn": "Lønkonto", "konti.1.kredit": 10_000}
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members | {"konti.2.kontoId": ACCOUNT})
    account, savings = accounts.find("konti.1.kontoId"), accounts.find("konti.2.kontoId")
    entries = f"{ACCOUNTS}/{account}/posteringer"
    query = {"fra": app.day(-60), "antal": "4"}
    members = {
        "kontoId": account,
        "posteringer.#": 4,
        "posteringer.0.posteringId": re.compile(r"^\d{14}$"),
        "posteringer.3.tekst": str,
        "side": 1,
        "naeste": re.compile(r"side=2$"),
    }
    onward = app.call("transactions", "GET", entries, 200, members, params=query).find("naeste")
    app.call("next page", "GET", str(onward), 200, {"posteringer.#": 4, "side": 2, "sider": int})
    before = app.balance("balance", account)
    booked, available = kroner(before, "bogfoert"), kroner(before, "disponibelt")
    saved = kroner(app.balance("balance of the savings", savings), "bogfoert")

    yard = {"konto": "9070-1620045871", "navn": "Skagen Bådeværft"}
    slip = {"kort": "71", "betalingsId": "000000987654324", "kreditorNr": "81234567"}
    paint = app.payment(account, yard, 1895, "Bundmaling", "baad-1")
    much = paint | {"beloeb": round(available + 0.01, 2)}
    app.refuse_payment("payment an øre without cover", much, "DAEKNING_MANGLER", "beloeb")
    app.refuse_payment("payment of nothing", paint | {"beloeb": 0}, "FELT_UGYLDIGT", "beloeb")
    insured, slip_page = app.pay("payment slip", app.payment(account, slip, 2310.4, "Forsikring", "fors-1"))
    own = {"konto": str(savings), "navn": "Jens Ancher"}
    moved, own_page = app.pay("payment to the savings", app.payment(account, own, 1500, "Til båden", "spar-1"))
    stopped, paint_page = app.pay("payment to cancel", paint)
    later = app.payment(account, yard, 725.25, "Havnleje", "havn-1") | {"dato": app.day(2)}
    due, later_page = app.pay("payment for later", later)
    app.decide("customer approves the slip", slip_page, f"betaling={insured}")
    app.decide("customer approves the paint", paint_page, f"betaling={stopped}")
    app.decide("customer approves the later one", later_page, f"betaling={due}")
    app.balance("balance with two amounts reserved", account, booked, round(available - 4205.4, 2))
    app.cancel("cancel the paint", stopped)
    app.decide("customer approves the savings", own_page, f"betaling={moved}")
    left = round(available - 3810.4, 2)
    app.balance("balance with the others reserved", account, booked, left)
    wait(timedelta(minutes=6))
    app.follow("slip is sent", insured, "sendt")
    app.follow("later one is approved", due, "godkendt")
    wait(timedelta(minutes=15))
    app.follow("slip is done", insured, "gennemfoert")
    app.balance("balance after", account, round(booked - 3810.4, 2), left)
    app.balance("savings after", savings, round(saved + 1500, 2), round(saved + 1500, 2))
    wait(timedelta(minutes=9))
    app.refuse("key has expired", "GET", f"{PAYMENTS}/{due}", 401, "NOEGLE_UDLOEBET")
    wait(2 * DAY)
    old = {"fornyelse": app.renewal}
    app.renew("new key", grant)
    app.refuse("same renewal again", "POST", KEYS, 400, "NOEGLE_UGYLDIG", "fornyelse", json=old)
    app.follow("later one is done", due, "gennemfoert")
    members = {"posteringer.#": 1, "posteringer.0.beloeb": -725.25, "posteringer.0.tekst": "Havnleje", "naeste": None}
    app.call("transactions after", "GET", entries, 200, members, params={"fra": app.day(-1)})
    wait(9 * DAY)
    app.look("fuldmagt has lapsed", grant, "udloebet")
    return walk.steps
