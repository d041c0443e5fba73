"""Two journeys of the app Saldokoll and its customers at Torne."""

import re
from base64 import b64encode
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://saldokoll.example/torne/back"
PAID = "https://saldokoll.example/torne/paid"
LINKS, KEYS, WALLETS, TRANSFERS = "/open/links", "/open/keys", "/open/wallets", "/open/transfers"
VISIT = re.compile(r"^https?://[^/]+/hello/v_\w{20}$")
AMOUNT = re.compile(r"^\d+\.\d\d$")
SECONDS = re.compile(r"^\d{10}$")


def ore(answer: Answer, place: str) -> int:
    """The amount at this place in hundredths, or 0."""
    text = str(answer.find(place))
    return int(text.replace(".", "")) if AMOUNT.search(text) else 0


def kronor(amount: int) -> str:
    return f"{amount // 100}.{amount % 100:02}" if amount >= 0 else "less than nothing"


def local(url: Any) -> str:
    """The customer's browser reaches the bank where the app does."""
    return urlsplit(str(url)).path


class TorneApp:
    def __init__(self, walk: Walk, number: str, pin: str, code: str) -> None:
        self.walk, self._number, self._pin, self._code = walk, number, pin, code
        self._key: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        headers = {"Torne-Version": "2025-11"} | request.pop("headers", {})
        if path.startswith((LINKS, KEYS)):
            headers["Authorization"] = "Basic " + b64encode(b"saldokoll:kallkalla-58").decode()
        else:
            headers["Authorization"] = f"Bearer {self._key}"
        expected = {"@Torne-Trace": re.compile(r"^trc_\w{14}$"), **(members or {})}
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, problems: list[dict[str, Any]], **request: Any
    ) -> None:
        members: dict[str, Any] = {"trace": re.compile(r"^trc_\w{14}$"), "problems.#": len(problems)}
        for place, problem in enumerate(problems):
            members |= {f"problems.{place}.{member}": value for member, value in problem.items()}
        members["@Content-Type"] = "application/vnd.torne.problems+json"
        self.call(name, method, path, status, members, **request)

    def wish(self, scopes: list[str], days: int, echo: str) -> dict[str, Any]:
        return {"scopes": scopes, "days": days, "return_to": BACK, "echo": echo}

    def ask(self, name: str, wish: dict[str, Any]) -> tuple[Any, Any]:
        """Return the link's id and the customer's page."""
        members = {
            "link_id": re.compile(r"^lnk_\w{14}$"),
            "state": "waiting",
            "scopes": wish["scopes"],
            "days": wish["days"],
            "created_at": SECONDS,
            "ends_at": None,
            "shares": [],
            "visit": VISIT,
        }
        made = self.call(name, "POST", LINKS, 201, members, json=wish)
        return made.find("link_id"), made.find("visit")

    def sign_in(self, name: str, visit: Any) -> Answer:
        form = {"customer_number": self._number, "pin": self._pin, "answer": "continue"}
        members = PAGE | {"page": re.compile('name="share".*name="turn" value="turn_.*name="code"')}
        return self.walk.step(name, "POST", local(visit), 200, members, data=form)

    def share(self, page: Answer, chosen: list[str], code: str) -> dict[str, Any]:
        return {"share": chosen, "turn": page.fields.get("turn", [""])[0], "code": code, "answer": "share"}

    def mistype(self, name: str, visit: Any, page: Answer, chosen: list[str]) -> Answer:
        members = PAGE | {"page": re.compile('class="hint">This is not your code.*name="turn"')}
        form = self.share(page, chosen, self._code[:-1])
        return self.walk.step(name, "POST", local(visit), 200, members, data=form)

    def confirm(self, name: str, visit: Any, page: Answer, chosen: list[str], link: Any, echo: str) -> Any:
        """Return the grant."""
        members = {"@Location": re.compile(rf"^{re.escape(BACK)}\?link={link}&grant=grt_\w{{24}}&echo={echo}$")}
        form = self.share(page, chosen, self._code)
        answer = self.walk.step(name, "POST", local(visit), 302, members, data=form)
        query = urlsplit(str(answer.find("@Location"))).query
        return parse_qs(query).get("grant", [None])[0]

    def redeem(self, name: str, grant: Any, link: Any) -> None:
        members = {"link_id": link, "access_key": re.compile(r"^ack_\w{28}$"), "expires_at": SECONDS}
        self._key = self.call(name, "POST", KEYS, 200, members, json={"grant": grant}).find("access_key")

    def look(self, name: str, link: Any, chosen: list[str]) -> None:
        members = {"link_id": link, "state": "active", "shares": chosen, "ends_at": SECONDS, "visit": None}
        self.call(name, "GET", f"{LINKS}/{link}", 200, members)

    def end(self, name: str, link: Any) -> None:
        self.call(name, "DELETE", f"{LINKS}/{link}", 200, {"link_id": link, "state": "ended", "ends_at": SECONDS})

    def list_wallets(self, name: str, chosen: list[str]) -> Answer:
        members: dict[str, Any] = {"wallets.#": len(chosen), "paging.more": False}
        members |= {f"wallets.{place}.wallet_id": id for place, id in enumerate(chosen)}
        members |= {"wallets.0.kind": "daily", "wallets.0.iban": re.compile(r"^SE\d{22}$"), "wallets.0.currency": "SEK"}
        return self.call(name, "GET", WALLETS, 200, members)

    def funds(self, name: str, wallet: Any, booked: int | None = None, reserved: int = 0) -> int:
        """Return what is booked."""
        members: dict[str, Any] = {"wallet_id": wallet, "funds.booked.currency": "SEK", "funds.booked.amount": AMOUNT}
        members |= {"funds.reserved.amount": kronor(reserved), "funds.usable.amount": AMOUNT}
        if booked is not None:
            members |= {"funds.booked.amount": kronor(booked), "funds.usable.amount": kronor(booked - reserved)}
        return ore(self.call(name, "GET", f"{WALLETS}/{wallet}/funds", 200, members), "funds.booked.amount")

    def page_through(self, names: tuple[str, str], wallet: Any, query: dict[str, str]) -> None:
        """Get two pages of movements."""
        take = int(query["take"])
        members = {
            "wallet_id": wallet,
            "movements.#": take,
            "movements.0.movement_id": re.compile(r"^mov_\w{14}$"),
            "movements.0.direction": re.compile("^(in|out)$"),
            "movements.0.amount": AMOUNT,
            "movements.0.balance_after": AMOUNT,
            "movements.0.booked_on": re.compile(r"^\d{4}-\d\d-\d\d$"),
        }
        path, more = f"{WALLETS}/{wallet}/movements", {"paging.more": True, "paging.after": re.compile(r"^cur_\w{32}$")}
        page = self.call(names[0], "GET", path, 200, members | more, params=query)
        self.call(names[1], "GET", path, 200, members, params=query | {"after": str(page.find("paging.after"))})

    def order(self, wallet: Any, payee: tuple[str, str], amount: str, speed: str, note: str) -> dict[str, Any]:
        order = {"from": wallet, "to": {"name": payee[0], "iban": payee[1]}, "amount": amount, "currency": "SEK"}
        return order | {"speed": speed, "note": note}

    def key(self, word: str) -> dict[str, str]:
        return {"Idempotency-Key": str(uuid5(NAMESPACE_URL, f"{self._number} {word}"))}

    def start(self, name: str, order: dict[str, Any]) -> Any:
        """Return the transfer's id."""
        members = order | {
            "transfer_id": re.compile(r"^trf_\w{14}$"),
            "state": "checking",
            "fee": None,
            "total": None,
            "can": ["cancel"],
            "@Location": re.compile(rf"^{TRANSFERS}/trf_\w{{14}}$"),
            "@Retry-After": "10",
        }
        made = self.call(name, "POST", TRANSFERS, 202, members, json=order, headers=self.key(order["note"]))
        return made.find("transfer_id")

    def follow(self, name: str, transfer: Any, state: str, members: Expected) -> None:
        expected = {"transfer_id": transfer, "state": state, "@Retry-After": None, **members}
        self.call(name, "GET", f"{TRANSFERS}/{transfer}", 200, expected)

    def follow_ready(self, name: str, transfer: Any, total: str) -> None:
        members = {"fee": "3.50", "total": total, "arrives_on": self.day(0), "can": ["approve", "cancel"]}
        self.follow(name, transfer, "ready", members)

    def approve(self, name: str, transfer: Any, total: str) -> Any:
        """Return the customer's page."""
        members = {
            "approval_id": re.compile(r"^apv_\w{14}$"),
            "transfer_id": transfer,
            "state": "open",
            "total": total,
            "visit": VISIT,
        }
        path = f"{TRANSFERS}/{transfer}/approve"
        return self.call(name, "POST", path, 201, members, json={"return_to": PAID}).find("visit")

    def approve_wrongly(self, name: str, transfer: Any, state: str) -> None:
        problems = [{"code": "state_conflict", "state": state, "needs": "ready"}]
        path = f"{TRANSFERS}/{transfer}/approve"
        self.refuse(name, "POST", path, 409, problems, json={"return_to": PAID})

    def decide(self, name: str, visit: Any, transfer: Any, answer: str) -> None:
        outcome = {"approve": "given", "refuse": "refused"}[answer]
        form = {"code": self._code if answer == "approve" else "", "answer": answer}
        members = {"@Location": f"{PAID}?transfer={transfer}&approval={outcome}"}
        self.walk.step(name, "POST", local(visit), 302, members, data=form)

    def find_payment(self, name: str, wallet: Any, transfer: Any, order: dict[str, Any], booked: int) -> None:
        """Find the newest two movements, a fee after its transfer. `booked` was before them."""
        after = booked - int(order["amount"].replace(".", ""))
        members = {
            "movements.#": 2,
            "movements.0.kind": "fee",
            "movements.0.amount": "3.50",
            "movements.0.balance_after": kronor(after - 350),
            "movements.0.transfer_id": transfer,
            "movements.1.kind": "transfer",
            "movements.1.direction": "out",
            "movements.1.amount": order["amount"],
            "movements.1.balance_after": kronor(after),
            "movements.1.booked_on": self.day(0),
            "movements.1.counterpart": order["to"],
            "movements.1.note": order["note"],
            "movements.1.transfer_id": transfer,
            "paging": {"more": False},
        }
        query = {"since": self.day(0), "direction": "out"}
        self.call(name, "GET", f"{WALLETS}/{wallet}/movements", 200, members, params=query)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TorneApp(walk, "55027714", "8306", "417902")
    problems: list[dict[str, Any]] = [{"code": "value_invalid", "at": place} for place in ("scopes.1", "days")]
    wrong = app.wish(["wallets", "cards", "funds"], 120, "r1-4471")
    app.refuse("link for cards and too long", "POST", LINKS, 422, problems, json=wrong)
    link, visit = app.ask("link", app.wish(["wallets", "funds", "movements", "transfers"], 60, "r1-4472"))
    walk.step("customer's page", "GET", local(visit), 200, PAGE | {"page": re.compile('name="pin"')})
    page = app.sign_in("customer signs in", visit)
    chosen = page.fields.get("share", [])[:2]
    page = app.mistype("customer leaves out a digit", visit, page, chosen)
    grant = app.confirm("customer shares two wallets", visit, page, chosen, link, "r1-4472")
    app.redeem("redeem the grant", grant, link)
    app.look("link is active", link, chosen)
    wallets = app.list_wallets("wallets", chosen)
    wallet, other = wallets.find("wallets.0.wallet_id"), wallets.find("wallets.1.wallet_id")
    booked = app.funds("funds", wallet)
    query = {"since": app.day(-70), "until": app.day(0), "take": "6"}
    app.page_through(("movements", "more movements"), wallet, query)

    builder = ("Tornedalens Bygg AB", "SE4550000000058398257466")
    order = app.order(wallet, builder, "1249.50", "instant", "Faktura 20117")
    wrong = order | {"to": order["to"] | {"iban": "SE4550000000058398257467"}, "amount": "18250.00"}
    problems = [{"code": "value_invalid", "at": "to.iban"}]
    problems += [{"code": "over_limit", "at": "amount", "limit": "15000.00"}]
    key = app.key("two mistakes")
    app.refuse("transfer with two mistakes", "POST", TRANSFERS, 422, problems, json=wrong, headers=key)
    invoice = app.start("transfer", order)
    app.approve_wrongly("approve too early", invoice, "checking")
    wait(timedelta(seconds=15))
    app.follow_ready("transfer is ready", invoice, "1253.00")
    visit = app.approve("approve", invoice, "1253.00")
    app.decide("customer approves", visit, invoice, "approve")
    wait(timedelta(seconds=20))
    app.follow("transfer is sent", invoice, "sent", {"can": [], "approval.state": "given"})
    app.funds("funds with the total reserved", wallet, booked, 125_300)
    wait(timedelta(seconds=90))
    app.follow("transfer is settled", invoice, "settled", {"total": "1253.00", "approval.state": "given"})
    app.funds("funds after", wallet, booked - 125_300)
    app.find_payment("movements after", wallet, invoice, order, booked)
    problems = [{"code": "idempotency_conflict", "at": "header.Idempotency-Key", "transfer_id": invoice}]
    changed, key = order | {"amount": "1294.50"}, app.key(order["note"])
    app.refuse("same key for another amount", "POST", TRANSFERS, 409, problems, json=changed, headers=key)

    order = app.order(other, ("Aino Mäkelä", "FI2112345600000785"), "640.00", "standard", "Stugan i Pajala")
    cabin = app.start("transfer to decline", order)
    wait(timedelta(seconds=25))
    visit = app.approve("approve that too", cabin, "640.00")
    app.decide("customer refuses", visit, cabin, "refuse")
    members = {"fee": "0.00", "total": "640.00", "approval.state": "refused", "can": []}
    app.follow("transfer is declined", cabin, "declined", members)
    app.end("end the link", link)
    problems = [{"code": "link_not_active", "link_id": link, "state": "ended"}]
    app.refuse("wallets after the end", "GET", WALLETS, 403, problems)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = TorneApp(walk, "55190382", "2749", "660135")
    problems: list[dict[str, Any]] = [{"code": "value_invalid", "at": "days"}]
    wrong = app.wish(["wallets", "movements"], 365, "k9-0031")
    app.refuse("link for a year", "POST", LINKS, 422, problems, json=wrong)
    link, visit = app.ask("link", app.wish(["transfers", "movements", "funds", "wallets"], 14, "k9-0032"))
    walk.step("customer's page", "GET", local(visit), 200, PAGE | {"page": re.compile('name="customer_number"')})
    page = app.sign_in("customer signs in", visit)
    chosen = page.fields.get("share", [])[1:3]
    page = app.mistype("customer leaves out a digit", visit, page, chosen)
    grant = app.confirm("customer shares the last wallets", visit, page, chosen, link, "k9-0032")
    app.redeem("redeem the grant", grant, link)
    app.look("link is active", link, chosen)
    wallets = app.list_wallets("wallets", chosen)
    wallet, other = wallets.find("wallets.0.wallet_id"), wallets.find("wallets.1.wallet_id")
    booked = app.funds("funds", wallet)
    query = {"since": app.day(-60), "until": app.day(-1), "take": "4"}
    app.page_through(("movements", "next movements"), wallet, query)

    order = app.order(wallet, ("Kalix Tandvård", "FI2112345600000785"), "2875.25", "instant", "Räkning 88-3")
    problems = [{"code": "over_limit", "at": "amount", "limit": "15000.00"}]
    wrong, key = order | {"amount": "21400.00"}, app.key("too much")
    app.refuse("transfer above the limit", "POST", TRANSFERS, 422, problems, json=wrong, headers=key)
    dentist = app.start("transfer", order)
    app.approve_wrongly("approve too early", dentist, "checking")
    wait(timedelta(seconds=20))
    app.follow_ready("transfer is ready", dentist, "2878.75")
    visit = app.approve("approve", dentist, "2878.75")
    app.decide("customer approves", visit, dentist, "approve")
    wait(timedelta(seconds=25))
    app.funds("funds with the total reserved", wallet, booked, 287_875)
    wait(timedelta(minutes=2))
    app.follow("transfer is settled", dentist, "settled", {"total": "2878.75", "approval.state": "given"})
    app.funds("funds after", wallet, booked - 287_875)
    app.find_payment("movements after", wallet, dentist, order, booked)
    problems = [{"code": "idempotency_conflict", "at": "header.Idempotency-Key", "transfer_id": dentist}]
    changed, key = order | {"note": "Räkning 88-4"}, app.key(order["note"])
    app.refuse("same key for another note", "POST", TRANSFERS, 409, problems, json=changed, headers=key)

    order = app.order(other, ("Per Lantto", "SE4550000000058398257466"), "415.80", "standard", "Cykeln")
    bicycle = app.start("transfer to decline", order)
    wait(timedelta(seconds=15))
    visit = app.approve("approve that too", bicycle, "415.80")
    app.decide("customer refuses", visit, bicycle, "refuse")
    members = {"fee": "0.00", "total": "415.80", "approval.state": "refused", "can": []}
    app.follow("transfer is declined", bicycle, "declined", members)
    app.approve_wrongly("approve it again", bicycle, "declined")
    app.end("end the link", link)
    problems = [{"code": "link_not_active", "link_id": link, "state": "ended"}]
    app.refuse("funds after the end", "GET", f"{WALLETS}/{wallet}/funds", 403, problems)
    return walk.steps
