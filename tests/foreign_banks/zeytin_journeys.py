"""Two journeys at Zeytin; see `journeys`."""

import re
from datetime import timedelta
from typing import Any

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

UNTIL_SENT = timedelta(minutes=1)
UNTIL_DONE = timedelta(minutes=10)
BACK = "https://defne.example/donus"
PERMISSIONS, ACCOUNTS, ORDERS = "/v3/izinler", "/v3/hesaplar", "/odeme/v1/emirler"


class ZeytinApp:
    def __init__(self, walk: Walk, customer: str, password: str) -> None:
        self.walk = walk
        self._customer, self._password = customer, password

    def day(self, days: int = 0) -> str:
        """A day by Turkey's clock."""
        return (self.walk.now + timedelta(hours=3) + days * DAY).date().isoformat()

    def call(
        self,
        name: str,
        method: str,
        path: str,
        status: int,
        members: Expected | None = None,
        *,
        permission: Any = None,
        key: str | None = "zk-defne-51c0e7",
        once: str | None = None,
        **request: Any,
    ) -> Answer:
        sent = {"X-Api-Anahtari": key, "X-Izin-No": permission, "X-Islem-Anahtari": once}
        headers = {header: str(value) for header, value in sent.items() if value}
        expected = {"@X-Takip-No": str, **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(self, name: str, method: str, path: str, status: int, code: str, **more: Any) -> None:
        members = {"kod": code, "@Content-Type": "application/problem+json", **more.pop("members", {})}
        self.call(name, method, path, status, members, **more)

    def ask(self, name: str, rights: list[str], days: int, mark: str) -> Answer:
        wanted = {"kapsam": rights, "gun": days, "donusAdresi": BACK, "takip": mark}
        members = {
            "veri.izinNo": re.compile(r"^izn-[a-z0-9]{10}$"),
            "veri.durum": "ONAY_BEKLIYOR",
            "veri.kapsam": rights,
            "veri.sonGun": self.day(days),
            "veri.takip": mark,
            "veri.onayAdresi": re.compile("/onay/"),
            "@Location": re.compile("^/v3/izinler/izn-"),
        }
        return self.call(name, "POST", PERMISSIONS, 201, members, json=wanted)

    def pay(self, name: str, document: dict[str, Any], once: str) -> Answer:
        members = {
            "veri.emirNo": re.compile(r"^ode-\d{9}$"),
            "veri.asama": "IMZA_BEKLIYOR",
            "veri.tutar": document["tutar"],
            "veri.alici.unvan": document["alici"]["unvan"],
            "veri.onayAdresi": re.compile("/onay/"),
            "@Location": re.compile("^/odeme/v1/emirler/ode-"),
        }
        return self.call(name, "POST", ORDERS, 201, members, once=once, json=document)

    def page(self, name: str, asked: Answer) -> None:
        self.walk.step(name, "GET", asked.find("veri.onayAdresi"), 200, PAGE | {"page": re.compile('name="musteriNo"')})

    def mistype(self, name: str, asked: Answer, password: str) -> None:
        data = {"musteriNo": self._customer, "sifre": password, "karar": "onayla"}
        self.walk.step(name, "POST", asked.find("veri.onayAdresi"), 401, PAGE, data=data)

    def decide(self, name: str, asked: Answer, decision: str = "onayla") -> None:
        data = {"musteriNo": self._customer, "sifre": self._password, "karar": decision}
        result = "ONAY" if decision == "onayla" else "RET"
        to = re.compile(f"^{re.escape(BACK)}\\?.*sonuc={result}&takip={asked.find('veri.takip')}$")
        self.walk.step(name, "POST", asked.find("veri.onayAdresi"), 303, {"@Location": to}, data=data)


def order(iban: Any, amount: int, to: str, payee: str, text: str, mark: str) -> dict[str, Any]:
    return {
        "gonderen": {"iban": iban},
        "alici": {"iban": to, "unvan": payee},
        "tutar": amount,
        "paraBirimi": "TRY",
        "aciklama": text,
        "donusAdresi": BACK,
        "takip": mark,
    }


def amounts(answer: Answer) -> tuple[int, int]:
    """What is booked, and what can be spent."""
    return int(answer.find("veri.bakiye") or 0), int(answer.find("veri.kullanilabilir") or 0)


def balance(booked: int, spendable: int) -> dict[str, Any]:
    return {"veri.bakiye": booked, "veri.kullanilabilir": spendable, "veri.paraBirimi": "TRY"}


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ZeytinApp(walk, "40718825", "274913")
    app.refuse("accounts without a key", "GET", ACCOUNTS, 401, "ZB-1000", key=None)
    asked = app.ask("permission", ["HESAP", "BAKIYE", "HAREKET"], 30, "izin-a41")
    permission = asked.find("veri.izinNo")
    members = {"durum": "ONAY_BEKLIYOR"}
    app.refuse(
        "accounts before the customer agrees", "GET", ACCOUNTS, 403, "ZB-2002", permission=permission, members=members
    )
    app.page("page of the permission", asked)
    app.mistype("wrong password", asked, "000000")
    app.decide("customer grants", asked)
    members = {"veri.durum": "ETKIN", "veri.kapsam.#": 3, "veri.onayAdresi": None}
    app.call("permission is active", "GET", f"{PERMISSIONS}/{permission}", 200, members)
    members = {"veri.#": 2, "veri.0.tur": "VADESIZ", "bilgi.adet": 2, "bilgi.sonraki": None}
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members, permission=permission)
    own, iban = f"{ACCOUNTS}/{accounts.find('veri.0.hesapNo')}", accounts.find("veri.0.iban")
    app.refuse("unknown account", "GET", f"{ACCOUNTS}/000000000/bakiye", 404, "ZB-3001", permission=permission)
    before = app.call("balance", "GET", f"{own}/bakiye", 200, {"veri.bakiye": int}, permission=permission)
    booked, spendable = amounts(before)
    period = {"baslangic": app.day(-75), "bitis": app.day(), "adet": "8"}
    members = {"veri.#": 8, "bilgi.adet": 8, "bilgi.sonraki": str, "veri.0.bakiye": booked}
    rows = app.call("entries", "GET", f"{own}/hareketler", 200, members, permission=permission, params=period)
    more = period | {"imlec": str(rows.find("bilgi.sonraki"))}
    members = {"veri.#": 8, "bilgi.sonraki": str}
    app.call("next page", "GET", f"{own}/hareketler", 200, members, permission=permission, params=more)

    rent = order(iban, 1_850_000, "TR570006200045300006612345", "Nilüfer Emlak", "Haziran kirası", "kira-06")
    wrong = {name: value for name, value in rent.items() if name != "aciklama"} | {"tutar": "18500,00"}
    members = {
        "alanlar.0": {"ad": "tutar", "neden": "HATALI"},
        "alanlar.1": {"ad": "aciklama", "neden": "EKSIK"},
        "alanlar.#": 2,
    }
    app.refuse(
        "order with wrong members", "POST", ORDERS, 400, "ZB-1001", once="defne-5001", json=wrong, members=members
    )
    much = rent | {"tutar": 5_000_001}
    members = {"ustSinir": 5_000_000}
    app.refuse("order over the limit", "POST", ORDERS, 422, "ZB-4004", once="defne-5001", json=much, members=members)
    made = app.pay("order", rent, "defne-5001")
    state = f"{ORDERS}/{made.find('veri.emirNo')}"
    members = {"veri.emirNo": made.find("veri.emirNo"), "veri.asama": "IMZA_BEKLIYOR"}
    app.call("same order again", "POST", ORDERS, 200, members, once="defne-5001", json=rent)
    app.decide("customer signs", made)
    app.call("order is accepted", "GET", state, 200, {"veri.asama": "KABUL", "veri.tutar": 1_850_000})
    held = balance(booked, spendable - 1_850_000)
    app.call("balance with the amount held", "GET", f"{own}/bakiye", 200, held, permission=permission)
    wait(UNTIL_SENT)
    app.refuse("too late to cancel", "POST", f"{state}/iptal", 409, "ZB-4005", members={"asama": "GONDERILDI"})
    wait(UNTIL_DONE)
    app.call("order is done", "GET", state, 200, {"veri.asama": "TAMAMLANDI"})
    after = balance(booked - 1_850_000, spendable - 1_850_000)
    app.call("balance after", "GET", f"{own}/bakiye", 200, after, permission=permission)
    members = {
        "veri.#": 1,
        "veri.0.tutar": -1_850_000,
        "veri.0.bakiye": booked - 1_850_000,
        "veri.0.karsiTaraf": "Nilüfer Emlak",
        "veri.0.emirNo": made.find("veri.emirNo"),
        "bilgi.sonraki": None,
    }
    today = {"baslangic": app.day()}
    app.call("entries after", "GET", f"{own}/hareketler", 200, members, permission=permission, params=today)
    gift = order(iban, 64_990, "TR310001500158007298877001", "Lodos Kitabevi", "Hediye", "kitap-1")
    no = app.pay("order to decline", gift, "defne-5002")
    app.decide("customer declines the order", no, "reddet")
    app.call("order is declined", "GET", f"{ORDERS}/{no.find('veri.emirNo')}", 200, {"veri.asama": "REDDEDILDI"})
    early = app.pay("order to cancel", gift | {"takip": "kitap-2"}, "defne-5003")
    path = f"{ORDERS}/{early.find('veri.emirNo')}/iptal"
    app.call("cancel it", "POST", path, 200, {"veri.asama": "IPTAL_EDILDI", "veri.onayAdresi": None})

    refused = app.ask("permission to decline", ["HESAP", "BAKIYE"], 5, "izin-a42")
    app.decide("customer declines", refused, "reddet")
    path = f"{PERMISSIONS}/{refused.find('veri.izinNo')}"
    app.call("permission is declined", "GET", path, 200, {"veri.durum": "REDDEDILDI"})
    narrow = app.ask("permission for accounts only", ["HESAP"], 90, "izin-a43")
    app.decide("customer grants accounts only", narrow)
    id = narrow.find("veri.izinNo")
    members = {"kapsam": "BAKIYE"}
    app.refuse("balance without the right", "GET", f"{own}/bakiye", 403, "ZB-2003", permission=id, members=members)
    app.call("withdraw the permission", "DELETE", f"{PERMISSIONS}/{id}", 200, {"veri.durum": "GERI_ALINDI"})
    wait(31 * DAY)
    members = {"durum": "SURESI_DOLDU"}
    app.refuse("accounts after the last day", "GET", ACCOUNTS, 403, "ZB-2002", permission=permission, members=members)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ZeytinApp(walk, "51930264", "806152")
    app.refuse("accounts with an unknown key", "GET", ACCOUNTS, 401, "ZB-1000", key="zk-yanlis-000000")
    no = app.ask("permission to decline", ["BAKIYE"], 14, "b-100")
    app.page("page of it", no)
    app.decide("customer declines", no, "reddet")
    refused = {"permission": no.find("veri.izinNo"), "members": {"durum": "REDDEDILDI"}}
    app.refuse("accounts with it", "GET", ACCOUNTS, 403, "ZB-2002", **refused)
    unasked = {"gun": 20, "donusAdresi": BACK, "takip": "b-101"}
    members: dict[str, Any] = {"alanlar.0": {"ad": "kapsam", "neden": "EKSIK"}, "alanlar.#": 1}
    app.refuse("permission without rights", "POST", PERMISSIONS, 400, "ZB-1001", json=unasked, members=members)
    view = app.ask("permission without balances", ["HESAP", "HAREKET"], 20, "b-102")
    app.mistype("wrong password", view, "271828")
    app.decide("customer grants", view)
    looks = view.find("veri.izinNo")
    members = {"veri.durum": "ETKIN", "veri.kapsam": ["HESAP", "HAREKET"], "veri.sonGun": app.day(20)}
    app.call("it is active", "GET", f"{PERMISSIONS}/{looks}", 200, members)
    walk.step("page is used up", "GET", view.find("veri.onayAdresi"), 410, PAGE)
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, {"veri": list, "bilgi.sonraki": None}, permission=looks)
    own, iban = f"{ACCOUNTS}/{accounts.find('veri.0.hesapNo')}", accounts.find("veri.0.iban")
    members = {"kapsam": "BAKIYE"}
    app.refuse("balance without the right", "GET", f"{own}/bakiye", 403, "ZB-2003", permission=looks, members=members)
    period = {"baslangic": app.day(-70), "bitis": app.day(), "adet": "3"}
    members = {"veri.#": 3, "bilgi.adet": 3, "bilgi.sonraki": str}
    rows = app.call("entries", "GET", f"{own}/hareketler", 200, members, permission=looks, params=period)
    more = period | {"imlec": str(rows.find("bilgi.sonraki"))}
    app.call("next page", "GET", f"{own}/hareketler", 200, members, permission=looks, params=more)

    full = app.ask("permission for all", ["HESAP", "BAKIYE", "HAREKET"], 60, "b-103")
    app.decide("customer grants all", full)
    granted = full.find("veri.izinNo")
    before = app.call("balance", "GET", f"{own}/bakiye", 200, {"veri.bakiye": int}, permission=granted)
    booked, spendable = amounts(before)
    school = order(iban, 427_350, "TR150004600719888000112233", "Kardelen Okulu", "Servis ücreti", "okul-9")
    much = {"once": "okul-9-1", "json": school | {"tutar": 6_200_000}, "members": {"ustSinir": 5_000_000}}
    app.refuse("order over the limit", "POST", ORDERS, 422, "ZB-4004", **much)
    unnamed = {name: value for name, value in school.items() if name != "alici"}
    members = {"alanlar.0.neden": "EKSIK"}
    app.refuse("order to nobody", "POST", ORDERS, 400, "ZB-1001", once="okul-9-1", json=unnamed, members=members)
    trip = order(iban, 150_000, "TR310011100000000070455512", "Poyraz Turizm", "Kapora", "tur-1")
    early = app.pay("order to cancel", trip, "tur-1-1")
    early_state = f"{ORDERS}/{early.find('veri.emirNo')}"
    made = app.pay("order", school, "okul-9-1")
    state = f"{ORDERS}/{made.find('veri.emirNo')}"
    app.call("cancel the first", "POST", f"{early_state}/iptal", 200, {"veri.asama": "IPTAL_EDILDI"})
    app.mistype("wrong password for the order", made, "161803")
    app.call("it still waits", "GET", state, 200, {"veri.asama": "IMZA_BEKLIYOR", "veri.tutar": 427_350})
    app.decide("customer signs", made)
    members = {"asama": "IPTAL_EDILDI"}
    app.refuse("cancel the first again", "POST", f"{early_state}/iptal", 409, "ZB-4005", members=members)
    held = balance(booked, spendable - 427_350)
    app.call("balance with the amount held", "GET", f"{own}/bakiye", 200, held, permission=granted)
    rest = order(iban, spendable - 427_350 + 1, "TR120006701000000033218890", "Sarı Fırın", "Pasta", "pasta-1")
    app.refuse("order that the held amount leaves no cover for", "POST", ORDERS, 422, "ZB-4003", once="p-1", json=rest)
    wait(UNTIL_SENT)
    app.call("order is sent", "GET", state, 200, {"veri.asama": "GONDERILDI"})
    members = {"veri.emirNo": made.find("veri.emirNo"), "veri.asama": "GONDERILDI"}
    app.call("same order again", "POST", ORDERS, 200, members, once="okul-9-1", json=school)
    wait(UNTIL_DONE)
    members = {"asama": "TAMAMLANDI"}
    app.refuse("too late to cancel", "POST", f"{state}/iptal", 409, "ZB-4005", members=members)
    members = {
        "veri.#": 1,
        "veri.0.tutar": -427_350,
        "veri.0.bakiye": booked - 427_350,
        "veri.0.aciklama": "Servis ücreti",
        "veri.0.emirNo": made.find("veri.emirNo"),
    }
    today = {"baslangic": app.day()}
    app.call("entries after", "GET", f"{own}/hareketler", 200, members, permission=looks, params=today)
    declined = app.pay("order to decline", trip | {"tutar": 98_005, "takip": "tur-2"}, "tur-2-1")
    app.decide("customer declines the order", declined, "reddet")
    path = f"{ORDERS}/{declined.find('veri.emirNo')}"
    app.call("order is declined", "GET", path, 200, {"veri.asama": "REDDEDILDI"})
    after = balance(booked - 427_350, spendable - 427_350)
    app.call("balance after", "GET", f"{own}/bakiye", 200, after, permission=granted)
    wait(21 * DAY)
    members = {"durum": "SURESI_DOLDU"}
    app.refuse("accounts after the last day", "GET", ACCOUNTS, 403, "ZB-2002", permission=looks, members=members)
    app.call("accounts with the other", "GET", ACCOUNTS, 200, {"veri.0.iban": iban}, permission=granted)
    app.call("withdraw the other", "DELETE", f"{PERMISSIONS}/{granted}", 200, {"veri.durum": "GERI_ALINDI"})
    members = {"durum": "GERI_ALINDI"}
    app.refuse("balance after that", "GET", f"{own}/bakiye", 403, "ZB-2002", permission=granted, members=members)
    return walk.steps
