"""Rhône, a French-speaking bank with an interface of its own: customers give accords, and an app makes virements.

- The app sends its key in X-Cle-Api (401 if it is missing or unknown); reads of accounts and new payments also send the
  accord in X-Accord: 400 without it, 403 if it is unknown, not ACTIF, or has not the perimeter.
- Answers have one member with the name of the thing. Errors are `{"anomalie": {"code", "libelle", "incident",
  "champs"?}}`: 400 if a member is missing, 422 if it is wrong. Another app's things give 404.
- POST `/api/accords` with the customer's number, `perimetre` and `finValidite` (within 180 days). An accord is
  A_VALIDER, then ACTIF, REFUSE_CLIENT, REVOQUE (by DELETE, 204) or ECHU (the day after `finValidite`).
- Approval is decoupled: as long as a thing waits, it has a `validation` with a `demande`. The bank's app posts
  number, secret code and choice to `/mobile/demandes/{demande}/reponse`. A wrong code gives 401 with the tries that are
  left; the third refuses the thing. After ten minutes the thing is SANS_REPONSE; a demand that is over gives 410.
- Amounts are texts with a comma; the sign is in `sens`. Entries are newest first, filtered by `du`, `au` and `sens`.
  Lists have `page` and `parPage` (1 to 50), with totals; a page beyond the last gives 404.
- POST `/api/virements`: EN_ATTENTE_CLIENT, VALIDE, TRANSMIS after two minutes, EXECUTE after ten; or REFUSE_CLIENT, or
  REJETE with `motifRejet` if the account does not cover it when the customer confirms. PATCH `{"etat": "ANNULE"}` until
  it is TRANSMIS, 409 afterwards. A `referenceApp` that was used before gives 409.
- POST `/api/virements-permanents`: standing orders, with a `situation`: A_CONFIRMER, EN_COURS, SUSPENDU and back by
  PUT `…/situation`, RESILIE by DELETE (200). At each due day they make an entry.
- A VALIDE or TRANSMIS virement lowers the balance DISPONIBLE, an executed one the balance COMPTABLE.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond

PERIMETRE = ("comptes", "soldes", "mouvements", "virements")
CLES = {"cle-carnet-7Q2M9X": "Carnet", "cle-tirelire-4B8K1Z": "Tirelire"}
SHOPS = "Boulangerie Paul Vial|Monoprix Bellecour|TCL Lyon|Pharmacie Perrache|EDF|Librairie Passages".split("|")
PERIODS = {"HEBDOMADAIRE": 0, "MENSUELLE": 1, "TRIMESTRIELLE": 3}
PENDING = ("A_VALIDER", "EN_ATTENTE_CLIENT", "A_CONFIRMER")
DELAY = timedelta(minutes=10)
LABELS = {
    "ACCORD_ABSENT": "L'en-tête X-Accord est obligatoire.",
    "ACCORD_INACTIF": "L'accord n'est pas actif.",
    "ACCORD_INCONNU": "L'accord est inconnu.",
    "ADRESSE_INCONNUE": "Il n'y a rien à cette adresse.",
    "CHAMP_ABSENT": "Un champ obligatoire est absent.",
    "CHAMP_INVALIDE": "Un champ a une valeur incorrecte.",
    "CLE_ABSENTE": "L'en-tête X-Cle-Api est obligatoire.",
    "CLE_INCONNUE": "La clé d'API est inconnue.",
    "CODE_SECRET_ERRONE": "L'identifiant ou le code secret est erroné.",
    "CORPS_ILLISIBLE": "Le corps n'est pas un objet JSON.",
    "DEMANDE_CLOSE": "La demande n'attend plus de réponse.",
    "HORS_PERIMETRE": "L'accord ne couvre pas cette opération.",
    "INTROUVABLE": "La ressource est introuvable.",
    "METHODE_INTERDITE": "La méthode est interdite à cette adresse.",
    "PAGE_INEXISTANTE": "La liste n'a pas tant de pages.",
    "PARAMETRE_INVALIDE": "Un paramètre a une valeur incorrecte.",
    "REFERENCE_DEJA_UTILISEE": "La référence appartient à une autre opération.",
    "TRANSITION_IMPOSSIBLE": "L'état actuel ne permet pas ce changement.",
}


@dataclass
class Account:
    reference: str
    iban: str
    intitule: str
    type: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    number: str
    code: str
    accounts: Sequence[Account]


@dataclass
class Thing:
    """An accord, a virement or a standing order, about which the customer is asked by `demande`."""

    kind: str
    app: str
    numero: str
    customer: Customer
    document: dict[str, Any]
    state: str
    demande: str
    asked: datetime
    tries: int = 3
    account: Account | None = None
    cents: int = 0
    confirmed: datetime | None = None
    reason: str = ""
    due: date | None = None

    @property
    def member(self) -> str:
        return "situation" if self.kind == "virementPermanent" else "etat"

    @property
    def path(self) -> str:
        place = {"accord": "accords", "virement": "virements", "virementPermanent": "virements-permanents"}
        return f"/api/{place[self.kind]}/{self.numero}"


def check_digits(country: str, rest: str) -> str:
    digits = "".join(str(int(sign, 36)) for sign in rest + country + "00")
    return f"{98 - int(digits) % 97:02}"


def is_iban(text: Any) -> bool:
    if not isinstance(text, str) or not re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text):
        return False
    return check_digits(text[:2], text[4:]) == text[2:4]


def write_amount(cents: int) -> str:
    return f"{abs(cents) // 100},{abs(cents) % 100:02}"


def read_day(text: Any) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except (TypeError, ValueError):
        return None


def write_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00")


def next_due(day: date, period: str, first: date) -> date:
    if not (months := PERIODS[period]):
        return day + timedelta(days=7)
    month = day.month - 1 + months
    return date(day.year + month // 12, month % 12 + 1, min(first.day, 28))


class Rhone:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"rhone {seed}")
        self._things: dict[str, Thing] = {}
        self._references: set[tuple[str, str]] = set()
        first = [
            ("Compte courant", "COURANT", "00040718253", 284_163),
            ("Livret bleu", "LIVRET", "00040718261", 912_540),
        ]
        second = [
            ("Compte joint", "COURANT", "00062950417", 467_391),
            ("Compte travaux", "COURANT", "00062950425", 158_006),
            ("Livret jeune", "LIVRET", "00062950433", 60_075),
        ]
        self._customers = [
            Customer("18402277", "4071", [self._open(*one) for one in first]),
            Customer("39115064", "8526", [self._open(*one) for one in second]),
        ]
        accord, account = "/api/accords/{id}", "/api/comptes/{id}"
        transfer, standing = "/api/virements/{id}", "/api/virements-permanents/{id}"
        self._routes = Routes(
            ("POST", "/api/accords", self._ask_accord),
            ("GET", accord, lambda request, id: self._tell(200, self._own(request, "accord", id))),
            ("DELETE", accord, self._revoke),
            ("GET", "/api/comptes", self._list_accounts),
            ("GET", account + "/soldes", self._balances),
            ("GET", account + "/mouvements", self._entries),
            ("POST", "/api/virements", self._pay),
            ("GET", transfer, lambda request, id: self._tell(200, self._own(request, "virement", id))),
            ("PATCH", transfer, self._cancel),
            ("POST", "/api/virements-permanents", self._order),
            ("GET", standing, lambda request, id: self._tell(200, self._own(request, "virementPermanent", id))),
            ("PUT", standing + "/situation", self._change),
            ("DELETE", standing, self._end),
            ("POST", "/mobile/demandes/{code}/reponse", self._reply),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        headers = {}
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute as wrong:
            fault = Fault(405, "METHODE_INTERDITE") if wrong.allowed else Fault(404, "ADRESSE_INCONNUE")
            if wrong.allowed:
                headers["Allow"] = ", ".join(wrong.allowed)
        except Fault as error:
            fault = error
        document = {"code": fault.word, "libelle": LABELS[fault.word], "incident": f"INC-{self._digits(8)}"}
        return respond(fault.status, {"anomalie": document | fault.more}, headers)

    # What the bank makes and what time does

    def _digits(self, length: int) -> str:
        return "".join(self._random.choices("0123456789", k=length))

    def _open(self, name: str, kind: str, number: str, cents: int) -> Account:
        rest = f"1987500069{number}{self._digits(2)}"
        reference = f"CPT{self._digits(7)}"
        account = Account(reference, f"FR{check_digits('FR', rest)}{rest}", name, kind, cents)
        for days in sorted(self._random.sample(range(1, 88), 41), reverse=True):
            change = self._random.choice((-1, -1, 1)) * self._random.randrange(210, 18_000)
            day, kind = self.clock.today - timedelta(days=days), "CARTE" if change < 0 else "REMBOURSEMENT"
            self._enter(account, day, change, self._random.choice(SHOPS), kind, "Achat")
        return account

    def _enter(self, account: Account, day: date, cents: int, who: str, kind: str, text: str) -> None:
        entry = {
            "reference": f"MVT{self._digits(11)}",
            "dateOperation": day.isoformat(),
            "type": kind,
            "montant": write_amount(cents),
            "sens": "DEBIT" if cents < 0 else "CREDIT",
            "devise": "EUR",
            "contrepartie": who,
            "libelle": text,
        }
        account.entries.insert(0, entry)
        account.entries.sort(key=lambda one: one["dateOperation"], reverse=True)

    def _advance(self) -> None:
        now, today = self.clock.now, self.clock.today
        for thing in self._things.values():
            if thing.state in PENDING and now - thing.asked >= DELAY:
                thing.state = "SANS_REPONSE"
            if thing.kind == "accord" and thing.state == "ACTIF" and thing.document["finValidite"] < today.isoformat():
                thing.state = "ECHU"
            passed = now - thing.confirmed if thing.confirmed else timedelta()
            if thing.state == "VALIDE" and passed >= timedelta(minutes=2):
                thing.state = "TRANSMIS"
            if thing.state == "TRANSMIS" and passed >= DELAY and thing.confirmed:
                thing.state = "EXECUTE"
                self._debit(thing, (thing.confirmed + DELAY).date(), "VIREMENT")
            while thing.state in ("EN_COURS", "SUSPENDU") and thing.due and thing.due <= today:
                if thing.state == "EN_COURS" and thing.account and thing.cents <= self._available(thing.account):
                    self._debit(thing, thing.due, "VIREMENT_PERMANENT")
                first = date.fromisoformat(thing.document["premiereEcheance"])
                thing.due = next_due(thing.due, thing.document["periodicite"], first)

    def _debit(self, thing: Thing, day: date, kind: str) -> None:
        if thing.account:
            thing.account.cents -= thing.cents
            document = thing.document
            self._enter(thing.account, day, -thing.cents, document["beneficiaire"]["nom"], kind, document["motif"])

    def _available(self, account: Account) -> int:
        held = [one for one in self._things.values() if one.state in ("VALIDE", "TRANSMIS") and one.account is account]
        return account.cents - sum(one.cents for one in held)

    # What requests bring

    def _app(self, request: Request) -> str:
        key = request.headers.get("x-cle-api")
        if not key:
            raise Fault(401, "CLE_ABSENTE")
        if key not in CLES:
            raise Fault(401, "CLE_INCONNUE")
        return CLES[key]

    def _document(self, request: Request, *names: str) -> dict[str, Any]:
        """The body, which has these members; a dot leads into a member."""
        try:
            document = request.document
        except ValueError:
            raise Fault(400, "CORPS_ILLISIBLE") from None
        missing = []
        for name in names:
            value: Any = document
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if value is None:
                missing.append({"nom": name, "motif": "ABSENT"})
        if missing:
            raise Fault(400, "CHAMP_ABSENT", champs=missing)
        return document

    def _check(self, wrong: dict[str, str]) -> None:
        if wrong:
            raise Fault(422, "CHAMP_INVALIDE", champs=[{"nom": name, "motif": why} for name, why in wrong.items()])

    def _customer(self, request: Request, part: str) -> Customer:
        app, numero = self._app(request), request.headers.get("x-accord")
        if not numero:
            raise Fault(400, "ACCORD_ABSENT")
        accord = self._things.get(numero)
        if not accord or accord.kind != "accord" or accord.app != app:
            raise Fault(403, "ACCORD_INCONNU")
        if accord.state != "ACTIF":
            raise Fault(403, "ACCORD_INACTIF", etat=accord.state)
        if part not in accord.document["perimetre"]:
            raise Fault(403, "HORS_PERIMETRE")
        return accord.customer

    def _find(self, request: Request, id: str, part: str) -> Account:
        for account in self._customer(request, part).accounts:
            if account.reference == id:
                return account
        raise Fault(404, "INTROUVABLE")

    def _own(self, request: Request, kind: str, id: str) -> Thing:
        app, thing = self._app(request), self._things.get(id)
        if not thing or thing.app != app or thing.kind != kind:
            raise Fault(404, "INTROUVABLE")
        return thing

    def _tell(self, status: int, thing: Thing) -> Response:
        told = {"numero": thing.numero, thing.member: thing.state, **thing.document}
        if thing.reason:
            told["motifRejet"] = thing.reason
        if thing.kind == "virementPermanent":
            told["prochaineEcheance"] = thing.due.isoformat() if thing.due and thing.state == "EN_COURS" else None
        document: dict[str, Any] = {thing.kind: told}
        if thing.state in PENDING:
            end = write_time(thing.asked + DELAY)
            document["validation"] = {"mode": "APPLICATION_MOBILE", "demande": thing.demande, "expireLe": end}
        return respond(status, document, {"Location": thing.path} if status == 201 else {})

    def _add(self, kind: str, app: str, customer: Customer, document: dict[str, Any]) -> Thing:
        prefix, state = {
            "accord": ("ACD", "A_VALIDER"),
            "virement": ("VIR", "EN_ATTENTE_CLIENT"),
            "virementPermanent": ("VPM", "A_CONFIRMER"),
        }[kind]
        now = self.clock.now
        code = f"DEM-{''.join(self._random.choices('BCDFGHJKLMNPQRSTVWXZ', k=4))}-{self._digits(4)}"
        document |= {"creeLe": write_time(now)}
        thing = Thing(kind, app, prefix + self._digits(9), customer, document, state, code, now)
        self._things[thing.numero] = thing
        return thing

    # Accords

    def _ask_accord(self, request: Request) -> Response:
        app = self._app(request)
        document = self._document(request, "identifiantClient", "perimetre", "finValidite")
        customer = next((one for one in self._customers if one.number == document["identifiantClient"]), None)
        parts, end, today = document["perimetre"], read_day(document["finValidite"]), self.clock.today
        wrong = {}
        if not customer:
            wrong["identifiantClient"] = "INCONNU"
        if not isinstance(parts, list) or not parts or not all(one in PERIMETRE for one in parts):
            wrong["perimetre"] = "VALEUR"
        if not end:
            wrong["finValidite"] = "FORMAT"
        elif not today <= end <= today + timedelta(days=180):
            wrong["finValidite"] = "VALEUR"
        self._check(wrong)
        kept = {name: document[name] for name in ("identifiantClient", "perimetre", "finValidite")}
        assert customer
        return self._tell(201, self._add("accord", app, customer, kept))

    def _revoke(self, request: Request, id: str) -> Response:
        accord = self._own(request, "accord", id)
        if accord.state not in ("A_VALIDER", "ACTIF"):
            raise Fault(409, "TRANSITION_IMPOSSIBLE", etat=accord.state)
        accord.state = "REVOQUE"
        return Response(204)

    # Accounts

    def _show(self, account: Account) -> dict[str, Any]:
        shown = {"reference": account.reference, "iban": account.iban, "intitule": account.intitule}
        return shown | {"type": account.type, "devise": "EUR"}

    def _number(self, request: Request, name: str, value: int, most: int) -> int:
        text = request.query.get(name, str(value))
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise Fault(400, "PARAMETRE_INVALIDE", champs=[{"nom": name, "motif": "VALEUR"}])
        return int(text)

    def _page(self, request: Request, name: str, rows: Sequence[Any]) -> Response:
        page, size = self._number(request, "page", 1, 10_000), self._number(request, "parPage", 20, 50)
        pages = max(1, -(-len(rows) // size))
        if page > pages:
            raise Fault(404, "PAGE_INEXISTANTE")
        paging = {"page": page, "parPage": size, "totalPages": pages, "totalElements": len(rows)}
        return respond(200, {name: rows[(page - 1) * size : page * size], "pagination": paging})

    def _list_accounts(self, request: Request) -> Response:
        accounts = self._customer(request, "comptes").accounts
        return self._page(request, "comptes", [self._show(one) for one in accounts])

    def _balances(self, request: Request, id: str) -> Response:
        account, rows = self._find(request, id, "soldes"), []
        for nature, cents in (("COMPTABLE", account.cents), ("DISPONIBLE", self._available(account))):
            sens = "DEBITEUR" if cents < 0 else "CREDITEUR"
            rows.append({"nature": nature, "montant": write_amount(cents), "sens": sens, "devise": "EUR"})
        return respond(200, {"compte": id, "arreteLe": write_time(self.clock.now), "soldes": rows})

    def _entries(self, request: Request, id: str) -> Response:
        account, today = self._find(request, id, "mouvements"), self.clock.today
        days = {"du": today - timedelta(days=90), "au": today}
        for name in days:
            if name in request.query:
                if not (day := read_day(request.query[name])):
                    raise Fault(400, "PARAMETRE_INVALIDE", champs=[{"nom": name, "motif": "FORMAT"}])
                days[name] = day
        if days["du"] > days["au"]:
            raise Fault(400, "PARAMETRE_INVALIDE", champs=[{"nom": "au", "motif": "ORDRE"}])
        if (sens := request.query.get("sens")) not in (None, "DEBIT", "CREDIT"):
            raise Fault(400, "PARAMETRE_INVALIDE", champs=[{"nom": "sens", "motif": "VALEUR"}])
        du, au = days["du"].isoformat(), days["au"].isoformat()
        rows = [one for one in account.entries if du <= one["dateOperation"] <= au and sens in (None, one["sens"])]
        return self._page(request, "mouvements", rows)

    # Payments

    def _prepare(self, request: Request, kind: str, *more: str) -> tuple[dict[str, Any], Thing]:
        """Make a payment from the body, of which `more` are members that only this kind has."""
        customer, app = self._customer(request, "virements"), self._app(request)
        names = ("compteDebite", "beneficiaire.nom", "beneficiaire.iban", "montant", "motif", "referenceApp", *more)
        document = self._document(request, *names)
        payee, wrong = document["beneficiaire"], {}
        texts = {"beneficiaire.nom": (payee["nom"], 70), "motif": (document["motif"], 140)}
        texts["referenceApp"] = document["referenceApp"], 35
        for name, (value, most) in texts.items():
            if not isinstance(value, str) or not 1 <= len(value) <= most:
                wrong[name] = "LONGUEUR"
        if not is_iban(payee["iban"]):
            wrong["beneficiaire.iban"] = "CLE_DE_CONTROLE"
        amount = document["montant"]
        if not isinstance(amount, str) or not re.fullmatch(r"\d{1,9},\d\d", amount):
            wrong["montant"] = "FORMAT"
        elif not int(amount.replace(",", "")):
            wrong["montant"] = "VALEUR"
        if "periodicite" in more:
            first = read_day(document["premiereEcheance"])
            if document["periodicite"] not in PERIODS:
                wrong["periodicite"] = "VALEUR"
            if not first:
                wrong["premiereEcheance"] = "FORMAT"
            elif first <= self.clock.today:
                wrong["premiereEcheance"] = "VALEUR"
        self._check(wrong)
        account = next((one for one in customer.accounts if one.reference == document["compteDebite"]), None)
        if not account:
            raise Fault(404, "INTROUVABLE")
        if (app, document["referenceApp"]) in self._references:
            raise Fault(409, "REFERENCE_DEJA_UTILISEE")
        self._references.add((app, document["referenceApp"]))
        kept = {"compteDebite": account.reference, "beneficiaire": {"nom": payee["nom"], "iban": payee["iban"]}}
        kept |= {"montant": amount, "devise": "EUR"} | {name: document[name] for name in ("motif", "referenceApp")}
        kept |= {name: document[name] for name in more}
        thing = self._add(kind, app, customer, kept)
        thing.account, thing.cents = account, int(amount.replace(",", ""))
        return document, thing

    def _pay(self, request: Request) -> Response:
        return self._tell(201, self._prepare(request, "virement")[1])

    def _cancel(self, request: Request, id: str) -> Response:
        thing, document = self._own(request, "virement", id), self._document(request, "etat")
        if document["etat"] != "ANNULE":
            self._check({"etat": "VALEUR"})
        if thing.state not in ("EN_ATTENTE_CLIENT", "VALIDE"):
            raise Fault(409, "TRANSITION_IMPOSSIBLE", etat=thing.state)
        thing.state = "ANNULE"
        return self._tell(200, thing)

    def _order(self, request: Request) -> Response:
        document, thing = self._prepare(request, "virementPermanent", "periodicite", "premiereEcheance")
        thing.due = date.fromisoformat(document["premiereEcheance"])
        return self._tell(201, thing)

    def _change(self, request: Request, id: str) -> Response:
        thing, document = self._own(request, "virementPermanent", id), self._document(request, "situation")
        wanted = document["situation"]
        if wanted not in ("SUSPENDU", "EN_COURS"):
            self._check({"situation": "VALEUR"})
        if {thing.state, wanted} != {"SUSPENDU", "EN_COURS"}:
            raise Fault(409, "TRANSITION_IMPOSSIBLE", situation=thing.state)
        thing.state = wanted
        return self._tell(200, thing)

    def _end(self, request: Request, id: str) -> Response:
        thing = self._own(request, "virementPermanent", id)
        if thing.state not in ("A_CONFIRMER", "EN_COURS", "SUSPENDU"):
            raise Fault(409, "TRANSITION_IMPOSSIBLE", situation=thing.state)
        thing.state = "RESILIE"
        return self._tell(200, thing)

    # The customer's device

    def _reply(self, request: Request, code: str) -> Response:
        thing = next((one for one in self._things.values() if one.demande == code), None)
        if not thing:
            raise Fault(404, "INTROUVABLE")
        if thing.state not in PENDING:
            raise Fault(410, "DEMANDE_CLOSE")
        document = self._document(request, "identifiant", "codeSecret", "choix")
        if (document["identifiant"], document["codeSecret"]) != (thing.customer.number, thing.customer.code):
            thing.tries -= 1
            if not thing.tries:
                thing.state = "REFUSE_CLIENT"
            raise Fault(401, "CODE_SECRET_ERRONE", essaisRestants=thing.tries)
        choice = document["choix"]
        if choice not in ("CONFIRMER", "REFUSER"):
            self._check({"choix": "VALEUR"})
        if choice == "REFUSER":
            thing.state = "REFUSE_CLIENT"
        elif thing.kind != "virement":
            thing.state = "ACTIF" if thing.kind == "accord" else "EN_COURS"
        elif thing.account and thing.cents > self._available(thing.account):
            thing.state, thing.reason = "REJETE", "PROVISION_INSUFFISANTE"
        else:
            thing.state, thing.confirmed = "VALIDE", self.clock.now
        return respond(200, {"demande": code, "choix": choice, "prisEnCompteLe": write_time(self.clock.now)})
