"""Isère, a French regional bank with a DSP2 interface in the manner of STET: links in HAL, members in French.

- `/dsp2/ais` and `/dsp2/cbpii` need a token of a customer, `/dsp2/pis` one of the app; all need X-Request-ID, a UUID.
- Four systems have four shapes of errors: the gateway (token, route, verb, no JSON) has `httpCode`, the products have
  `erreurs` with a `chemin` for each wrong member, `/connexion/jeton` has OAuth's, customers' phones have a `code`.
- A customer goes through two forms at `/connexion/suite`, each with a `session`, which is good once: who it is, then a
  code from an SMS and a choice, which leads back to the app. Mistakes show the form again with status 200.
- A customer's token lasts an hour, its refresh token is good once, in 180 days. An app's token lasts three hours.
- GET `…/comptes` without an active consent lists all accounts, but without `idRessource` and links. Then the app posts
  a consent; the customer confirms it on the phone (`/cle-isere/v2/demandes`). It is ATTENTE_CLIENT (CADUC after ten
  minutes), ACTIF or REFUSE, EXPIRE after its `finValidite`, REVOQUE by DELETE, REMPLACE when another one is confirmed.
  Each consent gives its accounts new ids. Only accounts in it are listed, with links to what it allows.
- Amounts are strings without sign, with `sens` DBIT or CRDT. The balance ITAV has the agreed overdraft and what is
  pending in it, CLBD has neither. Times and days are those of Paris. `dateDebut` is inclusive, `dateFin` exclusive.
  Pending operations come first, without reference. `suite` is sent alone. No rows are a 204.
- POST `…/demandes-paiement` tells the id in Location only. With `identifiantClient` the customer is asked on the phone
  (DECOUPLED) and pays from the main account if none is named, else on a page (REDIRECT), where an account is chosen.
- A request is RCVD (20 minutes), after the page AUTC until the app confirms it with the `facteur` (10 minutes), then
  ACSP; after the phone it is ACSP at once; PLAN if it is dated. Transfers are settled one by one after 40, 60 and 80
  minutes: it is PART meanwhile and ACSC in the end. RJCT has a `motifStatut`: NOAS, NOCF, CUST, AM04. Until it is
  ACSP it can be CANC by PUT. A named account is checked by POST already, with 422. No idempotency: an `endToEndId` is
  good for one request of an app, and gives 409 then.
"""

import base64
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

AIS, PIS, COVERAGE = "/dsp2/ais/v1", "/dsp2/pis/v1/demandes-paiement", "/dsp2/cbpii/v1/couvertures"
PARIS, JSON = ZoneInfo("Europe/Paris"), "application/json;charset=UTF-8"
APPS = {
    "carnet-vert": ("mousse", "https://carnet-vert.example/"),
    "petit-sou": ("tirelire", "https://petit-sou.example/"),
}
SHOPS = "CB MONOPRIX GRENOBLE|PRLV GAZ DES ALPES|CB BOULANGERIE DU DRAC|PRLV MUTUELLE BELLEDONNE|CB SNCF".split("|")
WAITS = {"ATTENTE_CLIENT": (10, "CADUC", ""), "RCVD": (20, "RJCT", "NOAS"), "AUTC": (10, "RJCT", "NOCF")}
GATEWAY = {"BODY": "Unreadable request", "ROUTE": "No resources match", "TOKEN": "Invalid or expired token"}


@dataclass
class Account:
    iban: str
    label: str
    cents: int
    overdraft: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    secret: str
    sms: str
    phone: str
    pin: str
    accounts: Sequence[Account]

    def find(self, iban: Any) -> Account | None:
        return next((one for one in self.accounts if one.iban == iban), None)


NOBODY = Customer("", "", "", "", "", ())


@dataclass
class Thing:
    """A consent or a payment. `demand` is its number on the customer's phone, `since` when its state began."""

    id: str
    app: str
    scope: str
    document: dict[str, Any]
    state: str
    since: datetime
    ends: date
    demand: int = 0
    customer: Customer = NOBODY
    accounts: dict[str, Account] = field(default_factory=dict)
    payer: Account | None = None
    amounts: Sequence[int] = ()
    settled: int = 0
    reason: str = ""
    secret: str = ""
    text: str = "Partager vos comptes ?"

    def turn(self, state: str, reason: str = "", since: datetime | None = None) -> None:
        self.state, self.reason, self.since = state, reason, since or self.since


@dataclass(frozen=True)
class Visit:
    app: str
    scope: str
    began: datetime
    ends: datetime
    customer: Customer = NOBODY
    back: str = ""
    state: str = ""
    payment: Thing | None = None


def check_digits(country: str, rest: str) -> str:
    return f"{98 - int(''.join(str(int(sign, 36)) for sign in rest + country + '00')) % 97:02}"


def is_iban(text: Any) -> bool:
    is_like = isinstance(text, str) and re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)
    return bool(is_like) and check_digits(text[:2], text[4:]) == text[2:4]


def inner(document: Any, *names: str) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def read_cents(amount: Any) -> int:
    """0 if this is no amount in euros."""
    text = inner(amount, "valeur")
    if inner(amount, "devise") != "EUR" or not isinstance(text, str) or not re.fullmatch(r"\d{1,9}(\.\d\d?)?", text):
        return 0
    return round(float(text) * 100)


def write_amount(cents: int) -> dict[str, str]:
    return {"valeur": f"{abs(cents) // 100}.{abs(cents) % 100:02}", "devise": "EUR"}


def tell(status: int, document: dict[str, Any], links: dict[str, str], location: str = "") -> Response:
    document["_links"] = {name: {"href": path} for name, path in links.items()}
    headers = {"Content-Type": "application/hal+json;charset=UTF-8"} | ({"Location": location} if location else {})
    return respond(status, document, headers)


class Isere:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"isere {seed}")
        self._visits: dict[str, Visit] = {}
        self._things: dict[str, Thing] = {}
        self._cursors: dict[str, tuple[str, int, dict[str, str]]] = {}
        self._used: set[tuple[str, str]] = set()
        garnier = [("Compte de chèques", 41_720_316, 184_233, 50_000), ("Compte joint", 41_720_331, 902_517, 0)]
        roche = [("Compte de chèques", 58_004_127, 371_906, 20_000), ("Compte travaux", 58_004_142, 1_250_040, 0)]
        ferhat = [("Compte de chèques", 60_915_873, -8_415, 80_000)]
        self._customers = [
            Customer("3810046217", "140789", "552013", "ISK-7F3K-90QD", "4821", [self._open(*one) for one in garnier]),
            Customer("3810091755", "260394", "308846", "ISK-2M8T-51XA", "7390", [self._open(*one) for one in roche]),
            Customer("3810120468", "051172", "714920", "ISK-9C4W-36PE", "1657", [self._open(*one) for one in ferhat]),
        ]
        account, consent, payment = AIS + "/comptes/{id}", AIS + "/consentements/{id}", PIS + "/{id}"
        self._routes = Routes(
            ("GET", "/connexion/autorisation", self._authorize),
            ("GET", "/connexion/paiement/{page}", self._show_payment),
            ("POST", "/connexion/suite", self._go_on),
            ("POST", "/connexion/jeton", self._give_token),
            ("GET", AIS + "/comptes", self._list_accounts),
            ("GET", account + "/soldes", self._balances),
            ("GET", account + "/operations", self._list_entries),
            ("POST", AIS + "/consentements", self._ask_consent),
            ("GET", consent, lambda request, id: self._tell_consent(200, self._thing(request, "aisp", id))),
            ("DELETE", consent, self._revoke),
            ("POST", COVERAGE, self._cover),
            ("POST", PIS, self._ask_payment),
            ("GET", payment, lambda request, id: self._tell_payment(self._thing(request, "pisp", id))),
            ("PUT", payment, self._cancel),
            ("POST", payment + "/confirmation", self._confirm),
            ("GET", "/cle-isere/v2/demandes", self._list_demands),
            ("POST", "/cle-isere/v2/demandes/{number}/reponse", self._reply),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            response = handler(request, **parameters)
        except NoRoute as wrong:
            response = self._refuse(request, Fault(405 if wrong.allowed else 404, "ROUTE"))
        except Fault as fault:
            response = self._refuse(request, fault)
        except ValueError:
            response = self._refuse(request, Fault(400, "BODY"))
        if request.path.startswith("/dsp2/") and (id := request.headers.get("x-request-id")):
            response = replace(response, headers={**response.headers, "X-Request-ID": id})
        return response

    def _refuse(self, request: Request, fault: Fault) -> Response:
        if more := GATEWAY.get(fault.word):
            return respond(fault.status, {"httpCode": str(fault.status), "moreInformation": more}, media=JSON)
        if request.path == "/connexion/jeton":
            return respond(fault.status, {"error": fault.word}, {"Cache-Control": "no-store"}, media=JSON)
        if request.path.startswith("/connexion/"):
            return show(fault.status, "Banque de l'Isère", f"<p>{fault.place}</p>")
        if request.path.startswith("/cle-isere/"):
            return respond(fault.status, {"code": fault.word}, media=JSON)
        message, places = fault.word.replace("_", " ").capitalize(), fault.more.get("places", [fault.place])
        wrong = [{"code": fault.word, "message": message, "chemin": place} for place in places]
        trace = {"idTrace": self._code(16).lower(), "horodatage": self.clock.now.astimezone(PARIS).isoformat()}
        return respond(fault.status, {**trace, "erreurs": wrong}, media=JSON)

    def _code(self, length: int) -> str:
        return "".join(self._random.choices("ABCDEFGHKLMNPRSTUVWX0123456789", k=length))

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(PARIS).date()

    def _open(self, label: str, number: int, cents: int, overdraft: int) -> Account:
        rest = f"3821900417{number:011}{97 - (89 * 38_219 + 15 * 417 + 3 * number) % 97:02}"
        account = Account(f"FR{check_digits('FR', rest)}{rest}", label, cents, overdraft)
        for step in range(24, 0, -1):
            day = self._today - timedelta(days=6 * step - self._random.randrange(4))
            change, shop = self._random.randrange(-15_000, 8_000), self._random.choice(SHOPS)
            self._enter(account, day, change, [shop, f"LE {day:%d/%m}"])
        return account

    def _enter(self, account: Account, day: date, cents: int, lines: list[str]) -> None:
        entry = {"reference": f"ISR{day:%Y%m%d}{self._random.randrange(10_000, 100_000)}", "etatOperation": "BOOK"}
        account.entries.insert(0, {**entry, "dateComptable": str(day), **self._amount(cents), "libelles": lines})
        account.entries.sort(key=lambda one: str(one["dateComptable"]), reverse=True)

    def _amount(self, cents: int) -> dict[str, Any]:
        return {"montant": write_amount(cents), "sens": "DBIT" if cents < 0 else "CRDT"}

    def _advance(self) -> None:
        now = self.clock.now
        for one in self._things.values():
            minutes, state, reason = WAITS.get(one.state, (0, "", ""))
            if minutes and now >= one.since + timedelta(minutes=minutes):
                one.turn(state, reason)
            elif one.state == "ACTIF" and self._today > one.ends:
                one.turn("EXPIRE")
            elif one.state == "PLAN" and now >= (begins := datetime.combine(one.ends, time(6), PARIS)):
                self._accept(one, begins)
            while one.state in ("ACSP", "PART") and one.payer:
                due = one.since + timedelta(minutes=40 + 20 * one.settled)
                if now < due:
                    break
                one.payer.cents -= (cents := one.amounts[one.settled])
                self._enter(one.payer, due.astimezone(PARIS).date(), -cents, self._lines(one, one.settled))
                one.settled += 1
                one.state = "PART" if one.settled < len(one.amounts) else "ACSC"

    def _lines(self, payment: Thing, place: int) -> list[str]:
        who, row = payment.document["beneficiaire"]["nom"], payment.document["operations"][place]
        return [f"VIR SEPA {who.upper()}", *row["motif"]]

    def _accept(self, payment: Thing, moment: datetime) -> None:
        if payment.ends > moment.astimezone(PARIS).date():
            payment.turn("PLAN")
        elif payment.payer and sum(payment.amounts) <= self._available(payment.payer):
            payment.turn("ACSP", since=moment)
        else:
            payment.turn("RJCT", "AM04")

    def _pending(self, account: Account) -> list[tuple[Thing, int]]:
        running = [one for one in self._things.values() if one.state in ("ACSP", "PART") and one.payer is account]
        return [(one, place) for one in running for place in range(one.settled, len(one.amounts))]

    def _available(self, account: Account) -> int:
        return account.cents + account.overdraft - sum(one.amounts[place] for one, place in self._pending(account))

    def _keep(self, kind: str, visit: Visit) -> str:
        key = kind + self._code(26)
        self._visits[key] = visit
        return key

    def _visit(self, kind: str, key: str) -> Visit | None:
        """All but access tokens are good once."""
        visit = self._visits.get(key) if key.startswith(kind) else None
        if visit and kind != "AT":
            del self._visits[key]
        return visit if visit and visit.ends > self.clock.now else None

    def _authorize(self, request: Request) -> Response:
        app, back, scope = (request.query.get(name, "") for name in ("client_id", "redirect_uri", "scope"))
        if app not in APPS or not back.startswith(APPS[app][1]) or "aisp" not in scope.split():
            raise Fault(400, "PAGE", "Cette application n'est pas connue de la banque.")
        now, state = self.clock.now, request.query.get("state", "")
        return self._ask(Visit(app, scope, now, now + timedelta(minutes=10), back=back, state=state))

    def _show_payment(self, request: Request, page: str) -> Response:
        payment = next((one for one in self._things.values() if one.secret == page and one.state == "RCVD"), None)
        if not payment:
            raise Fault(410, "PAGE", "Cette demande n'attend plus votre accord.")
        began = payment.since
        return self._ask(Visit(payment.app, "pisp", began, began + timedelta(minutes=20), payment=payment))

    def _ask(self, visit: Visit, hint: str = "") -> Response:
        """Show the first form, or the second one to a customer who is known."""
        fields, payment = f'<input type="hidden" name="session" value="{self._keep("SE", visit)}">', visit.payment
        if visit.customer is NOBODY:
            fields += '<input name="identifiant"><input name="codeSecret" type="password"><button>Continuer</button>'
        else:
            ibans = [one.iban for one in visit.customer.accounts] if payment and not payment.payer else []
            fields += "".join(f'<input type="radio" name="compte" value="{iban}">' for iban in ibans)
            fields += '<input name="codeSms"><button name="choix" value="accepter">Accepter</button>'
            fields += '<button name="choix" value="refuser">Refuser</button>'
        text = hint or (payment.text if payment else Thing.text)
        return show(200, "Connexion", f'<p>{text}</p><form method="post" action="/connexion/suite">{fields}</form>')

    def _go_on(self, request: Request) -> Response:
        now, accepts = self.clock.now, request.field("choix") == "accepter"
        if not (visit := self._visit("SE", request.field("session"))):
            raise Fault(410, "PAGE", "Votre session est terminée.")
        if (customer := visit.customer) is NOBODY:
            given = request.field("identifiant"), request.field("codeSecret")
            customer = next((one for one in self._customers if (one.number, one.secret) == given), NOBODY)
            return self._ask(replace(visit, customer=customer), "" if customer.sms else "Code secret incorrect.")
        if request.field("codeSms") != customer.sms:
            return self._ask(visit, "Code SMS incorrect.")
        back, query = visit.back, {"error": "access_denied", "state": visit.state}
        if payment := visit.payment:
            payer = customer.find(payment.payer.iban if payment.payer else request.field("compte"))
            if not payer:
                return self._ask(visit, "Choisissez l'un de vos comptes.")
            payment.payer, payment.secret = payer, self._code(10)
            payment.turn(*(("AUTC", "", now) if accepts else ("RJCT", "CUST")))
            back = payment.document["retour"]["succes" if accepts else "echec"]
            query = {"demande": payment.id} | ({"facteur": payment.secret} if accepts else {"motif": "CUST"})
        elif accepts:
            code = self._keep("CA", replace(visit, began=now, ends=now + timedelta(minutes=2)))
            query = {"code": code, "state": visit.state}
        return Response(302, "", {"Location": f"{back}?{urlencode(query)}"})

    def _give_token(self, request: Request) -> Response:
        now, kind, seconds = self.clock.now, request.field("grant_type"), 3600
        ids = {base64.b64encode(f"{app}:{secret}".encode()).decode(): app for app, (secret, _) in APPS.items()}
        if not (app := ids.get(request.headers.get("authorization", "").removeprefix("Basic "))):
            raise Fault(401, "invalid_client")
        found = self._visit("CA", request.field("code")) or self._visit("RT", request.field("refresh_token"))
        if kind == "client_credentials":
            found, seconds = Visit(app, "pisp", now, now), 10_800
        if not found or found.app != app:
            raise Fault(400, "invalid_grant")
        token = self._keep("AT", replace(found, ends=now + timedelta(seconds=seconds)))
        document = {"access_token": token, "token_type": "Bearer", "expires_in": seconds, "scope": found.scope}
        if kind != "client_credentials":
            document["refresh_token"] = self._keep("RT", replace(found, ends=found.began + timedelta(days=180)))
        return respond(200, document, {"Cache-Control": "no-store"}, media=JSON)

    def _enter_product(self, request: Request, scope: str) -> Visit:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        visit = self._visit("AT", token)
        if kind != "Bearer" or not visit:
            raise Fault(401, "TOKEN")
        if not re.fullmatch(r"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}", request.headers.get("x-request-id", "")):
            raise Fault(400, "ENTETE_INVALIDE", "X-Request-ID")
        if scope not in visit.scope.split():
            raise Fault(403, "PERIMETRE_JETON", scope)
        return visit

    def _ask_consent(self, request: Request) -> Response:
        visit, body = self._enter_product(request, "aisp"), request.document
        document = {name: body.get(name) or [] for name in ("soldes", "operations")}
        rows = [(f"{name}[{place}].iban", row) for name, those in document.items() for place, row in enumerate(those)]
        wrong = [place for place, row in rows if not visit.customer.find(inner(row, "iban"))]
        days = body.get("dureeJours")
        if wrong or not rows or type(days) is not int or not 1 <= days <= 180:
            raise Fault(400, "FORMAT_INVALIDE", places=wrong or ["dureeJours" if rows else "soldes"])
        ibans = {row["iban"] for _, row in rows}
        accounts = {self._code(20): one for one in visit.customer.accounts if one.iban in ibans}
        id, ends = f"CST{self._code(12)}", self._today + timedelta(days=days)
        consent = Thing(id, visit.app, "aisp", document, "ATTENTE_CLIENT", self.clock.now, ends, accounts=accounts)
        consent.customer, consent.demand = visit.customer, self._random.randrange(100_000, 1_000_000)
        return self._tell_consent(201, self._things.setdefault(id, consent))

    def _thing(self, request: Request, scope: str, id: str) -> Thing:
        visit, one = self._enter_product(request, scope), self._things.get(id)
        if not one or (one.app, one.scope) != (visit.app, scope) or visit.customer not in (NOBODY, one.customer):
            raise Fault(404, "RESSOURCE_INCONNUE", id)
        return one

    def _tell_consent(self, status: int, consent: Thing) -> Response:
        links = {"self": f"{AIS}/consentements/{consent.id}"}
        document = {"idConsentement": consent.id, "etatConsentement": consent.state, "finValidite": str(consent.ends)}
        if consent.state == "ACTIF":
            links["comptes"] = f"{AIS}/comptes"
        return tell(status, document | consent.document, links, links["self"] if status == 201 else "")

    def _revoke(self, request: Request, id: str) -> Response:
        consent = self._thing(request, "aisp", id)
        consent.turn("REVOQUE")
        return self._tell_consent(200, consent)

    def _active(self, app: str, customer: Customer) -> Thing | None:
        mine = [one for one in self._things.values() if one.app == app and one.customer is customer]
        return next((one for one in mine if one.state == "ACTIF"), None)

    def _list_accounts(self, request: Request) -> Response:
        visit, rows = self._enter_product(request, "aisp"), []
        consent = self._active(visit.app, visit.customer)
        for id, account in consent.accounts.items() if consent else [("", one) for one in visit.customer.accounts]:
            row: dict[str, Any] = {"compteId": {"iban": account.iban}, "libelle": account.label, "devise": "EUR"}
            if consent:
                names = [name for name, those in consent.document.items() if {"iban": account.iban} in those]
                links = {name: {"href": f"{AIS}/comptes/{id}/{name}"} for name in names}
                row = {"idRessource": id, **row, "_links": links}
            rows.append(row)
        more = {} if consent else {"consentement": f"{AIS}/consentements"}
        return tell(200, {"comptes": rows}, {"self": request.path, **more})

    def _find(self, request: Request, id: str, product: str) -> Account:
        visit = self._enter_product(request, "aisp")
        if not (consent := self._active(visit.app, visit.customer)):
            raise Fault(403, "CONSENTEMENT_ABSENT", product)
        if not (account := consent.accounts.get(id)):
            raise Fault(404, "RESSOURCE_INCONNUE", id)
        if {"iban": account.iban} not in consent.document[product]:
            raise Fault(403, "CONSENTEMENT_INSUFFISANT", product)
        return account

    def _balances(self, request: Request, id: str) -> Response:
        account = self._find(request, id, "soldes")
        both = (("CLBD", account.cents), ("ITAV", self._available(account)))
        rows = [{"typeSolde": kind, **self._amount(cents)} for kind, cents in both]
        return tell(200, {"soldes": rows, "dateReference": str(self._today)}, {"self": request.path})

    def _list_entries(self, request: Request, id: str) -> Response:
        account, start, day = self._find(request, id, "operations"), 0, self._today - timedelta(days=30)
        wish = {"dateDebut": str(day), "dateFin": "9999-12-31", "taille": "10", **request.query}
        if suite := request.query.get("suite"):
            path, start, wish = self._cursors.get(suite, ("", 0, {}))
            if path != request.path or len(request.query) > 1:
                raise Fault(400, "PARAMETRE_INVALIDE", "suite")
        if wish["dateDebut"] > wish["dateFin"]:
            raise Fault(400, "PARAMETRE_INVALIDE", "dateFin")
        rows: list[dict[str, Any]] = [
            {"etatOperation": "PDNG", **self._amount(-one.amounts[place]), "libelles": self._lines(one, place)}
            for one, place in self._pending(account)
        ]
        rows += [one for one in account.entries if wish["dateDebut"] <= one["dateComptable"] < wish["dateFin"]]
        end, links = start + int(wish["taille"]), {"self": request.path}
        if end < len(rows):
            code = self._code(12)
            self._cursors[code] = request.path, end, wish
            links["suivant"] = f"{request.path}?suite={code}"
        page = {"retournees": len(rows[start:end]), "restantes": max(len(rows) - end, 0)}
        document = {"_embedded": {"operations": rows[start:end]}, "_page": page}
        return tell(200, document, links) if rows else Response(204)

    def _cover(self, request: Request) -> Response:
        visit, body = self._enter_product(request, "cbpii"), request.document
        account, cents = visit.customer.find(inner(body, "compteId", "iban")), read_cents(body.get("montant"))
        if not account or not cents:
            raise Fault(400, "FORMAT_INVALIDE", "montant" if account else "compteId.iban")
        return tell(200, {"demande": body, "resultat": cents <= self._available(account)}, {"self": COVERAGE})

    def _ask_payment(self, request: Request) -> Response:
        visit, body = self._enter_product(request, "pisp"), request.document
        document = {name: body[name] for name in "beneficiaire dateExecution retour".split() if name in body}
        number, iban = inner(body, "donneurOrdre", "identifiantClient"), inner(body, "donneurOrdre", "compte", "iban")
        people = [one for one in self._customers if number in (None, one.number)]
        payer = next((account for one in people if (account := one.find(iban))), None)
        rows = body["operations"] if isinstance(body.get("operations"), list) else []
        amounts = [read_cents(inner(row, "montant")) for row in rows]
        day = date.fromisoformat(str(body.get("dateExecution", self._today)))
        is_right = {
            "beneficiaire.nom": isinstance(inner(body, "beneficiaire", "nom"), str),
            "beneficiaire.compte.iban": is_iban(inner(body, "beneficiaire", "compte", "iban")),
            "donneurOrdre.identifiantClient": people,
            "donneurOrdre.compte.iban": payer or not iban,
            "operations": 1 <= len(rows) <= 3,
            "dateExecution": day >= self._today,
            "retour": number or {"succes", "echec"} <= set(body.get("retour") or ()),
        }
        for place, row in enumerate(rows):
            is_right[f"operations[{place}].endToEndId"] = isinstance(inner(row, "endToEndId"), str)
            is_right[f"operations[{place}].montant.valeur"] = amounts[place]
            is_right[f"operations[{place}].motif"] = isinstance(inner(row, "motif"), list)
        if places := [name for name, is_so in is_right.items() if not is_so]:
            raise Fault(400, "FORMAT_INVALIDE", places=places)
        used = {(visit.app, str(row["endToEndId"])) for row in rows}
        if used & self._used:
            raise Fault(409, "E2E_EN_DOUBLE", "operations")
        if payer and sum(amounts) > self._available(payer):
            raise Fault(422, "SOLDE_INSUFFISANT", "donneurOrdre.compte.iban")
        self._used |= used
        document["operations"] = [row | {"montant": write_amount(read_cents(row["montant"]))} for row in rows]
        id, links = f"DP{self._today:%y}-{self._random.randrange(10**8, 10**9)}", {}
        payment = Thing(id, visit.app, "pisp", document, "RCVD", self.clock.now, day, payer=payer, amounts=amounts)
        payment.text = f"Payer {write_amount(sum(amounts))['valeur']} EUR à {document['beneficiaire']['nom']} ?"
        self._things[id] = payment
        if number:
            payment.demand, payment.customer = self._random.randrange(100_000, 1_000_000), people[0]
            payment.payer = payer or people[0].accounts[0]
        else:
            payment.secret = self._code(16)
            links["consentApproval"] = f"{request.origin}/connexion/paiement/{payment.secret}"
        return tell(201, {"modeRetenu": "DECOUPLED" if number else "REDIRECT"}, links, f"{PIS}/{id}")

    def _tell_payment(self, payment: Thing) -> Response:
        state, links, rows = payment.state, {"self": f"{PIS}/{payment.id}"}, []
        for place, row in enumerate(payment.document["operations"]):
            own = {"RCVD": "PDNG", "AUTC": "PDNG", "PLAN": "PDNG", "PART": "ACSP"}.get(state, state)
            rows.append({**row, "statutOperation": "ACSC" if place < payment.settled else own})
        reason: dict[str, Any] = {"motifStatut": payment.reason} if payment.reason else {}
        document = {"idRessource": payment.id, "statut": state, **reason}
        document |= {"nombreOperations": str(len(rows)), "montantTotal": write_amount(sum(payment.amounts))}
        document |= payment.document | {"operations": rows}
        if payment.payer:
            document["donneurOrdre"] = {"compte": {"iban": payment.payer.iban}}
        if state == "AUTC":
            links["confirmation"] = links["self"] + "/confirmation"
        return tell(200, {"demandePaiement": document}, links)

    def _cancel(self, request: Request, id: str) -> Response:
        payment, body = self._thing(request, "pisp", id), request.document
        if (body.get("statut"), body.get("motifStatut")) != ("CANC", "DS02"):
            raise Fault(400, "FORMAT_INVALIDE", "statut")
        if payment.state not in ("RCVD", "AUTC", "PLAN"):
            raise Fault(409, "STATUT_INCOMPATIBLE", payment.state)
        payment.turn("CANC", "DS02")
        return self._tell_payment(payment)

    def _confirm(self, request: Request, id: str) -> Response:
        payment, factor = self._thing(request, "pisp", id), request.document.get("facteurAuthentification")
        if payment.state != "AUTC":
            raise Fault(409, "STATUT_INCOMPATIBLE", payment.state)
        if factor != payment.secret:
            raise Fault(403, "FACTEUR_INVALIDE", "facteurAuthentification")
        self._accept(payment, self.clock.now)
        return self._tell_payment(payment)

    def _demands(self, request: Request) -> tuple[Customer, list[Thing]]:
        phone = request.headers.get("x-appareil")
        if not (customer := next((one for one in self._customers if one.phone == phone), None)):
            raise Fault(401, "APPAREIL_INCONNU")
        waiting = [one for one in self._things.values() if one.state in ("ATTENTE_CLIENT", "RCVD")]
        return customer, [one for one in waiting if one.customer is customer]

    def _list_demands(self, request: Request) -> Response:
        rows = [{"idDemande": it.demand, "idObjet": it.id, "texte": it.text} for it in self._demands(request)[1]]
        return respond(200, {"demandes": rows}, media=JSON)

    def _reply(self, request: Request, number: str) -> Response:
        (customer, things), body = self._demands(request), request.document
        thing = next((one for one in things if str(one.demand) == number), None)
        if not thing:
            raise Fault(404, "DEMANDE_CLOSE")
        if body.get("pin") != customer.pin:
            raise Fault(403, "PIN_ERRONE")
        accepts, is_consent = body.get("choix") == "OUI", thing.scope == "aisp"
        if not accepts:
            thing.turn(*(("REFUSE",) if is_consent else ("RJCT", "CUST")))
        elif is_consent:
            if before := self._active(thing.app, customer):
                before.turn("REMPLACE")
            thing.turn("ACTIF")
        else:
            self._accept(thing, self.clock.now)
        return respond(200, {"idDemande": thing.demand, "suite": "VALIDEE" if accepts else "REJETEE"}, media=JSON)
