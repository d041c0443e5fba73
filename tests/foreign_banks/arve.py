"""Banque de l'Arve, a French bank whose interface for partners is its own, in French.

- Requests have the partner's key in X-Arve-Cle; without a known one the gateway answers 401, with a `fault` of its own.
  POST `/jetons` with the secret opens a session of 15 minutes: `Authorization: Jeton …`.
- Errors are `{"erreur": {"code", "famille", "libelle", "trace", "details"}}`; a detail has `champ`, `regle`, `recu` and
  perhaps `attendu`. Other partners' resources give 404.
- Days are dd/mm/yyyy, times dd/mm/yyyy hh:mm:ss in Paris. Amounts are text: answers have a comma and two decimals,
  requests a comma or a point. Links are in `_liens`, by name, with `href` and perhaps `methode`.
- POST `/autorisations` with `perimetre`, `dureeJours` (1 to 180) and `contexte`. The `etat` is A_SIGNER, then ACTIVE,
  REFUSEE, ABANDONNEE (not signed in 20 minutes), REVOQUEE (by DELETE, 200) or EXPIREE (after `echeance`).
- The customer signs on two pages: the first asks for identifiant and code and leads to the second, with the accounts to
  tick. A wrong code gives 200 and the first page again. A decision gives 303 to the partner's address, with `contexte`,
  the reference and the outcome. A link that was used gives 410.
- Reads are below the autorisation, for the accounts that are ticked; 403 if it is not ACTIVE or lacks the `perimetre`.
  Operations are newest first, with `sens`, in pages by `debut` and `limite`, from `dateDebut` to `dateFin` (60 days).
- POST `/virements` goes to a beneficiary of the customer's list by its id, or to a name and an IBAN. What is not on the
  list gets at most 500,00. `referencePartenaire` is unique: a second one gives 409.
- `suivi` has the `statut` and its history: A_VALIDER, VALIDE, EN_COURS after 30 seconds and EXECUTE after 3 minutes; a
  deferred one is PLANIFIE until 8 o'clock of its day. It is REJETE then if the account does not cover it; only an
  immediate one is checked before. REFUSE by the customer, EXPIRE if not signed in 20 minutes, ANNULE by PUT
  `…/annulation` with a reason while A_VALIDER, or PLANIFIE until the day before.
- A VALIDE transfer lowers the DISPONIBLE balance, an EXECUTE one also the COMPTABLE one, and is an operation then. The
  customer signs on one page, with identifiant, code, and the code of the text message, 123456 for all.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from tests.foreign_banks.server import Clock, Fault, NoRoute, Request, Response, Routes, respond, show

BASE, TITLE, DAY = "/dsp2/v2", "Banque de l'Arve", "%d/%m/%Y"
PARIS = ZoneInfo("Europe/Paris")
PARTNERS = {"ck_3f9a71d0b2": ("BudgetFacile", "s-marmotte-82"), "ck_e07c44918d": ("ComptaPro", "s-bouquetin-17")}
SCOPES, REASONS = ("COMPTES", "SOLDES", "OPERATIONS", "BENEFICIAIRES"), ("DEMANDE_CLIENT", "DOUBLON", "FRAUDE")
UNLISTED_LIMIT, SMS_CODE = 500_00, "123456"
DEBITS = "CARTE FROMAGERIE DU MOLE|CARTE BOULANGERIE PAYOT|CARTE SNCF VOYAGEURS|PRLV ENERGIE DU FAUCIGNY".split("|")
CREDITS = "VIR ATELIERS DE CLUSES SA|VIR CPAM HAUTE SAVOIE|VIR M PAUL ROSSET".split("|")
ERRORS = {
    "ARV-1001": (401, "ACCES", "Jeton de session absent ou inconnu"),
    "ARV-1002": (401, "ACCES", "Jeton de session expiré"),
    "ARV-1003": (401, "ACCES", "Secret partenaire incorrect"),
    "ARV-2001": (400, "REQUETE", "Corps de requête illisible"),
    "ARV-2002": (400, "REQUETE", "Un ou plusieurs champs sont invalides"),
    "ARV-2003": (400, "REQUETE", "Paramètre invalide"),
    "ARV-3001": (404, "RESSOURCE", "Ressource inconnue"),
    "ARV-4001": (403, "AUTORISATION", "L'autorisation n'est pas active"),
    "ARV-4002": (403, "AUTORISATION", "L'autorisation ne couvre pas cet accès"),
    "ARV-4003": (409, "AUTORISATION", "L'autorisation est déjà close"),
    "ARV-5001": (422, "VIREMENT", "Plafond dépassé pour un bénéficiaire non enregistré"),
    "ARV-5002": (422, "VIREMENT", "Provision insuffisante"),
    "ARV-5003": (409, "VIREMENT", "Référence partenaire déjà utilisée"),
    "ARV-5004": (409, "VIREMENT", "Le virement ne peut plus être annulé"),
}


@dataclass
class Compte:
    id: str
    iban: str
    kind: str
    name: str
    cents: int
    entries: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Customer:
    name: str
    accounts: Sequence[Compte]
    payees: Sequence[dict[str, Any]]


@dataclass
class Thing:
    """An autorisation with the accounts that are ticked, or a virement, which alone has cents, with its payer."""

    partner: str
    path: str
    code: str
    asked: Mapping[str, Any]
    made: datetime
    shown: dict[str, Any]
    day: date | None
    customer: Customer | None = None
    accounts: Sequence[Compte] = ()
    cents: int = 0
    state: str = ""
    signed: datetime | None = None
    step: str = ""
    history: list[dict[str, str]] = field(default_factory=list)

    def turn(self, state: str, at: datetime, **more: str) -> None:
        self.state = state
        self.history.append({"statut": state, "le": write_time(at), **more})


def write_time(at: datetime) -> str:
    return f"{at.astimezone(PARIS):%d/%m/%Y %H:%M:%S}"


def read_day(text: Any) -> date | None:
    try:
        return datetime.strptime(text, DAY).date()
    except (TypeError, ValueError):
        return None


def write_amount(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02}"


def read_amount(text: Any) -> int:
    """In cents; 0 if this is no amount."""
    found = re.fullmatch(r"(\d{1,7})(?:[.,](\d{1,2}))?", text) if isinstance(text, str) else None
    return int(found[1] + (found[2] or "").ljust(2, "0")) if found else 0


def has_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= most


def remainder(iban: str) -> int:
    return int("".join(str(int(sign, 36)) for sign in iban[4:] + iban[:4])) % 97


def is_iban(text: Any) -> bool:
    return isinstance(text, str) and bool(re.fullmatch(r"[A-Z]{2}\d\d[A-Z0-9]{11,30}", text)) and remainder(text) == 1


def refusal(code: str, *details: tuple[str, str, Any], expected: str = "") -> Fault:
    """Each detail has the member, the rule, and what the member was."""
    shown: list[dict[str, Any]] = [{"champ": place, "regle": rule, "recu": value} for place, rule, value in details]
    if expected:
        shown[0]["attendu"] = expected
    return Fault(ERRORS[code][0], code, details=shown)


def check(*rules: tuple[Any, str, str, Any]) -> None:
    """Each rule begins with whether it is kept."""
    if wrong := [rule[1:] for rule in rules if not rule[0]]:
        raise refusal("ARV-2002", *wrong)


class Arve:
    def __init__(self, seed: int = 0, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self._random = random.Random(f"arve {seed}")
        self._sessions: dict[str, tuple[str, datetime]] = {}
        self._things: dict[str, Thing] = {}
        self._logins: dict[tuple[str, str], Customer] = {}
        self._welcome("30571846 914207 MME CLAIRE DUNAND", (2914_63, 6120_00, 480_15), "SCI Gentianes|Garage du Pont")
        self._welcome("30882019 550316 M KARIM BENALI", (1637_08, 3405_50), "Régie Arve|Crèche Sapin|Syndic Bellevue")
        self._welcome("31240775 268890 MME LUCIE FAVRE", (4208_94,), "Studio Danse Sallanches")
        consent, transfer = BASE + "/autorisations/{ref}", BASE + "/virements/{ref}"
        self._routes = Routes(
            ("POST", BASE + "/jetons", self._open_session),
            ("POST", BASE + "/autorisations", self._ask),
            ("GET", consent, lambda request, ref: self._tell(200, self._find(request, ref))),
            ("DELETE", consent, self._revoke),
            ("GET", consent + "/comptes", self._list_accounts),
            ("GET", consent + "/comptes/{id}/soldes", self._balances),
            ("GET", consent + "/comptes/{id}/operations", self._list_entries),
            ("GET", consent + "/beneficiaires", self._list_payees),
            ("POST", BASE + "/virements", self._order),
            ("GET", transfer, lambda request, ref: self._tell(200, self._find(request, ref))),
            ("PUT", transfer + "/annulation", self._cancel),
            ("GET", "/parcours/{code}", lambda _, code: self._page(self._signing(code, "/"))),
            ("POST", "/parcours/{code}/identification", self._identify),
            ("POST", "/parcours/{code}/comptes", self._choose),
            ("POST", "/parcours/{code}/signature", self._sign),
        )

    def answer(self, request: Request) -> Response:
        self._advance()
        trace = f"{self._random.getrandbits(48):012x}"
        if request.path.startswith(BASE) and request.headers.get("x-arve-cle") not in PARTNERS:
            shown = {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "oauth.v2.InvalidApiKey"}}
            return respond(401, {"fault": shown})
        try:
            handler, parameters = self._routes.find(request.method, request.path)
            return handler(request, **parameters)
        except NoRoute:
            fault = refusal("ARV-3001")
        except Fault as error:
            if error.word not in ERRORS:
                return show(error.status, TITLE, error.word)
            fault = error
        _, family, label = ERRORS[fault.word]
        document = {"code": fault.word, "famille": family, "libelle": label, "trace": trace}
        return respond(fault.status, {"erreur": document | fault.more})

    @property
    def _today(self) -> date:
        return self.clock.now.astimezone(PARIS).date()

    def _word(self, length: int, signs: str = "abcdefghijkmnpqrstuvwxyz0123456789") -> str:
        return "".join(self._random.choices(signs, k=length))

    def _iban(self, bank: int) -> str:
        branch, number = self._random.randrange(100, 9_999), self._random.randrange(10**9, 10**11)
        rest = f"{bank:05}{branch:05}{number:011}{97 - (89 * bank + 15 * branch + 3 * number) % 97:02}"
        return f"FR{98 - remainder(f'FR00{rest}'):02}{rest}"

    def _welcome(self, who: str, cents: Sequence[int], payees: str) -> None:
        listed = [{"id": f"ben_{self._word(9)}", "nom": one, "iban": self._iban(30_991)} for one in payees.split("|")]
        number, code, name = who.split(" ", 2)
        accounts = [self._open("LIVRET" if place == 1 else "COURANT", some) for place, some in enumerate(cents)]
        self._logins[number, code] = Customer(name, accounts, listed)

    def _open(self, kind: str, cents: int) -> Compte:
        iban = self._iban(18_747)
        account = Compte(f"cpt_{self._word(10)}", iban, kind, f"{kind.capitalize()} n° {iban[-7:-2]}", cents)
        days = sorted(self._random.sample(range(2, 41), self._random.randint(16, 28)), reverse=True)
        for place, ago in enumerate(days):
            way, labels = ("CREDIT", CREDITS) if place % 4 == 1 else ("DEBIT", DEBITS)
            day, amount = self._today - timedelta(days=ago), self._random.randrange(3_10, 340_00)
            self._enter(account, day, amount, way, self._random.choice(labels))
        return account

    def _enter(self, account: Compte, day: date, cents: int, way: str, label: str, **more: str) -> None:
        entry = {"numero": self._word(11, "0123456789"), "dateOperation": day.strftime(DAY), "libelle": label}
        entry |= {"montant": write_amount(cents), "devise": "EUR", "sens": way, "nature": label.split()[0]}
        account.entries.insert(0, entry | more)

    def _advance(self) -> None:
        now = self.clock.now
        for thing in self._things.values():
            if thing.state in ("A_SIGNER", "A_VALIDER") and now >= thing.made + timedelta(minutes=20):
                thing.turn("EXPIRE" if thing.cents else "ABANDONNEE", thing.made + timedelta(minutes=20))
            if thing.state == "ACTIVE" and thing.day and self._today > thing.day:
                thing.state = "EXPIREE"
            signed = thing.signed or now
            if thing.state == "VALIDE" and now >= signed + timedelta(seconds=30):
                thing.turn("EN_COURS", signed + timedelta(seconds=30))
            settles = datetime.combine(thing.day, time(8), PARIS) if thing.day else signed + timedelta(minutes=3)
            if thing.state in ("EN_COURS", "PLANIFIE") and now >= settles:
                self._settle(thing, settles)

    def _settle(self, transfer: Thing, at: datetime) -> None:
        [payer], shown = transfer.accounts, transfer.shown
        if transfer.cents > self._available(payer, but=transfer):
            transfer.turn("REJETE", at, motif="PROVISION_INSUFFISANTE")
            return
        payer.cents -= transfer.cents
        transfer.turn("EXECUTE", at)
        label, day = f"VIR SEPA {shown['beneficiaire']['nom'].upper()}", at.astimezone(PARIS).date()
        self._enter(payer, day, transfer.cents, "DEBIT", label, motif=shown["motif"], virement=shown["reference"])

    def _available(self, account: Compte, but: Thing | None = None) -> int:
        under_way = [one for one in self._things.values() if one.state in ("VALIDE", "EN_COURS") and one is not but]
        return account.cents - sum(one.cents for one in under_way if one.accounts[0] is account)

    def _open_session(self, request: Request) -> Response:
        key = request.headers["x-arve-cle"]
        if self._body(request).get("secret") != PARTNERS[key][1]:
            raise refusal("ARV-1003")
        token, ends = self._word(40), self.clock.now + timedelta(minutes=15)
        self._sessions[token] = key, ends
        return respond(201, {"jeton": {"valeur": token, "dureeSecondes": 900, "expireLe": write_time(ends)}})

    def _partner(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        key, ends = self._sessions.get(token, ("", self.clock.now))
        if scheme != "Jeton" or key != request.headers["x-arve-cle"]:
            raise refusal("ARV-1001")
        if ends <= self.clock.now:
            raise refusal("ARV-1002")
        return key

    def _body(self, request: Request) -> dict[str, Any]:
        try:
            return request.document
        except ValueError:
            raise refusal("ARV-2001") from None

    def _keep(self, thing: Thing) -> Response:
        thing.turn("A_VALIDER" if thing.cents else "A_SIGNER", thing.made)
        self._things[thing.shown["reference"]] = thing
        return self._tell(201, thing)

    def _tell(self, status: int, thing: Thing) -> Response:
        links: dict[str, Any] = {"soi": {"href": thing.path}}
        if thing.state in ("A_SIGNER", "A_VALIDER"):
            links["validation" if thing.cents else "signature"] = {"href": f"/parcours/{thing.code}"}
        if thing.cents:
            if thing.state in ("A_VALIDER", "PLANIFIE"):
                links["annulation"] = {"href": f"{thing.path}/annulation", "methode": "PUT"}
            followed = {**thing.history[-1], "historique": thing.history}
            return respond(status, {"virement": thing.shown | {"suivi": followed}, "_liens": links})
        if thing.state == "ACTIVE":
            links |= {name: {"href": f"{thing.path}/{name}"} for name in ("comptes", "beneficiaires")}
            links["revocation"] = {"href": thing.path, "methode": "DELETE"}
        return respond(status, {"autorisation": thing.shown | {"etat": thing.state}, "_liens": links})

    def _find(self, request: Request, ref: str) -> Thing:
        partner, thing = self._partner(request), self._things.get(ref)
        if not thing or thing.partner != partner or not request.path.startswith(thing.path):
            raise refusal("ARV-3001", ("reference", "INCONNUE", ref))
        return thing

    def _ask(self, request: Request) -> Response:
        partner, body = self._partner(request), self._body(request)
        scope, days, context = map(body.get, ("perimetre", "dureeJours", "contexte"))
        is_scope = isinstance(scope, list) and "COMPTES" in scope and all(one in SCOPES for one in scope)
        check(
            (is_scope, "perimetre", "VALEUR", scope),
            (isinstance(days, int) and 1 <= days <= 180, "dureeJours", "INTERVALLE", days),
            (has_text(context, 64), "contexte", "LONGUEUR", context),
        )
        now, until = self.clock.now, self._today + timedelta(days=body["dureeJours"])
        reference = "AUT-" + "-".join(self._word(4, "ACDEFGHJKLMNPQRTUVWXY3479") for _ in range(2))
        shown = {"reference": reference, "perimetre": scope, "creeeLe": write_time(now), "echeance": f"{until:{DAY}}"}
        return self._keep(Thing(partner, f"{request.path}/{reference}", self._word(22), body, now, shown, until))

    def _revoke(self, request: Request, ref: str) -> Response:
        consent = self._find(request, ref)
        if consent.state not in ("A_SIGNER", "ACTIVE"):
            raise refusal("ARV-4003", ("etat", "TRANSITION", consent.state))
        consent.state, consent.shown["revoqueeLe"] = "REVOQUEE", write_time(self.clock.now)
        return self._tell(200, consent)

    def _access(self, request: Request, ref: str, scope: str) -> Thing:
        consent = self._find(request, ref)
        if consent.state != "ACTIVE":
            raise refusal("ARV-4001", ("etat", "TRANSITION", consent.state), expected="ACTIVE")
        if scope not in consent.asked["perimetre"]:
            raise refusal("ARV-4002", ("perimetre", "ABSENT", scope))
        return consent

    def _account(self, request: Request, ref: str, id: str, scope: str) -> Compte:
        for account in self._access(request, ref, scope).accounts:
            if account.id == id:
                return account
        raise refusal("ARV-3001", ("compte", "INCONNU", id))

    def _list_accounts(self, request: Request, ref: str) -> Response:
        consent, rows = self._access(request, ref, "COMPTES"), []
        for one in consent.accounts:
            links = {name: {"href": f"{request.path}/{one.id}/{name}"} for name in ("soldes", "operations")}
            row = {"id": one.id, "libelle": one.name, "nature": one.kind, "devise": "EUR", "_liens": links}
            rows.append(row | {"identification": {"iban": one.iban, "bic": "ARVEFR2AXXX"}})
        return respond(200, {"comptes": rows, "nombre": len(rows)})

    def _balances(self, request: Request, ref: str, id: str) -> Response:
        account = self._account(request, ref, id, "SOLDES")
        amounts = {"COMPTABLE": account.cents, "DISPONIBLE": self._available(account)}
        rows = [{"type": kind, "montant": write_amount(cents), "devise": "EUR"} for kind, cents in amounts.items()]
        return respond(200, {"compte": id, "arreteLe": write_time(self.clock.now), "soldes": rows})

    def _list_entries(self, request: Request, ref: str, id: str) -> Response:
        account, query = self._account(request, ref, id, "OPERATIONS"), request.query
        days = [self._today - timedelta(days=60), self._today]
        for place, name in enumerate(("dateDebut", "dateFin")):
            if name in query:
                if not (day := read_day(query[name])):
                    raise refusal("ARV-2003", (name, "FORMAT", query[name]), expected="jj/mm/aaaa")
                days[place] = day
        begin, limit = query.get("debut", "0"), query.get("limite", "20")
        if not begin.isdecimal() or not limit.isdecimal() or not 1 <= int(limit) <= 50:
            raise refusal("ARV-2003", ("limite", "INTERVALLE", limit), expected="1..50")
        start, size = int(begin), int(limit)
        rows = [one for one in account.entries if query.get("sens", one["sens"]) == one["sens"]]
        rows = [one for one in rows if days[0] <= (read_day(one["dateOperation"]) or days[0]) <= days[1]]
        found, links, after = {"debut": start, "limite": size, "total": len(rows)}, {}, start + size
        if after < len(rows):
            links["suivante"] = {"href": f"{request.path}?{urlencode({**query, 'debut': after, 'limite': size})}"}
        return respond(200, {"operations": rows[start:after], "pagination": found, "_liens": links})

    def _list_payees(self, request: Request, ref: str) -> Response:
        customer = self._access(request, ref, "BENEFICIAIRES").customer
        return respond(200, {"beneficiaires": customer.payees if customer else []})

    def _order(self, request: Request) -> Response:
        partner, asked = self._partner(request), self._body(request)
        to, when = (asked[name] if isinstance(asked.get(name), dict) else {} for name in ("beneficiaire", "execution"))
        iban, amount, text, own = map(asked.get, ("compteDebite", "montant", "motif", "referencePartenaire"))
        cents, mode, day = read_amount(amount), when.get("mode"), read_day(when.get("jour"))
        payers = [(who, one) for who in self._logins.values() for one in who.accounts if one.iban == iban]
        wanted = to.get("id", to.get("iban"))
        listed = [one for who, _ in payers for one in who.payees if wanted in (one["id"], one["iban"])]
        is_day = mode == "IMMEDIATE" or (mode == "DIFFEREE" and day and 1 <= (day - self._today).days <= 60)
        check(
            (payers, "compteDebite", "COMPTE_NON_ELIGIBLE", iban),
            (listed or "id" not in to, "beneficiaire.id", "INCONNU", to.get("id")),
            (listed or "id" in to or has_text(to.get("nom"), 70), "beneficiaire.nom", "LONGUEUR", to.get("nom")),
            (listed or "id" in to or is_iban(to.get("iban")), "beneficiaire.iban", "CLE_CONTROLE", to.get("iban")),
            (cents, "montant", "FORMAT", amount),
            (is_day, "execution", "VALEUR", when),
            (has_text(text, 140), "motif", "LONGUEUR", text),
            (has_text(own, 35), "referencePartenaire", "LONGUEUR", own),
        )
        [(owner, payer)], amount = payers, write_amount(cents)
        if any((one.partner, one.shown.get("referencePartenaire")) == (partner, own) for one in self._things.values()):
            raise refusal("ARV-5003", ("referencePartenaire", "UNICITE", own))
        if not listed and cents > UNLISTED_LIMIT:
            raise refusal("ARV-5001", ("montant", "PLAFOND", amount), expected=write_amount(UNLISTED_LIMIT))
        if mode == "IMMEDIATE" and cents > self._available(payer):
            raise refusal("ARV-5002", ("montant", "PROVISION", amount))
        payee = {name: (listed or [to])[0][name] for name in ("nom", "iban")} | {"enregistre": bool(listed)}
        reference = f"VIR{self._word(10, '0123456789')}"
        shown = {"reference": reference, "referencePartenaire": own, "compteDebite": iban, "beneficiaire": payee}
        shown |= {"montant": amount, "devise": "EUR", "motif": text, "execution": when}
        path, day = f"{request.path}/{reference}", day if mode == "DIFFEREE" else None
        rest = shown, day, owner, [payer], cents
        return self._keep(Thing(partner, path, self._word(22), asked, self.clock.now, *rest))

    def _cancel(self, request: Request, ref: str) -> Response:
        transfer, reason = self._find(request, ref), self._body(request).get("raison")
        check((reason in REASONS, "raison", "VALEUR", reason))
        is_early = transfer.day is not None and self._today < transfer.day
        if transfer.state != "A_VALIDER" and not (transfer.state == "PLANIFIE" and is_early):
            raise refusal("ARV-5004", ("suivi.statut", "TRANSITION", transfer.state))
        transfer.turn("ANNULE", self.clock.now, motif=str(reason))
        return self._tell(200, transfer)

    def _signing(self, code: str, path: str) -> Thing:
        thing = next((one for one in self._things.values() if one.code == code and path in one.path), None)
        if not thing:
            raise Fault(404, "<p>Ce lien n'existe pas.</p>")
        if thing.state not in ("A_SIGNER", "A_VALIDER"):
            raise Fault(410, "<p>Ce lien n'est plus valable.</p>")
        return thing

    def _page(self, thing: Thing, hint: str = "") -> Response:
        inputs = '<input name="identifiant"><input name="codeSecret" type="password">'
        if thing.cents:
            asked = f"Virement de {thing.shown['montant']} EUR à {thing.shown['beneficiaire']['nom']}"
            return self._form(thing, "signature", hint, asked, f'{inputs}<input name="codeSms">', "signer", "refuser")
        asked = f"{PARTNERS[thing.partner][0]} demande à consulter vos comptes"
        return self._form(thing, "identification", hint, asked, inputs, "continuer")

    def _form(self, thing: Thing, action: str, hint: str, asked: str, inputs: str, *choices: str) -> Response:
        buttons = "".join(f'<button name="choix" value="{word}">{word}</button>' for word in choices)
        form = f'<form method="post" action="/parcours/{thing.code}/{action}">{inputs}{buttons}</form>'
        return show(200, TITLE, f'<p class="alerte">{hint}</p><p>{asked}</p>{form}')

    def _identify(self, request: Request, code: str) -> Response:
        thing = self._signing(code, "/autorisations/")
        customer = self._logins.get((request.field("identifiant"), request.field("codeSecret")))
        if not customer:
            return self._page(thing, "Identifiant ou code incorrect.")
        thing.customer, thing.step = customer, self._word(16)
        return self._accounts_page(thing, customer)

    def _accounts_page(self, thing: Thing, customer: Customer, hint: str = "") -> Response:
        inputs = f'<input type="hidden" name="etape" value="{thing.step}">'
        for one in customer.accounts:
            inputs += f'<label><input type="checkbox" name="compte" value="{one.id}">{one.name}</label>'
        return self._form(thing, "comptes", hint, f"Bonjour {customer.name}", inputs, "autoriser", "refuser")

    def _choose(self, request: Request, code: str) -> Response:
        thing, is_no = self._signing(code, "/autorisations/"), request.field("choix") == "refuser"
        if not thing.customer or request.field("etape") != thing.step:
            return self._page(thing, "Votre session a expiré, identifiez-vous à nouveau.")
        thing.accounts = [one for one in thing.customer.accounts if one.id in request.form.get("compte", [])]
        if not is_no and not thing.accounts:
            return self._accounts_page(thing, thing.customer, "Choisissez au moins un compte.")
        thing.state, thing.shown["nombreComptes"] = "REFUSEE" if is_no else "ACTIVE", len(thing.accounts)
        outcome, reference = "REFUS" if is_no else "ACCORD", thing.shown["reference"]
        return self._return(thing, contexte=thing.asked["contexte"], autorisation=reference, resultat=outcome)

    def _sign(self, request: Request, code: str) -> Response:
        thing, now = self._signing(code, "/virements/"), self.clock.now
        customer = self._logins.get((request.field("identifiant"), request.field("codeSecret")))
        if customer is not thing.customer or request.field("codeSms") != SMS_CODE:
            return self._page(thing, "Identifiant ou code incorrect.")
        is_no = request.field("choix") == "refuser"
        thing.turn("REFUSE" if is_no else "PLANIFIE" if thing.day else "VALIDE", now)
        thing.signed = None if is_no else now
        return self._return(thing, virement=thing.shown["reference"], statut=thing.state)

    def _return(self, thing: Thing, **told: str) -> Response:
        name, _ = PARTNERS[thing.partner]
        return Response(303, "", {"Location": f"https://{name.lower()}.example/retour/arve?{urlencode(told)}"})
