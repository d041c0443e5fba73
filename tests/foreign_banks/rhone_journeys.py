"""Two journeys of the app Carnet and its customers at Rhône."""

import re
from datetime import timedelta
from typing import Any

import httpx

from tests.foreign_banks.walk import DAY, Answer, Expected, Step, Wait, Walk

KEY = {"X-Cle-Api": "cle-carnet-7Q2M9X"}
ACCORDS, ACCOUNTS = "/api/accords", "/api/comptes"
TRANSFERS, STANDING = "/api/virements", "/api/virements-permanents"
EVERYTHING = ["comptes", "soldes", "mouvements", "virements"]
DEMAND = re.compile(r"^DEM-[A-Z]{4}-\d{4}$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")
AMOUNT = re.compile(r"^\d+,\d\d$")
NUMBERS = {"accord": r"^ACD\d{9}$", "virement": r"^VIR\d{9}$", "virementPermanent": r"^VPM\d{9}$"}


def write_amount(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02}"


def read_amount(answer: Answer, place: str) -> int:
    """The cents at this place, or 0."""
    value = str(answer.find(place))
    return int(value.replace(",", "")) if AMOUNT.search(value) else 0


class RhoneApp:
    def __init__(self, walk: Walk, customer: tuple[str, str]) -> None:
        self.walk, self._customer = walk, customer
        self.accord: Any = None

    def day(self, days: int) -> str:
        return (self.walk.now + days * DAY).date().isoformat()

    def call(
        self, name: str, method: str, path: str, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        headers = request.pop("headers", KEY | ({"X-Accord": str(self.accord)} if self.accord else {}))
        return self.walk.step(name, method, path, status, members, headers=headers, **request)

    def refuse(
        self, name: str, method: str, path: str, status: int, code: str, more: Expected | None = None, **request: Any
    ) -> None:
        members = {"anomalie.code": code, "anomalie.libelle": str, "anomalie.incident": re.compile(r"^INC-\d{8}$")}
        self.call(name, method, path, status, members | dict(more or {}), **request)

    def make(self, name: str, kind: str, path: str, body: dict[str, Any], state: Expected) -> tuple[Any, Any]:
        """Return the number of the thing and the demand."""
        members = {f"{kind}.{name}": value for name, value in body.items()}
        members |= {f"{kind}.numero": re.compile(NUMBERS[kind]), f"{kind}.creeLe": TIME, **state}
        members |= {"validation.mode": "APPLICATION_MOBILE", "validation.demande": DEMAND, "validation.expireLe": TIME}
        members |= {"@Location": re.compile(path + "/" + NUMBERS[kind].strip("^"))}
        made = self.call(name, "POST", path, 201, members, json=body)
        return made.find(f"{kind}.numero"), made.find("validation.demande")

    def wish(self, parts: list[str], days: int) -> dict[str, Any]:
        return {"identifiantClient": self._customer[0], "perimetre": parts, "finValidite": self.day(days)}

    def ask(self, name: str, parts: list[str], days: int) -> tuple[Any, Any]:
        return self.make(name, "accord", ACCORDS, self.wish(parts, days), {"accord.etat": "A_VALIDER"})

    def transfer(self, account: Any, payee: tuple[str, str], amount: str, text: str, reference: str) -> dict[str, Any]:
        document = {"compteDebite": account, "beneficiaire": {"nom": payee[0], "iban": payee[1]}, "montant": amount}
        return document | {"motif": text, "referenceApp": reference}

    def pay(self, name: str, body: dict[str, Any]) -> tuple[Any, Any]:
        state = {"virement.etat": "EN_ATTENTE_CLIENT", "virement.devise": "EUR"}
        return self.make(name, "virement", TRANSFERS, body, state)

    def order(self, name: str, body: dict[str, Any]) -> tuple[Any, Any]:
        state = {"virementPermanent.situation": "A_CONFIRMER", "virementPermanent.prochaineEcheance": None}
        return self.make(name, "virementPermanent", STANDING, body, state)

    def look(self, name: str, accord: Any, state: str) -> None:
        members = {"accord.numero": accord, "accord.etat": state, "validation": None}
        self.call(name, "GET", f"{ACCORDS}/{accord}", 200, members)

    def follow(self, name: str, number: Any, state: str, reason: str | None = None) -> None:
        members = {"virement.numero": number, "virement.etat": state, "virement.motifRejet": reason, "validation": None}
        self.call(name, "GET", f"{TRANSFERS}/{number}", 200, members)

    def reply(self, name: str, demand: Any, choice: str) -> None:
        body = {"identifiant": self._customer[0], "codeSecret": self._customer[1], "choix": choice}
        members = {"demande": demand, "choix": choice, "prisEnCompteLe": TIME}
        self.call(name, "POST", f"/mobile/demandes/{demand}/reponse", 200, members, headers={}, json=body)

    def mistype(self, name: str, demand: Any, code: str, left: int) -> None:
        body = {"identifiant": self._customer[0], "codeSecret": code, "choix": "CONFIRMER"}
        path, more = f"/mobile/demandes/{demand}/reponse", {"anomalie.essaisRestants": left}
        self.refuse(name, "POST", path, 401, "CODE_SECRET_ERRONE", more, headers={}, json=body)

    def balances(self, name: str, account: Any, booked: Any = AMOUNT, available: Any = AMOUNT) -> Answer:
        members = {
            "compte": account,
            "arreteLe": TIME,
            "soldes.#": 2,
            "soldes.0.nature": "COMPTABLE",
            "soldes.0.montant": booked,
            "soldes.0.sens": "CREDITEUR",
            "soldes.1.nature": "DISPONIBLE",
            "soldes.1.montant": available,
            "soldes.1.sens": "CREDITEUR",
            "soldes.1.devise": "EUR",
        }
        return self.call(name, "GET", f"{ACCOUNTS}/{account}/soldes", 200, members)

    def change(self, name: str, order: Any, situation: str, due: str | None) -> None:
        members = {
            "virementPermanent.numero": order,
            "virementPermanent.situation": situation,
            "virementPermanent.prochaineEcheance": due,
        }
        body = {"situation": situation}
        self.call(name, "PUT", f"{STANDING}/{order}/situation", 200, members, json=body)

    def entry(self, name: str, account: Any, body: dict[str, Any]) -> None:
        """Read the entry that the executed transfer has made today."""
        members = {
            "mouvements.#": 1,
            "mouvements.0.reference": re.compile(r"^MVT\d{11}$"),
            "mouvements.0.dateOperation": self.day(0),
            "mouvements.0.type": "VIREMENT",
            "mouvements.0.montant": body["montant"],
            "mouvements.0.sens": "DEBIT",
            "mouvements.0.contrepartie": body["beneficiaire"]["nom"],
            "mouvements.0.libelle": body["motif"],
            "pagination": {"page": 1, "parPage": 20, "totalPages": 1, "totalElements": 1},
        }
        self.call(name, "GET", f"{ACCOUNTS}/{account}/mouvements", 200, members, params={"du": self.day(0)})

    def page(self, name: str, account: Any, sens: str, days: int, page: int, size: int) -> None:
        members = {
            "mouvements.#": size,
            "mouvements.0.reference": re.compile(r"^MVT\d{11}$"),
            "mouvements.0.dateOperation": re.compile(r"^\d{4}-\d\d-\d\d$"),
            "mouvements.0.montant": AMOUNT,
            "mouvements.0.sens": sens,
            f"mouvements.{size - 1}.sens": sens,
            "pagination.page": page,
            "pagination.parPage": size,
            "pagination.totalPages": int,
            "pagination.totalElements": int,
        }
        query = {"du": self.day(-days), "au": self.day(-1), "sens": sens, "page": str(page), "parPage": str(size)}
        self.call(name, "GET", f"{ACCOUNTS}/{account}/mouvements", 200, members, params=query)


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = RhoneApp(walk, ("18402277", "4071"))
    wish = app.wish(EVERYTHING, 90)
    app.refuse("accord without a key", "POST", ACCORDS, 401, "CLE_ABSENTE", headers={}, json=wish)
    endless = {name: value for name, value in wish.items() if name != "finValidite"}
    more = {"anomalie.champs": [{"nom": "finValidite", "motif": "ABSENT"}]}
    app.refuse("accord without an end", "POST", ACCORDS, 400, "CHAMP_ABSENT", more, json=endless)
    accord, demand = app.ask("accord", EVERYTHING, 90)
    app.mistype("customer mistypes the code", demand, "4017", 2)
    app.reply("customer confirms", demand, "CONFIRMER")
    app.look("accord is active", accord, "ACTIF")
    app.accord = accord
    members: dict[str, Any] = {
        "comptes.#": 2,
        "comptes.0.reference": re.compile(r"^CPT\d{7}$"),
        "comptes.0.iban": re.compile(r"^FR\d{25}$"),
        "comptes.0.intitule": "Compte courant",
        "comptes.0.type": "COURANT",
        "comptes.0.devise": "EUR",
        "pagination": {"page": 1, "parPage": 20, "totalPages": 1, "totalElements": 2},
    }
    account = app.call("accounts", "GET", ACCOUNTS, 200, members).find("comptes.0.reference")
    booked = read_amount(app.balances("balances", account), "soldes.0.montant")
    app.page("second page of debits", account, "DEBIT", 60, 2, 4)
    app.refuse("balances of an unknown account", "GET", f"{ACCOUNTS}/CPT0000000/soldes", 404, "INTROUVABLE")

    garage, aunt = ("Garage Fourvière", "FR7614410000011234567890163"), ("Solange Garnier", "BE68539007547034")
    body = app.transfer(account, garage, "425,50", "Facture 1187", "carnet-0001")
    more = {"anomalie.champs": [{"nom": "montant", "motif": "FORMAT"}]}
    dotted = body | {"montant": "425.50"}
    app.refuse("transfer with a decimal point", "POST", TRANSFERS, 422, "CHAMP_INVALIDE", more, json=dotted)
    paid, demand = app.pay("transfer", body)
    app.reply("customer confirms the transfer", demand, "CONFIRMER")
    app.follow("transfer is confirmed", paid, "VALIDE")
    left = write_amount(booked - 42_550)
    app.balances("balances with the amount held", account, write_amount(booked), left)
    wait(timedelta(minutes=3))
    app.follow("transfer is sent", paid, "TRANSMIS")
    cancel = {"etat": "ANNULE"}
    more = {"anomalie.etat": "TRANSMIS"}
    app.refuse("cancel it too late", "PATCH", f"{TRANSFERS}/{paid}", 409, "TRANSITION_IMPOSSIBLE", more, json=cancel)
    wait(timedelta(minutes=8))
    app.follow("transfer is executed", paid, "EXECUTE")
    app.balances("balances after", account, left, left)
    app.entry("entry of the transfer", account, body)

    much = app.transfer(account, aunt, "95000,00", "Avance", "carnet-0002")
    rejected, demand = app.pay("transfer above the balance", much)
    app.reply("customer confirms that", demand, "CONFIRMER")
    app.follow("transfer is rejected", rejected, "REJETE", "PROVISION_INSUFFISANTE")
    refused, demand = app.pay("transfer to refuse", app.transfer(account, aunt, "60,00", "Cadeau", "carnet-0003"))
    app.reply("customer refuses", demand, "REFUSER")
    app.follow("transfer is refused", refused, "REFUSE_CLIENT")
    stopped, _ = app.pay("transfer to cancel", app.transfer(account, garage, "18,90", "Ampoules", "carnet-0004"))
    members = {"virement.numero": stopped, "virement.etat": "ANNULE", "validation": None}
    app.call("cancel the transfer", "PATCH", f"{TRANSFERS}/{stopped}", 200, members, json=cancel)

    due = app.day(20)
    body = app.transfer(account, aunt, "50,00", "Argent du mois", "carnet-0005")
    body |= {"periodicite": "MENSUELLE", "premiereEcheance": due}
    order, demand = app.order("standing order", body)
    app.reply("customer confirms the standing order", demand, "CONFIRMER")
    members = {"virementPermanent.situation": "EN_COURS", "virementPermanent.prochaineEcheance": due}
    app.call("standing order runs", "GET", f"{STANDING}/{order}", 200, members | {"validation": None})
    app.change("suspend the standing order", order, "SUSPENDU", None)
    app.call("revoke the accord", "DELETE", f"{ACCORDS}/{accord}", 204)
    app.refuse("accounts after that", "GET", ACCOUNTS, 403, "ACCORD_INACTIF", {"anomalie.etat": "REVOQUE"})
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = RhoneApp(walk, ("39115064", "8526"))
    app.refuse("accounts without a key", "GET", ACCOUNTS, 401, "CLE_ABSENTE", headers={})
    narrow, no = app.ask("accord to refuse", ["comptes", "soldes"], 30)
    accord, yes = app.ask("accord", ["virements", "comptes", "soldes", "mouvements"], 60)
    app.accord = narrow
    app.refuse("accounts too early", "GET", ACCOUNTS, 403, "ACCORD_INACTIF", {"anomalie.etat": "A_VALIDER"})
    app.reply("customer confirms the second", yes, "CONFIRMER")
    app.mistype("customer mistypes the code", no, "8562", 2)
    app.reply("customer refuses the first", no, "REFUSER")
    app.look("first accord is refused", narrow, "REFUSE_CLIENT")
    app.accord = accord
    members: dict[str, Any] = {
        "comptes.1.reference": re.compile(r"^CPT\d{7}$"),
        "comptes.1.iban": re.compile(r"^FR\d{25}$"),
        "comptes.1.devise": "EUR",
        "pagination.page": 1,
        "pagination.parPage": 20,
        "pagination.totalPages": 1,
    }
    account = app.call("accounts", "GET", ACCOUNTS, 200, members).find("comptes.1.reference")
    before = app.balances("balances", account)
    booked, available = read_amount(before, "soldes.0.montant"), read_amount(before, "soldes.1.montant")
    app.page("first page of credits", account, "CREDIT", 80, 1, 3)
    app.page("second page of credits", account, "CREDIT", 80, 2, 3)
    app.refuse("entries of an unknown account", "GET", f"{ACCOUNTS}/CPT9999999/mouvements", 404, "INTROUVABLE")

    mason, club = ("Maçonnerie Ferrand", "FR9230003012340005678901247"), ("Aviron de Genève", "CH9300762011623852957")
    order = app.transfer(account, club, "35,00", "Cotisation", "carnet-2001") | {"periodicite": "MENSUELLE"}
    more = {"anomalie.champs": [{"nom": "premiereEcheance", "motif": "ABSENT"}]}
    app.refuse("standing order without a day", "POST", STANDING, 400, "CHAMP_ABSENT", more, json=order)
    deposit = app.transfer(account, mason, "210,75", "Acompte terrasse", "carnet-2003")
    refused, refused_demand = app.pay("transfer", app.transfer(account, club, "48,20", "Stage", "carnet-2002"))
    paid, paid_demand = app.pay("second transfer", deposit)
    much = app.transfer(account, mason, write_amount(available + 1), "Solde terrasse", "carnet-2004")
    rejected, rejected_demand = app.pay("transfer a cent above the balance", much)
    app.reply("customer confirms the third", rejected_demand, "CONFIRMER")
    app.follow("third transfer is rejected", rejected, "REJETE", "PROVISION_INSUFFISANTE")
    app.reply("customer confirms the transfer", paid_demand, "CONFIRMER")
    app.reply("customer refuses the other", refused_demand, "REFUSER")
    more, cancel = {"anomalie.etat": "REFUSE_CLIENT"}, {"etat": "ANNULE"}
    path = f"{TRANSFERS}/{refused}"
    app.refuse("cancel the refused transfer", "PATCH", path, 409, "TRANSITION_IMPOSSIBLE", more, json=cancel)
    left = write_amount(available - 21_075)
    app.balances("balances with the amount held", account, write_amount(booked), left)
    wait(timedelta(minutes=4))
    app.follow("second transfer is sent", paid, "TRANSMIS")
    wait(timedelta(minutes=10))
    app.follow("second transfer is executed", paid, "EXECUTE")
    app.balances("balances after", account, write_amount(booked - 21_075), left)
    app.entry("entry of the second transfer", account, deposit)

    due = app.day(12)
    order |= {"premiereEcheance": due}
    standing, demand = app.order("standing order", order)
    app.reply("customer confirms the standing order", demand, "CONFIRMER")
    app.change("suspend the standing order", standing, "SUSPENDU", None)
    app.change("resume the standing order", standing, "EN_COURS", due)
    app.call("revoke the accord", "DELETE", f"{ACCORDS}/{accord}", 204)
    app.look("accord is revoked", accord, "REVOQUE")
    balances = f"{ACCOUNTS}/{account}/soldes"
    app.refuse("balances after that", "GET", balances, 403, "ACCORD_INACTIF", {"anomalie.etat": "REVOQUE"})
    return walk.steps
