"""Two journeys at Dallae; see `journeys`."""

import re
from datetime import timedelta
from typing import Any

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

KOREA = timedelta(hours=9)


class DallaeApp:
    def __init__(self, walk: Walk, app: str, secret: str, phone: str, code: str) -> None:
        self.walk, self._app, self._secret, self._phone, self._code = walk, app, secret, phone, code
        self._token: Any = None

    def day(self, days: int = 0) -> str:
        return (self.walk.now + KOREA + days * DAY).strftime("%Y%m%d")

    def key(self, number: int) -> dict[str, str]:
        return {"X-Georae-Id": f"{self._app}U{number:09}"}

    def enter(self, name: str) -> None:
        members = {"eungdap.kodeu": "D0000", "toekeun": re.compile(r"^dl_"), "jongryu": "Bearer"}
        auth = (self._app, self._secret)
        self._token = self.walk.step(name, "POST", "/injeung/v1/toekeun", 201, members, auth=auth).find("toekeun")

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
        sent = {"X-Gigwan": self._app, "Authorization": f"Bearer {self._token}", **(headers or {})}
        sent.pop(without, None)
        expected = {"eungdap.kodeu": "D0000", "@X-Chujeok": re.compile(r"^\w{16}$"), **(members or {})}
        url = path if str(path).startswith("/") else f"/v2/{path}"
        return self.walk.step(name, method, url, status, expected, headers=sent, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        code: str,
        place: str | None = None,
        *,
        told: Expected | None = None,
        **request: Any,
    ) -> None:
        more = {f"eungdap.{member}": value for member, value in (told or {}).items()}
        members = {"eungdap.kodeu": code, "eungdap.mal": str, "eungdap.hangmok": place, **more}
        self.call(name, method, path, status, members, **request)

    def wanted(self, rights: list[str], days: int, reads: str) -> dict[str, Any]:
        return {"hyudaepon": self._phone, "gwonhan": rights, "jongryoil": self.day(days), "ilHoesu": reads}

    def ask(self, name: str, rights: list[str], days: int, reads: str) -> Answer:
        document = self.wanted(rights, days, reads)
        return self.create(
            name, "dongui", "DAEGI", document, {f"dongui.{at}": document[at] for at in list(document)[1:]}
        )

    def create(self, name: str, kind: str, state: str, document: Any, members: Expected, **request: Any) -> Answer:
        expected = {
            f"{kind}.beonho": re.compile(r"^[A-Z]{2}\d{8}-\d{6}$"),
            f"{kind}.sangtae": state,
            "injeung.sangtae": "DAEGI",
            "injeung.nameun": "3",
            "@Location": re.compile(rf"^/v2/{kind}/"),
            **members,
        }
        return self.call(name, "POST", kind, 201, expected, json=document, **request)

    def pay(self, name: str, document: dict[str, Any], number: int) -> Answer:
        copied = ("hwalyong", "geumaek", "suchwi", "jeokyo", "yeyakil")
        members = {f"iche.{member}": document[member] for member in copied if member in document}
        return self.create(name, "iche", "SEUNGINDAEGI", document, members, headers=self.key(number))

    def bulk(self, name: str, document: dict[str, Any], number: int, results: list[str], total: str) -> Answer:
        members = {f"illgwal.geon.{place}.gyeolgwa": result for place, result in enumerate(results)}
        members |= {"illgwal.seonggong": str(results.count("D0000")), "illgwal.hapgye": total}
        return self.create(name, "illgwal", "SEUNGINDAEGI", document, members, headers=self.key(number))

    def challenge(self, made: Answer) -> str:
        return f"/v2/injeung/{made.find('injeung.injeungId')}"

    def confirm(self, name: str, made: Answer) -> None:
        members = {"injeung.sangtae": "WANRYO", "injeung.daesang": self.number(made)}
        self.call(name, "PUT", self.challenge(made), 200, members, json={"sms": self._code})

    def mistype(self, name: str, made: Answer, left: str) -> None:
        told = {"nameun": left}
        self.refuse(name, "PUT", self.challenge(made), 422, "D4228", "sms", told=told, json={"sms": "000000"})

    def send_again(self, name: str, made: Answer) -> None:
        members = {"injeung.sangtae": "DAEGI", "injeung.jeonsong": "2"}
        self.call(name, "POST", f"{self.challenge(made)}/jaejeonsong", 200, members)

    def give_up(self, name: str, made: Answer) -> None:
        self.call(name, "DELETE", self.challenge(made), 200, {"injeung.sangtae": "GEOBU"})

    def number(self, made: Answer) -> str:
        return str(made.find("@Location")).rpartition("/")[2]

    def see(self, name: str, made: Answer, state: str, members: Expected | None = None) -> Answer:
        kind = str(made.find("@Location")).removeprefix("/v2/").partition("/")[0]
        return self.call(name, "GET", made.find("@Location"), 200, {f"{kind}.sangtae": state, **(members or {})})

    def cancel(self, name: str, made: Answer) -> None:
        self.call(name, "POST", f"{made.find('@Location')}/chwiso", 200, {"iche.sangtae": "CHWISO"})

    def cancel_too_late(self, name: str, made: Answer, state: str) -> None:
        told = {"sangtae": state}
        self.refuse(name, "POST", f"{made.find('@Location')}/chwiso", 409, "D4092", told=told)

    def withdraw(self, name: str, consent: Answer) -> None:
        self.call(name, "DELETE", consent.find("@Location"), 200, {"dongui.sangtae": "CHEOLHOE"})


def won(answer: Answer, place: str) -> int:
    """The number at this place, or 0."""
    value = str(answer.find(place))
    return int(value) if re.fullmatch(r"-?\d+", value) else 0


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = DallaeApp(walk, "T9910382", "gyeoul-sup", "010-4821-7730", "482913")
    unknown = {"eungdap.kodeu": "D4013", "eungdap.hangmok": "Authorization"}
    auth = ("T9910382", "bom-bada")
    walk.step("token with a wrong secret", "POST", "/injeung/v1/toekeun", 401, unknown, auth=auth)
    app.enter("token")
    good = app.wanted(["JANAEK"], 20, "5")
    ask = ("POST", "dongui")
    app.refuse("consent without an institution", *ask, 400, "D4001", "X-Gigwan", without="X-Gigwan", json=good)
    other = {"Authorization": "Bearer dl_0"}
    app.refuse("consent with an unknown token", *ask, 401, "D4011", "Authorization", headers=other, json=good)
    app.refuse("consent in broken JSON", *ask, 400, "D4000", content="{hyudaepon")
    app.refuse("unknown right", *ask, 422, "D4221", "gwonhan", json=good | {"gwonhan": ["KADEU"]})
    long = good | {"jongryoil": app.day(91)}
    app.refuse("consent for too long", *ask, 422, "D4222", "jongryoil", told={"choedae": "90"}, json=long)
    app.refuse("unknown customer", *ask, 404, "D4041", "hyudaepon", json=good | {"hyudaepon": "010-0000-0000"})
    slow = app.ask("consent to forget", ["NAEYEOK"], 30, "3")
    consent = app.ask("consent", ["JANAEK", "NAEYEOK", "ICHE"], 60, "8")
    narrow = app.ask("consent for today", ["JANAEK"], 0, "5")
    app.see("consent waits", consent, "DAEGI", {"dongui.gogaek": None})
    use = {"dongui": app.number(consent)}
    early = {"told": {"sangtae": "DAEGI"}, "params": use}
    app.refuse("accounts too early", "GET", "gyejwa", 403, "D4032", "dongui", **early)
    app.send_again("code is sent again", consent)
    app.mistype("wrong code", consent, "2")
    app.confirm("customer enters the code", consent)
    app.confirm("customer enters the other code", narrow)
    app.see("consent is valid", consent, "YUHYO", {"dongui.gogaek": "Han Seo-yun", "dongui.seunginIlsi": str})
    wait(timedelta(minutes=4))
    app.see("other consent has lapsed", slow, "SIHYO")
    accounts = app.call("accounts", "GET", "gyejwa", 200, {"su": "2", "gyejwa.#": 2}, params=use)
    main, saving = (accounts.find(f"gyejwa.{place}.hwalyong") for place in (0, 1))
    period = {"sijak": app.day(-70), "jongryo": app.day()}
    entries, balance = f"gyejwa/{main}/naeyeok", f"gyejwa/{main}/janaek"
    app.refuse("unknown account", "GET", "gyejwa/1991000000000000/janaek", 404, "D4042", "hwalyong", params=use)
    members: Expected = {"hwalyong": main, "tonghwa": "KRW", "hyeonjae": re.compile(r"^\d+$")}
    before = won(app.call("balance", "GET", balance, 200, members, params=use), "hyeonjae")
    outside = {"told": {"gwonhan": "NAEYEOK"}, "params": {"dongui": app.number(narrow), **period}}
    app.refuse("entries outside the rights", "GET", entries, 403, "D4031", "dongui", **outside)
    app.refuse("entries without a period", "GET", entries, 400, "D4002", "sijak", params=use)
    members = {"su": "5", "naeyeok.#": 5, "daeum": "Y", "naeyeok.0.ipgeum": "0", "naeyeok.0.janaek": str(before)}
    page = app.call("entries", "GET", entries, 200, members, params={**use, **period})
    after = {**use, **period, "ieo": page.find("ieo")}
    page = app.call("next page", "GET", entries, 200, {"su": "5", "naeyeok.#": 5, "daeum": "Y"}, params=after)
    after["ieo"] = page.find("ieo")
    members = {"su": "2", "naeyeok.#": 2, "daeum": "N", "ieo": "", "naeyeok.1.chulgeum": "0"}
    app.call("last page", "GET", entries, 200, members, params=after)

    to = {"eunhaeng": "081", "gyejwa": "20148830155", "ireum": "Gimpo Seojeom"}
    pay = {**use, "hwalyong": main, "geumaek": "150000", "tonghwa": "KRW", "suchwi": to, "jeokyo": "Chaekgap"}

    def wrong(name: str, status: int, code: str, place: str, told: Expected | None = None, **changes: Any) -> None:
        more = {"told": told, "headers": app.key(1), "json": pay | changes}
        app.refuse(name, "POST", "iche", status, code, place, **more)

    app.refuse("transfer without an id", "POST", "iche", 400, "D4001", "X-Georae-Id", json=pay)
    wrong("transfer in dollars", 422, "D4224", "tonghwa", tonghwa="USD")
    wrong("transfer over the limit", 422, "D4225", "geumaek", {"hando": "2000000"}, geumaek="2000001")
    wrong("transfer without cover", 422, "D4226", "geumaek", geumaek="1900000", hwalyong=saving)
    wrong("transfer to an unknown bank", 422, "D4227", "suchwi.eunhaeng", suchwi=to | {"eunhaeng": "999"})
    wrong("transfer in the past", 422, "D4223", "yeyakil", yeyakil=app.day(-1))
    sent = app.pay("transfer", pay, 1)
    wrong("same id again", 409, "D4093", "X-Georae-Id", {"cheoeum": app.number(sent)})
    app.confirm("customer approves the transfer", sent)
    app.see("transfer is accepted", sent, "JEOPSU", {"iche.geumaek": "150000", "iche.seunginIlsi": str})
    members = {"hyeonjae": str(before), "chulgeumGaneung": str(before - 150_000)}
    app.call("balance with the amount held", "GET", balance, 200, members, params=use)
    wait(timedelta(seconds=95))
    app.see("transfer is done", sent, "WANRYO")
    app.cancel_too_late("cancel too late", sent, "WANRYO")
    left = str(before - 150_000)
    app.call("balance after", "GET", balance, 200, {"hyeonjae": left, "chulgeumGaneung": left}, params=use)
    members = {"su": "1", "naeyeok.0.chulgeum": "150000", "naeyeok.0.jeokyo": "Gimpo Seojeom", "naeyeok.0.janaek": left}
    today = {**use, "sijak": app.day(), "jongryo": app.day()}
    app.call("entries after", "GET", entries, 200, members, params=today)

    later = app.pay("transfer for later", pay | {"geumaek": "33000", "yeyakil": app.day(2)}, 2)
    app.confirm("customer approves it", later)
    app.see("transfer is scheduled", later, "YEYAK", {"iche.yeyakil": app.day(2)})
    app.cancel("cancel it", later)
    refused = app.pay("transfer to decline", pay | {"geumaek": "5000"}, 3)
    app.give_up("customer gives up", refused)
    rows = [
        {"geumaek": "12000", "jeokyo": "Hoebi", "suchwi": to | {"ireum": "Deungsan Moim"}},
        {"geumaek": "7000", "jeokyo": "Hoebi", "suchwi": to | {"eunhaeng": "777"}},
    ]
    many = {**use, "hwalyong": main, "tonghwa": "KRW", "geon": rows}
    bulk = app.bulk("bulk transfer", many, 4, ["D0000", "D4227"], "12000")
    app.confirm("customer approves the bulk", bulk)
    wait(timedelta(minutes=2))
    app.see("bulk is done", bulk, "WANRYO", {"illgwal.silpae": "1"})
    states = {f"iche.{place}.sangtae": state for place, state in enumerate(("WANRYO", "CHWISO", "GEOBU"))}
    app.call("transfers", "GET", "iche", 200, {"su": "3", **states}, params=use)
    app.call("balance after the bulk", "GET", balance, 200, {"hyeonjae": str(before - 162_000)}, params=use)
    used = {"told": {"ilHoesu": "8"}, "params": today}
    app.refuse("reads are used up", "GET", entries, 429, "D4291", **used)
    wait(DAY)
    app.refuse("token has ended", "GET", balance, 401, "D4012", "Authorization", params=use)
    app.enter("new token")
    app.call("balance on the next day", "GET", balance, 200, {"hyeonjae": str(before - 162_000)}, params=use)
    app.see("consent for today has ended", narrow, "MANRYO")
    app.withdraw("withdraw the consent", consent)
    gone = {"told": {"sangtae": "CHEOLHOE"}, "params": use}
    app.refuse("accounts after that", "GET", "gyejwa", 403, "D4032", "dongui", **gone)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = DallaeApp(walk, "T9920417", "yeoreum-gang", "010-9035-2216", "307754")
    app.enter("token")
    good = app.wanted(["NAEYEOK", "ICHE"], 40, "6")
    ask = ("POST", "dongui")
    long = good | {"jongryoil": app.day(120)}
    app.refuse("consent for too long", *ask, 422, "D4222", "jongryoil", told={"choedae": "90"}, json=long)
    app.refuse("unknown right", *ask, 422, "D4221", "gwonhan", json=good | {"gwonhan": ["JANAEK", "DAECHUL"]})
    app.refuse("consent without an institution", *ask, 400, "D4001", "X-Gigwan", without="X-Gigwan", json=good)
    refused = app.ask("consent to decline", ["ICHE"], 10, "2")
    app.give_up("customer gives up", refused)
    app.see("consent is declined", refused, "GEOBU")
    view = app.ask("consent for entries", ["NAEYEOK"], 2, "3")
    app.confirm("customer enters the first code", view)
    slow = app.ask("consent to forget", ["JANAEK"], 5, "4")
    wait(timedelta(minutes=5))
    app.see("it has lapsed", slow, "SIHYO")
    lapsed = {"told": {"sangtae": "SIHYO"}, "params": {"dongui": app.number(slow)}}
    app.refuse("accounts of it", "GET", "gyejwa", 403, "D4032", "dongui", **lapsed)
    consent = app.ask("consent", ["ICHE", "JANAEK", "NAEYEOK"], 75, "20")
    app.mistype("wrong code", consent, "2")
    app.mistype("wrong code again", consent, "1")
    app.send_again("code is sent again", consent)
    app.confirm("customer enters the code", consent)
    app.see("consent is valid", consent, "YUHYO", {"dongui.ilHoesu": "20", "dongui.gwonhan.#": 3})
    use, look = {"dongui": app.number(consent)}, {"dongui": app.number(view)}
    accounts = app.call("accounts", "GET", "gyejwa", 200, {"su": "2", "gyejwa.1.tonghwa": "KRW"}, params=look)
    saving, main = (accounts.find(f"gyejwa.{place}.hwalyong") for place in (1, 0))
    entries, balance = f"gyejwa/{saving}/naeyeok", f"gyejwa/{saving}/janaek"
    outside = {"told": {"gwonhan": "JANAEK"}, "params": look}
    app.refuse("balance outside the rights", "GET", balance, 403, "D4031", "dongui", **outside)
    app.refuse("unknown account", "GET", "gyejwa/1991999999999999/janaek", 404, "D4042", "hwalyong", params=use)
    period = {**look, "sijak": app.day(-80), "jongryo": app.day()}
    members: Expected = {"su": "5", "naeyeok.#": 5, "daeum": "Y", "hwalyong": saving}
    page = app.call("entries", "GET", entries, 200, members, params=period)
    members = {"su": "5", "naeyeok.#": 5, "daeum": "Y", "naeyeok.0.ipgeum": "0"}
    app.call("next page", "GET", entries, 200, members, params={**period, "ieo": page.find("ieo")})
    future = {**look, "sijak": app.day(1), "jongryo": app.day(2)}
    app.call("no entries yet", "GET", entries, 200, {"su": "0", "naeyeok": [], "daeum": "N", "ieo": ""}, params=future)
    app.refuse("reads are used up", "GET", entries, 429, "D4291", told={"ilHoesu": "3"}, params=period)
    known = app.call("balance", "GET", balance, 200, {"hwalyong": saving, "tonghwa": "KRW"}, params=use)
    before = won(known, "hyeonjae")

    to = {"eunhaeng": "004", "gyejwa": "61120204411873", "ireum": "Choe Eun-ji"}
    pay = {**use, "hwalyong": saving, "geumaek": "48500", "tonghwa": "KRW", "suchwi": to, "jeokyo": "Jeonyeok"}

    def wrong(name: str, status: int, code: str, place: str, told: Expected | None = None, **changes: Any) -> None:
        more = {"told": told, "headers": app.key(70), "json": pay | changes}
        app.refuse(name, "POST", "iche", status, code, place, **more)

    wrong("transfer outside the rights", 403, "D4031", "dongui", {"gwonhan": "ICHE"}, dongui=app.number(view))
    wrong("transfer in euros", 422, "D4224", "tonghwa", tonghwa="EUR")
    wrong("transfer in the past", 422, "D4223", "yeyakil", yeyakil=app.day(-12))
    wrong("transfer without cover", 422, "D4226", "geumaek", geumaek="1850000")
    wrong("transfer over the limit", 422, "D4225", "geumaek", {"hando": "2000000"}, geumaek="3500000", hwalyong=main)
    wrong("transfer from an unknown account", 404, "D4042", "hwalyong", hwalyong="1991999999999999")
    later = app.pay("transfer for later", pay | {"geumaek": "21000", "yeyakil": app.day(3)}, 71)
    app.confirm("customer approves it", later)
    stopped = app.pay("transfer to cancel", pay | {"geumaek": "90000", "jeokyo": "Seonmul"}, 72)
    app.confirm("customer approves that too", stopped)
    app.cancel("cancel it", stopped)
    app.cancel_too_late("cancel it again", stopped, "CHWISO")
    sent = app.pay("transfer", pay, 73)
    app.confirm("customer approves the transfer", sent)
    members = {"hyeonjae": str(before), "chulgeumGaneung": str(before - 48_500)}
    app.call("balance with the amount held", "GET", balance, 200, members, params=use)
    wait(timedelta(minutes=2))
    app.see("transfer is done", sent, "WANRYO", {"iche.suchwi.ireum": "Choe Eun-ji"})
    known = app.call("balance after", "GET", balance, 200, {"hyeonjae": str(before - 48_500)}, params=use)
    rows = [
        {"geumaek": "9900", "jeokyo": "Gudok", "suchwi": to | {"eunhaeng": "999"}},
        {"geumaek": "15000", "jeokyo": "Yongdon", "suchwi": to | {"eunhaeng": "081", "ireum": "Bae Ji-ho"}},
        {"geumaek": "25000", "jeokyo": "Yongdon", "suchwi": to | {"ireum": "Bae Su-a"}},
    ]
    many = {**use, "hwalyong": saving, "tonghwa": "KRW", "geon": rows}
    bulk = app.bulk("bulk transfer", many, 74, ["D4227", "D0000", "D0000"], "40000")
    app.confirm("customer approves the bulk", bulk)
    wait(3 * DAY)
    app.refuse("token has ended", "GET", "gyejwa", 401, "D4012", "Authorization", params=use)
    app.enter("new token")
    app.see("bulk is done", bulk, "WANRYO", {"illgwal.seonggong": "2", "illgwal.silpae": "1"})
    app.see("transfer for later is done", later, "WANRYO", {"iche.yeyakil": app.day()})
    left = str(before - 48_500 - 40_000 - 21_000)
    app.call("balance after all", "GET", balance, 200, {"hyeonjae": left, "chulgeumGaneung": left}, params=use)
    members = {"su": "1", "naeyeok.0.chulgeum": "21000", "naeyeok.0.jeokyo": "Choe Eun-ji", "naeyeok.0.janaek": left}
    today = {**use, "sijak": app.day(), "jongryo": app.day()}
    app.call("entries of today", "GET", entries, 200, members, params=today)
    states = {f"iche.{place}.sangtae": state for place, state in enumerate(("WANRYO", "CHWISO", "WANRYO"))}
    app.call("transfers", "GET", "iche", 200, {"su": "3", **states}, params=use)
    app.see("consent for entries has ended", view, "MANRYO")
    ended = {"told": {"sangtae": "MANRYO"}, "params": look}
    app.refuse("accounts of that", "GET", "gyejwa", 403, "D4032", "dongui", **ended)
    app.withdraw("withdraw the consent", consent)
    return walk.steps
