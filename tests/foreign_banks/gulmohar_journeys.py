"""Two journeys at Gulmohar; see `journeys`."""

import random
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

INDIA = timedelta(hours=5, minutes=30)
UNKNOWN = "00000000-0000-4000-8000-000000000000"
HANDLE = re.compile(r"^[0-9a-f]{8}-[0-9a-f-]{27}$")


class GulmoharApp:
    def __init__(self, walk: Walk, key: str, secret: str, customer: str, mpin: str) -> None:
        self.walk, self._key, self._secret, self._customer, self._mpin = walk, key, secret, customer, mpin
        self._random = random.Random(key)
        self._token: Any = None

    def day(self, days: int = 0) -> str:
        return (self.walk.now + INDIA + days * DAY).strftime("%d-%m-%Y")

    def txn(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def log_in(self, name: str) -> None:
        members = {"pravesh": re.compile(r"^\w{48}$"), "avadhi": 1800}
        sent = {"kunji": self._key, "gupt": self._secret}
        self._token = self.call(name, "POST", "/gm/login", 200, members, json=sent).find("pravesh")

    def call(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        members: Expected | None = None,
        *,
        use: Any = None,
        without: str = "",
        headers: dict[str, str] | None = None,
        **request: Any,
    ) -> Answer:
        txn = self.txn()
        sent = {"X-Txn-Id": txn, "X-Pravesh": str(self._token or ""), "X-Sahmati": str(use or ""), **(headers or {})}
        sent = {header: value for header, value in sent.items() if value and header != without}
        expected = {"ver": "3.0", "samay": re.compile(r"\+05:30$"), "txnid": sent.get("X-Txn-Id"), **(members or {})}
        url = path if str(path).startswith("/") else f"/gm/v3/{path}"
        return self.walk.step(name, method, url, status, expected, headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        code: str,
        *places: str,
        told: Expected | None = None,
        **request: Any,
    ) -> None:
        more = {f"truti.{member}": value for member, value in (told or {}).items()}
        members = {"truti.sanket": code, "truti.sandesh": str, "truti.kshetra": list(places) or None, **more}
        self.call(name, method, path, status, members, **request)

    def wanted(self, rights: list[str], days: int, purpose: str) -> dict[str, Any]:
        ends = self.day(days)
        return {"grahak": self._customer, "adhikar": rights, "uddeshya": purpose, "antTithi": ends}

    def ask(self, name: str, rights: list[str], days: int, purpose: str) -> Answer:
        members = {"anurodh.handle": HANDLE, "anurodh.sthiti": "LAMBIT", "anurodh.sahmatiId": None}
        members |= {"@Location": re.compile(r"^/gm/v3/sahmati/handle/"), "anurodh.seemaSamay": str}
        return self.call(name, "POST", "sahmati", 201, members, json=self.wanted(rights, days, purpose))

    def on_phone(self, made: Answer, answer: str, mpin: str = "") -> dict[str, Any]:
        id = str(made.find("@Location")).rpartition("/")[2]
        return {"grahak": self._customer, "mpin": mpin or self._mpin, "anurodh": id, "uttar": answer}

    def agree(self, name: str, made: Answer, answer: str = "HAAN") -> None:
        sent = self.on_phone(made, answer)
        self.walk.step(name, "POST", "/gm/parikshan/phone", 204, {"page": ""}, json=sent)

    def mistype(self, name: str, made: Answer, left: int) -> None:
        members = {"truti.sanket": "MPIN_GALAT", "truti.prayas": left, "txnid": None}
        sent = self.on_phone(made, "HAAN", "0000")
        self.walk.step(name, "POST", "/gm/parikshan/phone", 403, members, json=sent)

    def see_handle(self, name: str, made: Answer, state: str) -> Any:
        """Return the consent's id."""
        members = {"anurodh.sthiti": state, "anurodh.sahmatiId": HANDLE if state == "SWEEKRIT" else None}
        return self.call(name, "GET", made.find("@Location"), 200, members).find("anurodh.sahmatiId")

    def see_consent(self, name: str, id: Any, state: str, members: Expected | None = None) -> None:
        expected = {"sahmati.sahmatiId": id, "sahmati.sthiti": state, "sahmati.grahak.naam": str, **(members or {})}
        self.call(name, "GET", f"sahmati/{id}", 200, expected)

    def withdraw(self, name: str, id: Any) -> None:
        self.call(name, "POST", f"sahmati/{id}/vapasi", 200, {"sahmati.sthiti": "RADD"})

    def pay(self, name: str, use: Any, document: dict[str, Any]) -> Answer:
        members = {f"bhugtan.{member}": value for member, value in document.items()}
        members |= {"bhugtan.sthiti": "LAMBIT", "bhugtan.utr": re.compile(r"^GULM\d{12}$")}
        members |= {"@Location": re.compile(r"^/gm/v3/bhugtan/GULM\d{12}$")}
        return self.call(name, "POST", "bhugtan", 202, members, use=use, json=document)

    def see(self, name: str, made: Answer, state: str, members: Expected | None = None) -> None:
        expected = {"bhugtan.sthiti": state, "bhugtan.utr": self.id(made), **(members or {})}
        self.call(name, "GET", made.find("@Location"), 200, expected)

    def cancel(self, name: str, made: Answer) -> None:
        self.call(name, "DELETE", made.find("@Location"), 200, {"bhugtan.sthiti": "RADD"})

    def cancel_too_late(self, name: str, made: Answer, state: str) -> None:
        self.refuse(name, "DELETE", made.find("@Location"), 409, "RADD_ASAMBHAV", told={"sthiti": state})

    def id(self, made: Answer) -> str:
        return str(made.find("@Location")).rpartition("/")[2]

    def mandate(self, name: str, use: Any, document: dict[str, Any]) -> Answer:
        members = {f"swachalit.{member}": value for member, value in document.items()}
        members |= {"swachalit.sthiti": "LAMBIT", "swachalit.kishtSankhya": 0, "swachalit.kulRashi.mulya": "0.00"}
        members |= {"@Location": re.compile(r"^/gm/v3/swachalit/\w{16}@gulm$")}
        return self.call(name, "POST", "swachalit", 202, members, use=use, json=document)

    def take(self, name: str, made: Answer, reference: str, amount: dict[str, str]) -> Answer:
        members = {"bhugtan.sthiti": "PRAKRIYA", "bhugtan.umn": self.id(made), "bhugtan.rashi": amount}
        members |= {"bhugtan.refId": reference}
        sent = {"refId": reference, "rashi": amount}
        return self.call(name, "POST", f"{made.find('@Location')}/kisht", 202, members, json=sent)

    def see_mandate(self, name: str, made: Answer, state: str, number: int, total: str) -> None:
        members = {"swachalit.sthiti": state, "swachalit.kishtSankhya": number, "swachalit.kulRashi": rupees(total)}
        self.call(name, "GET", made.find("@Location"), 200, members)


def rupees(text: str) -> dict[str, str]:
    return {"mulya": text, "mudra": "INR"}


def paise(answer: Answer, place: str) -> int:
    """The number of paise at this place, or 0."""
    value = str(answer.find(place))
    return int(value.replace(".", "")) if re.fullmatch(r"-?\d+\.\d\d", value) else 0


def write(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02}"


def balances(known: int, free: int | None = None) -> Expected:
    return {"shesh.khata": write(known), "shesh.uplabdh": write(known if free is None else free), "shesh.mudra": "INR"}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GulmoharApp(walk, "bahi-khata", "laal-mitti", "asha.verma@gulm", "4071")
    app.log_in("login")
    good = app.wanted(["SHESH"], 20, "Ghar ka bajat")
    ask = ("POST", "sahmati")
    app.refuse("consent without a transaction", *ask, 400, "SHIRSHAK_NAHI", "X-Txn-Id", without="X-Txn-Id", json=good)
    app.refuse("unknown right", *ask, 422, "MAAN_GALAT", "adhikar", json=good | {"adhikar": ["RIN"]})
    long = {"told": {"adhiktamDin": 365}, "json": good | {"antTithi": app.day(366)}}
    app.refuse("consent for too long", *ask, 422, "AVADHI_LAMBI", "antTithi", **long)
    app.refuse("unknown customer", *ask, 404, "GRAHAK_AGYAT", "grahak", json=good | {"grahak": "koi.nahi@gulm"})
    slow = app.ask("consent to forget", ["VIVARAN"], 30, "Karz ki jaanch")
    asked = app.ask("consent", ["SHESH", "VIVARAN", "BHUGTAN"], 180, "Ghar ka bajat")
    asked_narrow = app.ask("consent for today", ["SHESH"], 0, "Ek baar ki jaanch")
    app.mistype("wrong MPIN", asked, 2)
    app.agree("customer agrees", asked)
    app.agree("customer agrees to the other", asked_narrow)
    use = app.see_handle("consent is approved", asked, "SWEEKRIT")
    narrow = app.see_handle("other consent is approved", asked_narrow, "SWEEKRIT")
    members: Expected = {"sahmati.grahak.naam": "Asha Verma", "sahmati.antTithi": app.day(180), "sahmati.adhikar.#": 3}
    app.see_consent("consent is active", use, "SAKRIY", members)
    wait(timedelta(minutes=11))
    app.see_handle("forgotten consent has lapsed", slow, "KALBADHIT")
    accounts = app.call("accounts", "GET", "khate", 200, {"kul": 2, "khate.#": 2, "khate.0.mudra": "INR"}, use=use)
    main, small = (accounts.find(f"khate.{place}.linkRef") for place in (0, 1))
    balance, entries = f"khate/{main}/shesh", f"khate/{main}/vivaran"
    known = app.call("balance", "GET", balance, 200, {"shesh.linkRef": main, "shesh.mudra": "INR"}, use=use)
    before = paise(known, "shesh.khata")
    period = {"se": app.day(-70), "tak": app.day()}
    outside = {"told": {"adhikar": "VIVARAN"}, "use": narrow, "params": period}
    app.refuse("entries outside the rights", "GET", entries, 403, "ADHIKAR_NAHI", **outside)
    app.refuse("entries without a period", "GET", entries, 400, "KSHETRA_NAHI", "se", "tak", use=use)
    members = {"vivaran.prishth": 1, "vivaran.kulPrishth": 3, "vivaran.kul": 12, "vivaran.lenden.#": 5}
    members |= {"vivaran.lenden.0.prakar": "NAAM", "vivaran.lenden.0.shesh": write(before)}
    page = app.call("entries", "GET", entries, 200, members, use=use, params=period)
    members = {"vivaran.prishth": 2, "vivaran.kul": 12, "vivaran.lenden.#": 5}
    page = app.call("next page", "GET", page.find("vivaran.agla"), 200, members, use=use)
    members = {"vivaran.prishth": 3, "vivaran.agla": None, "vivaran.lenden.#": 2, "vivaran.lenden.1.prakar": "JAMA"}
    app.call("last page", "GET", page.find("vivaran.agla"), 200, members, use=use)
    members = {"vivaran.kul": 2, "vivaran.kulPrishth": 1, "vivaran.agla": None, "vivaran.lenden.0.prakar": "JAMA"}
    app.call("credits", "GET", entries, 200, members, use=use, params={**period, "prakar": "JAMA"})

    to = {"naam": "Kaveri Pustakalay", "khata": "30518847210", "ifsc": "NEEM0004821"}
    pay = {"refId": "BK-2026-0001", "linkRef": main, "ko": to, "rashi": rupees("12500.00"), "tippani": "Kitaabein"}

    def wrong(name: str, status: int, code: str, place: str, told: Expected | None = None, **changes: Any) -> None:
        app.refuse(name, "POST", "bhugtan", status, code, place, told=told, use=use, json=pay | changes)

    wrong("payment in dollars", 422, "MUDRA_AMANYA", "rashi.mudra", rashi={"mulya": "10.00", "mudra": "USD"})
    limit = {"seema": "100000.00"}
    wrong("payment over the limit", 422, "SEEMA_PAR", "rashi.mulya", limit, rashi=rupees("100000.01"))
    wrong("payment without cover", 422, "SHESH_KAM", "rashi.mulya", linkRef=small, rashi=rupees("95000.00"))
    wrong("payment to a wrong branch", 422, "IFSC_GALAT", "ko.ifsc", ko=to | {"ifsc": "NEEM4821"})
    wrong("payment in the past", 422, "TITHI_BEETI", "tithi", tithi=app.day(-1))
    wrong("payment from an unknown account", 404, "KHATA_AGYAT", "linkRef", linkRef=UNKNOWN)
    sent = app.pay("payment", use, pay)
    members = {"bhugtan.utr": app.id(sent), "bhugtan.sthiti": "LAMBIT"}
    app.call("same payment again", "POST", "bhugtan", 200, members, use=use, json=pay)
    twice = {"utr": app.id(sent)}
    wrong("same reference, other amount", 409, "REFID_PRAYUKT", "refId", twice, rashi=rupees("12600.00"))
    app.agree("customer approves the payment", sent)
    app.see("payment is processed", sent, "PRAKRIYA", {"bhugtan.ko": to})
    app.call("balance with the amount held", "GET", balance, 200, balances(before, before - 1_250_000), use=use)
    wait(timedelta(minutes=2, seconds=10))
    app.see("payment is done", sent, "SAFAL")
    app.cancel_too_late("cancel too late", sent, "SAFAL")
    left = before - 1_250_000
    app.call("balance after", "GET", balance, 200, balances(left), use=use)
    members = {"vivaran.kul": 1, "vivaran.lenden.0.rashi": "-12500.00", "vivaran.lenden.0.shesh": write(left)}
    members |= {"vivaran.lenden.0.tippani": f"IMPS/{app.id(sent)}/Kaveri Pustakalay"}
    today = {"se": app.day(), "tak": app.day()}
    app.call("entries after", "GET", entries, 200, members, use=use, params=today)

    due = {"refId": "BK-2026-0002", "rashi": rupees("840.50"), "tithi": app.day(1)}
    later = app.pay("payment for later", use, pay | due)
    app.agree("customer approves that", later)
    app.see("payment is scheduled", later, "NIRDHARIT", {"bhugtan.tithi": app.day(1)})
    stopped = app.pay("payment to cancel", use, pay | {"refId": "BK-2026-0006", "rashi": rupees("75.25")})
    app.cancel("cancel it", stopped)
    declined = app.pay("payment to decline", use, pay | {"refId": "BK-2026-0003", "rashi": rupees("60.00")})
    app.agree("customer declines", declined, "NAHI")
    app.see("payment is declined", declined, "ASWEEKRIT")
    order = {"linkRef": main, "ko": to, "adhiktam": rupees("1500.00"), "antTithi": app.day(90)}
    mandate = app.mandate("mandate", use, order)
    app.agree("customer agrees to the mandate", mandate)
    app.take("instalment", mandate, "BK-2026-0004", rupees("499.00"))
    over = {"told": {"seema": "1500.00"}, "json": {"refId": "BK-2026-0005", "rashi": rupees("1500.01")}}
    take = ("POST", f"{mandate.find('@Location')}/kisht")
    app.refuse("instalment over the maximum", *take, 422, "SEEMA_PAR", "rashi.mulya", **over)
    app.see_mandate("mandate after that", mandate, "SAKRIY", 1, "499.00")
    wait(DAY)
    app.refuse("token has ended", "GET", balance, 401, "PRAVESH_SAMAPT", "X-Pravesh", use=use)
    app.log_in("new login")
    app.see("payment for later is done", later, "SAFAL", {"bhugtan.rashi.mulya": "840.50"})
    members = {"kul": 3, "bhugtan.0.utr": app.id(sent), "bhugtan.1.utr": app.id(later)}
    members |= {"bhugtan.2.umn": app.id(mandate)}
    app.call("payments that are done", "GET", "bhugtan", 200, members, use=use, params={"sthiti": "SAFAL"})
    app.call("balance on the next day", "GET", balance, 200, balances(left - 49_900 - 84_050), use=use)
    app.see_consent("consent for today has ended", narrow, "SAMAPT")
    app.withdraw("withdraw the consent", use)
    app.refuse("accounts after that", "GET", "khate", 403, "SAHMATI_NISHKRIY", told={"sthiti": "RADD"}, use=use)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = GulmoharApp(walk, "gullak", "neela-megh", "imran.q@gulm", "8825")
    app.log_in("login")
    good = app.wanted(["VIVARAN", "BHUGTAN"], 45, "Bachat yojana")
    ask = ("POST", "sahmati")
    app.refuse("unknown customer", *ask, 404, "GRAHAK_AGYAT", "grahak", json=good | {"grahak": "meena.k@gulm"})
    long = {"told": {"adhiktamDin": 365}, "json": good | {"antTithi": app.day(400)}}
    app.refuse("consent for too long", *ask, 422, "AVADHI_LAMBI", "antTithi", **long)
    app.refuse("unknown right", *ask, 422, "MAAN_GALAT", "adhikar", json=good | {"adhikar": ["VIVARAN", "BEEMA"]})
    app.refuse("consent without a transaction", *ask, 400, "SHIRSHAK_NAHI", "X-Txn-Id", without="X-Txn-Id", json=good)
    asked_view = app.ask("consent for entries", ["VIVARAN"], 1, "Masik vivaran")
    app.agree("customer agrees to that", asked_view)
    slow = app.ask("consent to forget", ["SHESH", "VIVARAN"], 12, "Masik vivaran")
    view = app.see_handle("consent for entries is approved", asked_view, "SWEEKRIT")
    accounts = app.call("accounts", "GET", "khate", 200, {"kul": 2, "khate.#": 2, "khate.1.mudra": "INR"}, use=view)
    small, main = (accounts.find(f"khate.{place}.linkRef") for place in (1, 0))
    balance, entries = f"khate/{small}/shesh", f"khate/{small}/vivaran"
    wait(timedelta(minutes=12))
    app.see_handle("forgotten consent has lapsed", slow, "KALBADHIT")
    outside = {"told": {"adhikar": "SHESH"}, "use": view}
    app.refuse("balance outside the rights", "GET", balance, 403, "ADHIKAR_NAHI", **outside)
    asked = app.ask("consent", ["BHUGTAN", "SHESH", "VIVARAN"], 300, "Bachat yojana")
    app.mistype("wrong MPIN", asked, 2)
    app.mistype("wrong MPIN again", asked, 1)
    app.agree("customer agrees", asked)
    use = app.see_handle("consent is approved", asked, "SWEEKRIT")
    members: Expected = {"sahmati.uddeshya": "Bachat yojana", "sahmati.antTithi": app.day(300), "sahmati.adhikar.#": 3}
    app.see_consent("consent is active", use, "SAKRIY", members)
    known = app.call("balance", "GET", balance, 200, {"shesh.linkRef": small, "shesh.mudra": "INR"}, use=use)
    before = paise(known, "shesh.khata")
    period = {"se": app.day(-65), "tak": app.day()}
    members = {"vivaran.kulPrishth": 3, "vivaran.kul": 12, "vivaran.lenden.#": 5, "vivaran.linkRef": small}
    members |= {"vivaran.lenden.0.prakar": "NAAM", "vivaran.lenden.0.shesh": write(before)}
    page = app.call("entries", "GET", entries, 200, members, use=view, params=period)
    members = {"vivaran.prishth": 2, "vivaran.kul": 12, "vivaran.lenden.#": 5, "vivaran.agla": str}
    app.call("next page", "GET", page.find("vivaran.agla"), 200, members, use=view)
    members = {"vivaran.kul": 2, "vivaran.agla": None, "vivaran.lenden.1.prakar": "JAMA", "vivaran.linkRef": small}
    app.call("credits", "GET", entries, 200, members, use=use, params={**period, "prakar": "JAMA"})
    app.refuse("entries without a period", "GET", entries, 400, "KSHETRA_NAHI", "se", "tak", use=use)

    to = {"naam": "Zoya Mistry", "khata": "6120044187", "ifsc": "BARG0K22107"}
    pay = {"refId": "GLK77-000401", "linkRef": small, "ko": to, "rashi": rupees("3275.40"), "tippani": "Kiraya"}

    def wrong(name: str, status: int, code: str, place: str, told: Expected | None = None, **changes: Any) -> None:
        app.refuse(name, "POST", "bhugtan", status, code, place, told=told, use=use, json=pay | changes)

    wrong("payment to a wrong branch", 422, "IFSC_GALAT", "ko.ifsc", ko=to | {"ifsc": "BARG22107"})
    wrong("payment in the past", 422, "TITHI_BEETI", "tithi", tithi=app.day(-9))
    wrong("payment in euros", 422, "MUDRA_AMANYA", "rashi.mudra", rashi={"mulya": "75.00", "mudra": "EUR"})
    wrong("payment from an unknown account", 404, "KHATA_AGYAT", "linkRef", linkRef=f"{UNKNOWN[:-1]}7")
    limit = {"seema": "100000.00"}
    wrong("payment over the limit", 422, "SEEMA_PAR", "rashi.mulya", limit, rashi=rupees("140000.00"), linkRef=main)
    wrong("payment without cover", 422, "SHESH_KAM", "rashi.mulya", rashi=rupees("99000.00"))
    due = {"refId": "GLK77-000402", "rashi": rupees("1110.00"), "tithi": app.day(2)}
    later = app.pay("payment for later", use, pay | due)
    app.agree("customer approves it", later)
    sent = app.pay("payment", use, pay)
    members = {"bhugtan.utr": app.id(sent), "bhugtan.sthiti": "LAMBIT"}
    app.call("same payment again", "POST", "bhugtan", 200, members, use=use, json=pay)
    other = {"rashi": rupees("3275.45")}
    wrong("same reference, other amount", 409, "REFID_PRAYUKT", "refId", {"utr": app.id(sent)}, **other)
    app.agree("customer approves the payment", sent)
    app.see("payment is processed", sent, "PRAKRIYA", {"bhugtan.ko": to, "bhugtan.tippani": "Kiraya"})
    app.call("balance with the amount held", "GET", balance, 200, balances(before, before - 327_540), use=use)
    declined = app.pay("payment to decline", use, pay | {"refId": "GLK77-000403", "rashi": rupees("25.00")})
    app.agree("customer declines", declined, "NAHI")
    app.see("payment is declined", declined, "ASWEEKRIT")
    stopped = app.pay("payment to cancel", use, pay | {"refId": "GLK77-000407", "linkRef": main})
    app.cancel("cancel it", stopped)
    order = {"linkRef": small, "ko": to, "adhiktam": rupees("800.00"), "antTithi": app.day(30)}
    mandate = app.mandate("mandate", use, order)
    app.agree("customer agrees to the mandate", mandate)
    app.take("instalment", mandate, "GLK77-000404", rupees("650.00"))
    over = {"told": {"seema": "800.00"}, "json": {"refId": "GLK77-000405", "rashi": rupees("950.00")}}
    take = ("POST", f"{mandate.find('@Location')}/kisht")
    app.refuse("instalment over the maximum", *take, 422, "SEEMA_PAR", "rashi.mulya", **over)
    app.take("another instalment", mandate, "GLK77-000406", rupees("120.25"))
    wait(timedelta(minutes=3))
    app.see("payment is done", sent, "SAFAL")
    app.cancel_too_late("cancel too late", sent, "SAFAL")
    app.see_mandate("mandate after that", mandate, "SAKRIY", 2, "770.25")
    left = before - 327_540 - 77_025
    app.call("balance after", "GET", balance, 200, balances(left), use=use)
    wait(2 * DAY)
    app.refuse("token has ended", "GET", "khate", 401, "PRAVESH_SAMAPT", "X-Pravesh", use=use)
    app.log_in("new login")
    app.see("payment for later is done", later, "SAFAL", {"bhugtan.tithi": app.day()})
    app.call("balance after all", "GET", balance, 200, balances(left - 111_000), use=use)
    members = {"vivaran.kul": 1, "vivaran.lenden.0.rashi": "-1110.00", "vivaran.lenden.0.prakar": "NAAM"}
    members |= {"vivaran.lenden.0.tippani": f"IMPS/{app.id(later)}/Zoya Mistry"}
    today = {"se": app.day(), "tak": app.day()}
    app.call("entries of today", "GET", entries, 200, members, use=use, params=today)
    app.call("payments that are done", "GET", "bhugtan", 200, {"kul": 4}, use=use, params={"sthiti": "SAFAL"})
    app.see_consent("consent for entries has ended", view, "SAMAPT")
    app.withdraw("withdraw the consent", use)
    app.refuse("accounts after that", "GET", "khate", 403, "SAHMATI_NISHKRIY", told={"sthiti": "RADD"}, use=use)
    return walk.steps
