"""Two journeys of the app BudgetFacile and its customers at the Banque de l'Arve."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import quote_plus
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://budgetfacile.example/retour/arve"
BASE = "/dsp2/v2"
SCOPE = ["COMPTES", "SOLDES", "OPERATIONS", "BENEFICIAIRES"]
CONSENT, TRANSFER = re.compile(r"^AUT-[A-Z0-9]{4}-[A-Z0-9]{4}$"), re.compile(r"^VIR\d{10}$")
DATE, TIME = re.compile(r"^\d\d/\d\d/\d{4}$"), re.compile(r"^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d$")
AMOUNT = re.compile(r"^\d+,\d\d$")
SIGNING = re.compile(r"^/parcours/\w{22}$")
IBAN = re.compile(r"^FR\d{25}$")


def read(amount: Any) -> int:
    """In cents; 0 if this is no amount."""
    return int(amount.replace(",", "")) if isinstance(amount, str) and AMOUNT.search(amount) else 0


def write(cents: int, mark: str = ",") -> str:
    return f"{cents // 100}{mark}{cents % 100:02}"


class ArveApp:
    def __init__(self, walk: Walk, identifiant: str, code: str) -> None:
        self.walk, self._identifiant, self._code = walk, identifiant, code
        self._token: Any = None

    def reference(self, word: str) -> str:
        return f"BF{uuid5(NAMESPACE_URL, f'{self._identifiant} {word}').hex[:16]}"

    def day(self, days: int) -> str:
        return f"{self.walk.now.astimezone(ZoneInfo('Europe/Paris')) + days * DAY:%d/%m/%Y}"

    def call(
        self, name: str, method: str, path: Any, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        headers = {"X-Arve-Cle": "ck_3f9a71d0b2"}
        if self._token:
            headers["Authorization"] = f"Jeton {self._token}"
        return self.walk.step(name, method, path, status, members, headers=headers, **request)

    def refuse(
        self,
        name: str,
        method: str,
        path: Any,
        status: int,
        code: str,
        detail: Expected | None = None,
        **request: Any,
    ) -> None:
        members: dict[str, Any] = {"erreur.code": code, "erreur.trace": re.compile(r"^[0-9a-f]{12}$")}
        members |= {f"erreur.details.0.{member}": value for member, value in (detail or {}).items()}
        self.call(name, method, path, status, members, **request)

    def open_session(self, name: str) -> None:
        members = {"jeton.valeur": re.compile(r"^\w{40}$"), "jeton.dureeSecondes": 900, "jeton.expireLe": TIME}
        self._token = None
        opened = self.call(name, "POST", f"{BASE}/jetons", 201, members, json={"secret": "s-marmotte-82"})
        self._token = opened.find("jeton.valeur")

    def ask(self, name: str, days: int, context: str) -> tuple[Any, Any]:
        """Return the reference and the customer's page."""
        members = {
            "autorisation.reference": CONSENT,
            "autorisation.etat": "A_SIGNER",
            "autorisation.perimetre": SCOPE,
            "autorisation.creeeLe": re.compile(f"^{self.day(0)} "),
            "autorisation.echeance": self.day(days),
            "_liens.signature.href": SIGNING,
        }
        wish = {"perimetre": SCOPE, "dureeJours": days, "contexte": context}
        made = self.call(name, "POST", f"{BASE}/autorisations", 201, members, json=wish)
        return made.find("autorisation.reference"), made.find("_liens.signature.href")

    def login(self, code: str = "") -> dict[str, str]:
        return {"identifiant": self._identifiant, "codeSecret": code or self._code}

    def identify(self, name: str, page: Any) -> Answer:
        members = PAGE | {"page": re.compile('type="checkbox" name="compte"')}
        return self.walk.step(name, "POST", f"{page}/identification", 200, members, data=self.login())

    def tick(self, name: str, page: Any, shown: Answer, count: int, consent: Any, context: str) -> None:
        form = {"etape": shown.fields.get("etape", [""])[0], "compte": shown.fields.get("compte", [])[:count]}
        members = {"@Location": f"{BACK}?contexte={quote_plus(context)}&autorisation={consent}&resultat=ACCORD"}
        self.walk.step(name, "POST", f"{page}/comptes", 303, members, data=form | {"choix": "autoriser"})

    def balances(self, name: str, account: Answer, members: Expected) -> tuple[int, int]:
        """Return the booked and the available balance."""
        expected = {"compte": account.find("comptes.0.id"), "arreteLe": TIME, "soldes.#": 2, **members}
        expected |= {"soldes.0.type": "COMPTABLE", "soldes.1.type": "DISPONIBLE", "soldes.1.devise": "EUR"}
        told = self.call(name, "GET", account.find("comptes.0._liens.soldes.href"), 200, expected)
        return read(told.find("soldes.0.montant")), read(told.find("soldes.1.montant"))

    def transfer(self, payer: Any, to: dict[str, Any], amount: str, text: str, day: str = "") -> dict[str, Any]:
        when = {"mode": "DIFFEREE", "jour": day} if day else {"mode": "IMMEDIATE"}
        order = {"compteDebite": payer, "beneficiaire": to, "montant": amount, "devise": "EUR", "motif": text}
        return order | {"execution": when, "referencePartenaire": self.reference(text)}

    def place(self, name: str, order: dict[str, Any], payee: dict[str, Any]) -> tuple[Any, Any]:
        """Return the reference and the customer's page."""
        same = ("compteDebite", "devise", "motif", "execution", "referencePartenaire")
        members = {f"virement.{member}": order[member] for member in same}
        members |= {
            "virement.reference": TRANSFER,
            "virement.montant": order["montant"].replace(".", ","),
            "virement.beneficiaire.nom": payee.get("nom"),
            "virement.beneficiaire.iban": payee.get("iban"),
            "virement.beneficiaire.enregistre": "id" in payee,
            "virement.suivi.statut": "A_VALIDER",
            "virement.suivi.historique.#": 1,
            "_liens.validation.href": SIGNING,
            "_liens.annulation.methode": "PUT",
        }
        made = self.call(name, "POST", f"{BASE}/virements", 201, members, json=order)
        return made.find("virement.reference"), made.find("_liens.validation.href")

    def sign(self, name: str, page: Any, transfer: Any, state: str) -> None:
        form = self.login() | {"codeSms": "123456", "choix": "signer"}
        members = {"@Location": f"{BACK}?virement={transfer}&statut={state}"}
        self.walk.step(name, "POST", f"{page}/signature", 303, members, data=form)

    def mistype(self, name: str, page: Any, code: str) -> None:
        form = self.login(code) | {"codeSms": "123456", "choix": "signer"}
        members = PAGE | {"page": re.compile("Identifiant ou code incorrect")}
        self.walk.step(name, "POST", f"{page}/signature", 200, members, data=form)

    def follow(self, name: str, transfer: Any, states: list[str], members: Expected | None = None) -> None:
        expected: dict[str, Any] = {"virement.reference": transfer, "virement.suivi.statut": states[-1]}
        expected |= {f"virement.suivi.historique.{place}.statut": state for place, state in enumerate(states)}
        expected |= {"virement.suivi.le": TIME, "virement.suivi.historique.#": len(states), **(members or {})}
        self.call(name, "GET", f"{BASE}/virements/{transfer}", 200, expected)

    def cancel(self, name: str, transfer: Any, reason: str) -> None:
        members = {"virement.suivi.statut": "ANNULE", "virement.suivi.motif": reason, "_liens.annulation": None}
        path = f"{BASE}/virements/{transfer}/annulation"
        self.call(name, "PUT", path, 200, members | {"virement.reference": transfer}, json={"raison": reason})

    def revoke(self, name: str, consent: Any) -> None:
        members = {"autorisation.reference": consent, "autorisation.etat": "REVOQUEE", "_liens.comptes": None}
        members |= {"autorisation.revoqueeLe": re.compile(f"^{self.day(0)} ")}
        self.call(name, "DELETE", f"{BASE}/autorisations/{consent}", 200, members)


def is_active(consent: Any, count: int, days: str) -> dict[str, Any]:
    return {
        "autorisation.reference": consent,
        "autorisation.etat": "ACTIVE",
        "autorisation.echeance": days,
        "autorisation.nombreComptes": count,
        "_liens.signature": None,
        "_liens.comptes.href": f"{BASE}/autorisations/{consent}/comptes",
    }


def has_accounts(count: int) -> dict[str, Any]:
    return {
        "comptes.#": count,
        "nombre": count,
        "comptes.0.id": re.compile(r"^cpt_\w{10}$"),
        "comptes.0.identification.iban": IBAN,
        "comptes.0.identification.bic": "ARVEFR2AXXX",
        "comptes.0.nature": "COURANT",
        "comptes.0.devise": "EUR",
    }


def has_page(start: int, size: int) -> dict[str, Any]:
    return {
        "operations.#": size,
        "operations.0.dateOperation": DATE,
        "operations.0.montant": AMOUNT,
        "operations.0.sens": re.compile("^(DEBIT|CREDIT)$"),
        "operations.0.numero": re.compile(r"^\d{11}$"),
        "pagination.debut": start,
        "pagination.limite": size,
        "pagination.total": int,
        "_liens.suivante.href": str,
    }


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ArveApp(walk, "30571846", "914207")
    members: dict[str, Any] = {"fault.detail.errorcode": "oauth.v2.InvalidApiKey", "erreur": None}
    walk.step("session without a key", "POST", f"{BASE}/jetons", 401, members, json={"secret": "s-marmotte-82"})
    app.open_session("session")
    context, expiry = "foyer 118", app.day(30)
    consent, page = app.ask("autorisation", 30, context)
    below = f"{BASE}/autorisations/{consent}"
    waiting = {"champ": "etat", "recu": "A_SIGNER", "attendu": "ACTIVE"}
    app.refuse("accounts too early", "GET", f"{below}/comptes", 403, "ARV-4001", waiting)
    members = PAGE | {"page": re.compile("BudgetFacile demande à consulter vos comptes")}
    walk.step("customer's page", "GET", page, 200, members)
    choice = app.identify("customer identifies herself", page)
    app.tick("customer ticks two accounts", page, choice, 2, consent, context)
    app.call("autorisation is active", "GET", below, 200, is_active(consent, 2, expiry))
    accounts = app.call("accounts", "GET", f"{below}/comptes", 200, has_accounts(2))
    iban, entries = accounts.find("comptes.0.identification.iban"), accounts.find("comptes.0._liens.operations.href")
    members = {"soldes.0.montant": AMOUNT, "soldes.1.montant": AMOUNT}
    booked, available = app.balances("balances", accounts, members)
    query = {"dateDebut": app.day(-60), "dateFin": app.day(-1), "limite": "5"}
    page_one = app.call("operations", "GET", entries, 200, has_page(0, 5), params=query)
    app.call("more operations", "GET", page_one.find("_liens.suivante.href"), 200, has_page(5, 5))
    wrong = {"champ": "dateDebut", "regle": "FORMAT", "recu": "2025-01-31", "attendu": "jj/mm/aaaa"}
    query = {"dateDebut": "2025-01-31"}
    app.refuse("operations from an ISO day", "GET", entries, 400, "ARV-2003", wrong, params=query)
    members = {"beneficiaires.0.id": re.compile(r"^ben_\w{9}$"), "beneficiaires.0.iban": IBAN}
    payees = app.call("beneficiaries", "GET", f"{below}/beneficiaires", 200, members)

    landlord, garage = payees.pick("beneficiaires"), payees.find("beneficiaires.1") or {}
    friend = {"nom": "Jeanne Perrollaz", "iban": "FR7630006000011234567890189"}
    much = app.transfer(iban, friend, "640.00", "Vélo")
    limit = {"champ": "montant", "regle": "PLAFOND", "recu": "640,00", "attendu": "500,00"}
    app.refuse("transfer above the limit", "POST", f"{BASE}/virements", 422, "ARV-5001", limit, json=much)
    order = app.transfer(iban, {"id": landlord.get("id")}, "785.40", "Loyer juin")
    rent, page = app.place("transfer", order, landlord)
    app.mistype("customer mistypes the code", page, "914270")
    app.sign("customer signs", page, rent, "VALIDE")
    wait(timedelta(seconds=70))
    app.follow("transfer is under way", rent, ["A_VALIDER", "VALIDE", "EN_COURS"])
    wait(timedelta(minutes=3))
    app.follow("transfer is executed", rent, ["A_VALIDER", "VALIDE", "EN_COURS", "EXECUTE"])
    members = {"soldes.0.montant": write(booked - 785_40), "soldes.1.montant": write(available - 785_40)}
    _, available = app.balances("balances after", accounts, members)

    order = app.transfer(iban, friend, "120,00", "Cours de ski")
    stopped, _ = app.place("transfer to cancel", order, friend)
    app.cancel("cancel the transfer", stopped, "DEMANDE_CLIENT")
    order = app.transfer(iban, {"id": garage.get("id")}, write(available + 350_00), "Réparation", app.day(2))
    deferred, page = app.place("deferred transfer", order, garage)
    app.sign("customer signs that too", page, deferred, "PLANIFIE")
    wait(2 * DAY)
    app.refuse("session has expired", "GET", f"{BASE}/virements/{deferred}", 401, "ARV-1002")
    app.open_session("new session")
    members = {"virement.suivi.motif": "PROVISION_INSUFFISANTE"}
    app.follow("deferred transfer is rejected", deferred, ["A_VALIDER", "PLANIFIE", "REJETE"], members)
    app.revoke("revoke the autorisation", consent)
    closed = {"champ": "etat", "recu": "REVOQUEE", "attendu": "ACTIVE"}
    app.refuse("accounts after the revocation", "GET", f"{below}/comptes", 403, "ARV-4001", closed)
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = ArveApp(walk, "30882019", "550316")
    app.open_session("session")
    context, expiry = "foyer 2047", app.day(90)
    consent, page = app.ask("autorisation", 90, context)
    below = f"{BASE}/autorisations/{consent}"
    waiting = {"champ": "etat", "recu": "A_SIGNER", "attendu": "ACTIVE"}
    app.refuse("beneficiaries too early", "GET", f"{below}/beneficiaires", 403, "ARV-4001", waiting)
    walk.step("customer's page", "GET", page, 200, PAGE | {"page": re.compile('name="codeSecret"')})
    choice = app.identify("customer identifies himself", page)
    app.tick("customer ticks one account", page, choice, 1, consent, context)
    app.call("autorisation is active", "GET", below, 200, is_active(consent, 1, expiry))
    accounts = app.call("accounts", "GET", f"{below}/comptes", 200, has_accounts(1))
    iban, entries = accounts.find("comptes.0.identification.iban"), accounts.find("comptes.0._liens.operations.href")
    members: dict[str, Any] = {"soldes.0.montant": AMOUNT, "soldes.1.montant": AMOUNT}
    booked, available = app.balances("balances", accounts, members)
    query = {"dateDebut": app.day(-50), "dateFin": app.day(0), "limite": "4"}
    page_one = app.call("operations", "GET", entries, 200, has_page(0, 4), params=query)
    app.call("more operations", "GET", page_one.find("_liens.suivante.href"), 200, has_page(4, 4))
    wrong = {"champ": "dateFin", "regle": "FORMAT", "recu": "2024-12-24", "attendu": "jj/mm/aaaa"}
    query = {"dateFin": "2024-12-24"}
    app.refuse("operations until an ISO day", "GET", entries, 400, "ARV-2003", wrong, params=query)
    members = {"beneficiaires.0.id": re.compile(r"^ben_\w{9}$"), "beneficiaires.1.iban": IBAN}
    payees = app.call("beneficiaries", "GET", f"{below}/beneficiaires", 200, members)

    council, nursery = payees.pick("beneficiaires"), payees.find("beneficiaires.1") or {}
    painter = {"nom": "Atelier Mermoud Peinture", "iban": "FR1420041010050500013M02606"}
    much = app.transfer(iban, painter, "1250.80", "Façade")
    limit = {"champ": "montant", "regle": "PLAFOND", "recu": "1250,80", "attendu": "500,00"}
    app.refuse("transfer above the limit", "POST", f"{BASE}/virements", 422, "ARV-5001", limit, json=much)
    order = app.transfer(iban, {"id": nursery.get("id")}, "312,65", "Garde de mai")
    paid, page = app.place("transfer", order, nursery)
    app.mistype("customer mistypes the code", page, "550361")
    app.sign("customer signs", page, paid, "VALIDE")
    wait(timedelta(seconds=45))
    app.follow("transfer is under way", paid, ["A_VALIDER", "VALIDE", "EN_COURS"])
    wait(timedelta(minutes=4))
    app.follow("transfer is executed", paid, ["A_VALIDER", "VALIDE", "EN_COURS", "EXECUTE"])
    members = {"soldes.0.montant": write(booked - 312_65), "soldes.1.montant": write(available - 312_65)}
    _, available = app.balances("balances after", accounts, members)

    order = app.transfer(iban, painter, "499.99", "Acompte volets")
    stopped, _ = app.place("transfer to cancel", order, painter)
    app.cancel("cancel the transfer", stopped, "DOUBLON")
    order = app.transfer(iban, {"id": council.get("id")}, write(available + 75, "."), "Charges du syndic", app.day(4))
    deferred, page = app.place("deferred transfer", order, council)
    app.sign("customer signs that too", page, deferred, "PLANIFIE")
    app.follow("deferred transfer is planned", deferred, ["A_VALIDER", "PLANIFIE"])
    wait(4 * DAY)
    app.refuse("session has expired", "GET", f"{below}/comptes", 401, "ARV-1002")
    app.open_session("new session")
    members = {"virement.suivi.motif": "PROVISION_INSUFFISANTE"}
    app.follow("deferred transfer is rejected", deferred, ["A_VALIDER", "PLANIFIE", "REJETE"], members)
    app.revoke("revoke the autorisation", consent)
    closed = {"champ": "etat", "recu": "REVOQUEE", "attendu": "ACTIVE"}
    soldes = accounts.find("comptes.0._liens.soldes.href")
    app.refuse("balances after the revocation", "GET", soldes, 403, "ARV-4001", closed)
    return walk.steps
