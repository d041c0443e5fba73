"""Two journeys at Kataja; see `journeys`."""

import re
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://kukkaro.example/paluu"
LINK = re.compile(r"/vahvista/\w{22}$")
MOMENT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
DAY_FORM = re.compile(r"^\d\d\.\d\d\.\d{4}$")


class KatajaApp:
    def __init__(self, walk: Walk, kayttajatunnus: str, tunnusluku: str) -> None:
        self.walk = walk
        self._login = {"kayttajatunnus": kayttajatunnus, "tunnusluku": tunnusluku}
        self._key: Any = None

    def day(self, days: int = 0) -> str:
        return f"{self.walk.now + days * DAY:%d.%m.%Y}"

    def _send(self, name: str, method: str, path: str, status: int, members: Expected, **request: Any) -> Answer:
        named = str(uuid5(NAMESPACE_URL, f"{self._login['kayttajatunnus']} {name}"))
        headers = {"X-Pyynto": named, **request.pop("headers", {})}
        expected = {"@X-Pyynto": named, **members}
        return self.walk.step(name, method, f"/rajapinta/{path}", status, expected, headers=headers, **request)

    def enter(self, name: str) -> None:
        members = {"avain": re.compile(r"^\w{40}$"), "tyyppi": "Bearer", "voimassa_s": 1800}
        auth, form = ("kukkaro", "mustikkapiirakka"), {"tyyppi": "sovellus"}
        self._key = self._send(name, "POST", "avain", 200, members, auth=auth, data=form).find("avain")

    def enter_wrong(self, name: str, secret: str) -> None:
        members = {"virhe.koodi": "SOVELLUS_TUNTEMATON", "virhe.viesti": str, "hetki": MOMENT}
        self._send(name, "POST", "avain", 401, members, auth=("kukkaro", secret), data={"tyyppi": "sovellus"})

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        lupa: Any = None,
        **request: Any,
    ) -> Answer:
        headers = {"Authorization": f"Bearer {self._key}", **({"X-Lupa": str(lupa)} if lupa else {})}
        return self._send(name, method, path, status, members or {}, headers=headers, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        code: Any,
        lupa: Any = None,
        told: Expected | None = None,
        **request: Any,
    ) -> None:
        more = {f"virhe.{member}": value for member, value in (told or {}).items()}
        expected = {"virhe.koodi": code, "virhe.viesti": str, "hetki": MOMENT, **more}
        self.call(name, method, path, status, expected, lupa=lupa, **request)

    def ask(self, name: str, days: int, *rights: str) -> tuple[Any, Any]:
        """Ask for a permission. Return its id and its link."""
        members: Expected = {
            "tunnus": re.compile(r"^LU-\d{4}-\d{4}$"),
            "tila": "ODOTTAA",
            "oikeudet": list(rights),
            "paattyy": self.day(days),
            "asiakas": None,
            "luotu": MOMENT,
            "vahvistus": LINK,
        }
        document = {"oikeudet": list(rights), "voimassa_pv": days, "paluu": BACK}
        asked = self.call(name, "POST", "luvat", 201, members, json=document)
        return asked.find("tunnus"), asked.find("vahvistus")

    def pay(self, name: str, lupa: Any, document: dict[str, Any]) -> tuple[Any, Any]:
        """Order a payment. Return its id and its link."""
        members: Expected = {
            "tunnus": re.compile(r"^MK\d{10}$"),
            "tila": "VAHVISTAMATTA",
            **{member: document[member] for member in ("maksaja", "saaja", "maara", "viesti")},
            "luotu": MOMENT,
            "vahvistus": LINK,
        }
        ordered = self.call(name, "POST", "maksut", 201, members, lupa=lupa, json=document)
        return ordered.find("tunnus"), ordered.find("vahvistus")

    def decide(self, name: str, link: Any, asked: Any, state: str) -> None:
        """Decide as the customer, who is sent back with the new state."""
        kind = "lupa" if str(asked).startswith("LU") else "maksu"
        form = {**self._login, "paatos": "hylkaa" if state == "HYLATTY" else "hyvaksy"}
        back = re.compile(f"^{re.escape(BACK)}\\?{kind}={asked}&tila={state}$")
        self.walk.step(name, "POST", link, 303, {"@Location": back}, data=form)

    def mistype(self, name: str, link: Any) -> None:
        form = {**self._login, "tunnusluku": "0000", "paatos": "hyvaksy"}
        members = PAGE | {"page": re.compile("Käyttäjätunnus tai tunnusluku on väärä")}
        self.walk.step(name, "POST", link, 401, members, data=form)

    def look(self, name: str, kind: str, key: Any, state: str, members: Expected | None = None) -> None:
        self.call(name, "GET", f"{kind}/{key}", 200, {"tunnus": key, "tila": state, **(members or {})})

    def balance(self, name: str, lupa: Any, account: dict[str, Any], members: Expected | None = None) -> int:
        """Return the cents that are booked."""
        expected = {"iban": account.get("iban"), "kirjattu.valuutta": "EUR", "hetki": MOMENT, **(members or {})}
        told = self.call(name, "GET", f"tilit/{account.get('tunnus')}/saldo", 200, expected, lupa=lupa)
        cents = told.find("kirjattu.sentit")
        return cents if isinstance(cents, int) else 0


def euros(cents: int) -> dict[str, Any]:
    return {"sentit": cents, "valuutta": "EUR"}


def saldo(booked: int, available: int) -> Expected:
    return {"kirjattu": euros(booked), "kaytettavissa": euros(available)}


def first_account(told: Answer) -> dict[str, Any]:
    account = told.find("tilit.0")
    return account if isinstance(account, dict) else {}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = KatajaApp(walk, "40718263", "5519")
    app.enter_wrong("wrong secret", "puolukka")
    app.enter("key")
    lupa, link = app.ask("permission to decline", 7, "tilit", "saldot")
    members: Expected = PAGE | {
        "page": re.compile(r'name="kayttajatunnus".*name="tunnusluku".*name="paatos" value="hylkaa"')
    }
    walk.step("customer's page", "GET", link, 200, members)
    app.decide("customer declines", link, lupa, "HYLATTY")
    app.refuse("accounts of it", "GET", "tilit", 403, "LUPA_EI_VOIMASSA", lupa, {"tila": "HYLATTY"})

    lupa, link = app.ask("permission", 30, "tilit", "saldot", "tapahtumat", "maksut")
    app.mistype("customer mistypes the code", link)
    app.decide("customer grants", link, lupa, "VOIMASSA")
    granted = {"asiakas": "Aino Korhonen", "paattyy": DAY_FORM, "vahvistus": None}
    app.look("permission is valid", "luvat", lupa, "VOIMASSA", granted)
    members = {"yhteensa": 2, "tilit.#": 2, "tilit.0.nimi": "Käyttötili", "tilit.0.valuutta": "EUR"}
    account = first_account(app.call("accounts", "GET", "tilit", 200, members, lupa=lupa))
    app.refuse("unknown account", "GET", "tilit/0123456789abcdef/saldo", 404, "EI_LOYDY", lupa)
    cents = app.balance("balance", lupa, account)
    rows = f"tilit/{account.get('tunnus')}/tapahtumat"
    members = {
        "tapahtumat.#": 10,
        "sivu": 1,
        "sivuja": 3,
        "yhteensa": 24,
        "tapahtumat.0.kirjauspaiva": DAY_FORM,
        "tapahtumat.0.suunta": re.compile("^(OTTO|PANO)$"),
        "tapahtumat.0.maara.sentit": int,
        "tapahtumat.0.osapuoli": str,
        "tapahtumat.0.arkistotunnus": re.compile(r"^\d{18}$"),
    }
    app.call("transactions", "GET", rows, 200, members, lupa=lupa)
    members = {"tapahtumat.#": 4, "sivu": 2, "sivuja": 2, "yhteensa": 24}
    app.call("second page of 20", "GET", rows, 200, members, lupa=lupa, params={"sivu": "2", "koko": "20"})

    payment = {
        "maksaja": {"iban": account.get("iban")},
        "saaja": {"nimi": "Asunto Oy Kanerva", "iban": "FI2112345600000785"},
        "maara": euros(64_250),
        "viesti": "Vastike A12",
        "paluu": BACK,
    }
    much = payment | {"maara": euros(cents + 1)}
    app.refuse("payment without cover", "POST", "maksut", 422, "KATE_EI_RIITA", lupa, json=much)
    wrong = payment | {"saaja": {"nimi": "Asunto Oy Kanerva", "iban": "FI2112345600000786"}}
    app.refuse("payment to a wrong IBAN", "POST", "maksut", 400, "KENTTA", lupa, {"kentta": "saaja.iban"}, json=wrong)
    maksu, link = app.pay("payment", lupa, payment)
    app.decide("customer confirms the payment", link, maksu, "VAHVISTETTU")
    app.look("payment is confirmed", "maksut", maksu, "VAHVISTETTU", {"vahvistus": None, "suoritettu": None})
    app.balance("balance with the money held", lupa, account, saldo(cents, cents - 64_250))
    wait(timedelta(minutes=3))
    app.refuse("too late to cancel", "DELETE", f"maksut/{maksu}", 409, "VAARA_TILA", told={"tila": "KASITTELYSSA"})
    wait(timedelta(minutes=14))
    app.look("payment is executed", "maksut", maksu, "SUORITETTU", {"suoritettu": MOMENT})
    left = cents - 64_250
    app.balance("balance after it", lupa, account, saldo(left, left))
    members = {
        "tapahtumat.#": 1,
        "sivuja": 1,
        "yhteensa": 1,
        "tapahtumat.0.kirjauspaiva": app.day(),
        "tapahtumat.0.suunta": "OTTO",
        "tapahtumat.0.maara": euros(64_250),
        "tapahtumat.0.osapuoli": "Asunto Oy Kanerva",
        "tapahtumat.0.viesti": "Vastike A12",
    }
    today = {"alku": app.day(), "loppu": app.day()}
    app.call("transactions of today", "GET", rows, 200, members, lupa=lupa, params=today)
    payment |= {"saaja": {"nimi": "Matti Laine", "iban": "FI1410093000123458"}, "viesti": "Mökkiviikko"}
    maksu, _ = app.pay("payment to cancel", lupa, payment | {"maara": euros(12_000)})
    app.call("cancel it", "DELETE", f"maksut/{maksu}", 200, {"tunnus": maksu, "tila": "PERUTTU", "vahvistus": None})
    maksu, link = app.pay("payment to decline", lupa, payment | {"maara": euros(9_900)})
    app.decide("customer declines the payment", link, maksu, "HYLATTY")

    other, _ = app.ask("permission to take back", 5, "tilit")
    app.call("take it back", "DELETE", f"luvat/{other}", 200, {"tunnus": other, "tila": "PERUTTU", "vahvistus": None})
    wait(31 * DAY)
    app.refuse("key has expired", "GET", "tilit", 401, "AVAIN_VANHENTUNUT", lupa)
    app.enter("another key")
    app.refuse("permission has expired", "GET", "tilit", 403, "LUPA_EI_VOIMASSA", lupa, {"tila": "VANHENTUNUT"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = KatajaApp(walk, "40993157", "2086")
    app.enter("key")
    app.refuse("unknown permission", "GET", "luvat/LU-0000-0000", 404, "EI_LOYDY")
    without = {"oikeudet": ["tilit"], "paluu": BACK}
    app.refuse("permission without days", "POST", "luvat", 400, "KENTTA", None, {"kentta": "voimassa_pv"}, json=without)
    view, view_link = app.ask("permission for balances", 3, "tilit", "saldot")
    app.refuse("accounts too early", "GET", "tilit", 403, "LUPA_EI_VOIMASSA", view, {"tila": "ODOTTAA"})
    lupa, link = app.ask("permission for payments", 60, "maksut", "tilit", "saldot", "tapahtumat")
    app.decide("customer grants the second", link, lupa, "VOIMASSA")
    app.look("first still waits", "luvat", view, "ODOTTAA", {"vahvistus": view_link})
    app.decide("customer grants the first", view_link, view, "VOIMASSA")
    app.look("first is valid", "luvat", view, "VOIMASSA", {"asiakas": str, "oikeudet.#": 2, "vahvistus": None})
    members: Expected = {"tilit.0.iban": re.compile(r"^FI\d{16}$"), "tilit.0.nimi": str, "yhteensa": int}
    account = first_account(app.call("accounts", "GET", "tilit", 200, members, lupa=view))
    cents = app.balance("balance", view, account)
    rows = f"tilit/{account.get('tunnus')}/tapahtumat"
    app.refuse("transactions outside the permission", "GET", rows, 403, str, view)
    members = {"tapahtumat.#": 5, "sivu": 2, "tapahtumat.4.maara.valuutta": "EUR", "yhteensa": int}
    app.call("second page of 5", "GET", rows, 200, members, lupa=lupa, params={"sivu": "2", "koko": "5"})

    payment = {
        "maksaja": {"iban": account.get("iban")},
        "saaja": {"nimi": "Pyörähuolto Ketju", "iban": "DE89370400440532013000"},
        "maara": euros(8_990),
        "viesti": "Lasku 4471",
        "paluu": BACK,
    }
    much = payment | {"maara": euros(cents + 5_000)}
    app.refuse("payment without cover", "POST", "maksut", 422, "KATE_EI_RIITA", lupa, json=much)
    wrong = payment | {"maara": {"sentit": "89,90", "valuutta": "EUR"}}
    app.refuse("payment with a comma", "POST", "maksut", 400, "KENTTA", lupa, {"kentta": "maara.sentit"}, json=wrong)
    maksu, link = app.pay("payment to decline", lupa, payment)
    app.look("payment is not confirmed", "maksut", maksu, "VAHVISTAMATTA", {"maara": euros(8_990), "vahvistus": link})
    app.decide("customer declines it", link, maksu, "HYLATTY")
    app.look("payment is declined", "maksut", maksu, "HYLATTY", {"vahvistus": None})
    app.refuse("cancel what is declined", "DELETE", f"maksut/{maksu}", 409, "VAARA_TILA", told={"tila": "HYLATTY"})
    maksu, link = app.pay("payment", lupa, payment | {"maara": euros(17_305), "viesti": "Lasku 4472"})
    app.mistype("customer mistypes the code", link)
    app.decide("customer confirms it", link, maksu, "VAHVISTETTU")
    app.balance("balance with the money held", lupa, account, saldo(cents, cents - 17_305))
    wait(timedelta(minutes=4))
    app.look("payment is in progress", "maksut", maksu, "KASITTELYSSA", {"saaja": payment["saaja"]})
    stopped, _ = app.pay("payment to cancel", lupa, payment | {"maara": euros(450)})
    app.call("cancel it", "DELETE", f"maksut/{stopped}", 200, {"tunnus": stopped, "tila": "PERUTTU"})
    wait(timedelta(minutes=15))
    left = cents - 17_305
    app.balance("balance after it", view, account, saldo(left, left))
    app.look("payment is executed", "maksut", maksu, "SUORITETTU", {"suoritettu": MOMENT})
    members = {
        "tapahtumat.#": 1,
        "yhteensa": 1,
        "tapahtumat.0.maara": euros(17_305),
        "tapahtumat.0.suunta": "OTTO",
        "tapahtumat.0.osapuoli": "Pyörähuolto Ketju",
        "tapahtumat.0.viesti": "Lasku 4472",
    }
    app.call("transactions since today", "GET", rows, 200, members, lupa=lupa, params={"alku": app.day()})
    app.call("take the second permission back", "DELETE", f"luvat/{lupa}", 200, {"tunnus": lupa, "tila": "PERUTTU"})
    app.refuse("payment without it", "POST", "maksut", 403, "LUPA_EI_VOIMASSA", lupa, {"tila": "PERUTTU"}, json=payment)
    wait(4 * DAY)
    app.refuse("key has expired", "GET", f"luvat/{view}", 401, "AVAIN_VANHENTUNUT")
    app.enter("another key")
    app.look("first has expired", "luvat", view, "VANHENTUNUT")
    late = f"tilit/{account.get('tunnus')}/saldo"
    app.refuse("balance after that", "GET", late, 403, "LUPA_EI_VOIMASSA", view, {"tila": "VANHENTUNUT"})
    return walk.steps
