"""Two journeys of the app Carnet Vert and its customers at the bank Isère."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5
from zoneinfo import ZoneInfo

import httpx

from tests.foreign_banks.walk import DAY, PAGE, Answer, Expected, Step, Wait, Walk

BACK = "https://carnet-vert.example/retour"
AIS, PIS, COVERAGE = "/dsp2/ais/v1", "/dsp2/pis/v1/demandes-paiement", "/dsp2/cbpii/v1/couvertures"
ACCOUNTS, CONSENTS, PHONE = f"{AIS}/comptes", f"{AIS}/consentements", "/cle-isere/v2/demandes"
IBAN, RESOURCE = re.compile(r"^FR\d{2}38219\d{18}$"), re.compile(r"^[A-Z0-9]{20}$")
HAL = re.compile(r"^application/hal\+json")


@dataclass(frozen=True)
class Person:
    number: str
    secret: str
    sms: str
    phone: str
    pin: str


ELODIE = Person("3810046217", "140789", "552013", "ISK-7F3K-90QD", "4821")
BASTIEN = Person("3810091755", "260394", "308846", "ISK-2M8T-51XA", "7390")
NAIMA = Person("3810120468", "051172", "714920", "ISK-9C4W-36PE", "1657")


def money(cents: int) -> str:
    return f"{abs(cents) // 100}.{abs(cents) % 100:02}"


def amount(value: str) -> dict[str, str]:
    return {"valeur": value, "devise": "EUR"}


def signed(place: str, cents: int) -> dict[str, Any]:
    return {f"{place}.montant.valeur": money(cents), f"{place}.sens": "DBIT" if cents < 0 else "CRDT"}


def cents(answer: Answer, place: str) -> int:
    """The signed amount at this place, or 0."""
    digits = re.sub(r"\D", "", str(answer.find(f"{place}.montant.valeur"))) or "0"
    return -int(digits) if answer.find(f"{place}.sens") == "DBIT" else int(digits)


def told(answer: Answer, name: str) -> Any:
    """A parameter of the address to which an answer leads."""
    return parse_qs(urlsplit(str(answer.find("@Location"))).query).get(name, [None])[0]


def count(answer: Answer, place: str) -> int:
    value = answer.find(place)
    return value if isinstance(value, int) else 0


class IsereApp:
    def __init__(self, walk: Walk, person: Person, app_token: Any = None) -> None:
        self.walk, self._person, self.app_token = walk, person, app_token
        self._token: Any = None
        self._refresh: Any = None

    def _name(self, word: str) -> str:
        return str(uuid5(NAMESPACE_URL, f"{self._person.number} {word}"))

    def day(self, days: int) -> str:
        return (self.walk.now.astimezone(ZoneInfo("Europe/Paris")) + days * DAY).date().isoformat()

    def call(
        self, name: str, method: str, path: Any, status: int, members: Expected | None = None, **request: Any
    ) -> Answer:
        token = self.app_token if str(path).startswith(PIS) else self._token
        headers = {"X-Request-ID": self._name(name)} | ({"Authorization": f"Bearer {token}"} if token else {})
        expected = {"@X-Request-ID": headers["X-Request-ID"], **(members or {})}
        if status < 400:
            expected["@Content-Type"] = HAL
        return self.walk.step(name, method, path, status, expected, headers=headers, **request)

    def refuse(self, name: str, method: str, path: Any, status: int, code: str, place: str, **request: Any) -> None:
        members = {"erreurs.#": 1, "erreurs.0.code": code, "erreurs.0.chemin": place, "idTrace": str}
        self.call(name, method, path, status, members, **request)

    def _get_token(self, name: str, form: dict[str, Any], scope: str, seconds: int) -> Answer:
        members = {"access_token": str, "token_type": "Bearer", "expires_in": seconds, "scope": scope}
        members |= {"refresh_token": None if scope == "pisp" else str, "@Cache-Control": "no-store"}
        client = ("carnet-vert", "mousse")
        return self.walk.step(name, "POST", "/connexion/jeton", 200, members, data=form, auth=client)

    def enter(self, name: str) -> None:
        form = {"grant_type": "client_credentials", "scope": "pisp"}
        self.app_token = self._get_token(name, form, "pisp", 10_800).find("access_token")

    def renew(self, name: str) -> None:
        form = {"grant_type": "refresh_token", "refresh_token": self._refresh}
        answer = self._get_token(name, form, "aisp cbpii", 3600)
        self._token, self._refresh = answer.find("access_token"), answer.find("refresh_token")

    def identify(self, name: str, page: Answer) -> Answer:
        form = {"session": page.fields.get("session", [None])[0]}
        form |= {"identifiant": self._person.number, "codeSecret": self._person.secret}
        members = PAGE | {"page": re.compile('name="codeSms"')}
        return self.walk.step(name, "POST", "/connexion/suite", 200, members, data=form)

    def choose(self, step: str, page: Answer, back: str) -> Answer:
        """Accept on the second form, and pay from the first account if the form asks for one."""
        form = {name: values[0] for name, values in page.fields.items() if name in ("session", "compte")}
        form |= {"codeSms": self._person.sms, "choix": "accepter"}
        return self.walk.step(step, "POST", "/connexion/suite", 302, {"@Location": re.compile(back)}, data=form)

    def sign_in(self, names: str) -> None:
        """Take four steps."""
        page_name, form_name, choice_name, token_name = names.split(", ")
        state = self._name("state")
        query = {"response_type": "code", "client_id": "carnet-vert", "redirect_uri": BACK, "scope": "aisp cbpii"}
        members = PAGE | {"page": re.compile("Partager vos comptes")}
        path = "/connexion/autorisation"
        page = self.walk.step(page_name, "GET", path, 200, members, params=query | {"state": state})
        form = self.identify(form_name, page)
        answer = self.choose(choice_name, form, rf"^{BACK}\?code=\w+&state={state}$")
        wish = {"grant_type": "authorization_code", "code": told(answer, "code"), "redirect_uri": BACK}
        answer = self._get_token(token_name, wish, "aisp cbpii", 3600)
        self._token, self._refresh = answer.find("access_token"), answer.find("refresh_token")

    def list_bare(self, name: str, number: int) -> list[Any]:
        """Return the IBANs of all accounts, which the app cannot use yet."""
        members = {
            "comptes.#": number,
            "comptes.0.compteId.iban": IBAN,
            "comptes.0.libelle": "Compte de chèques",
            "comptes.0.idRessource": None,
            "comptes.0._links": None,
            "_links.consentement.href": CONSENTS,
        }
        answer = self.call(name, "GET", ACCOUNTS, 200, members)
        return [answer.find(f"comptes.{place}.compteId.iban") for place in range(number)]

    def ask_consent(self, name: str, balances: list[Any], operations: list[Any], days: int) -> str:
        wish = {"soldes": [{"iban": iban} for iban in balances], "operations": [{"iban": iban} for iban in operations]}
        members = {
            "idConsentement": re.compile(r"^CST[A-Z0-9]{12}$"),
            "etatConsentement": "ATTENTE_CLIENT",
            "finValidite": self.day(days),
            **wish,
            "_links.comptes": None,
            "@Location": re.compile(rf"^{CONSENTS}/CST\w+$"),
        }
        answer = self.call(name, "POST", CONSENTS, 201, members, json=wish | {"dureeJours": days})
        return str(answer.find("idConsentement"))

    def look_at_phone(self, name: str, things: dict[str, str]) -> dict[str, Any]:
        """Return the numbers of the demands by the things that they are about."""
        members: dict[str, Any] = {"demandes.#": len(things)}
        for place, text in enumerate(things.values()):
            members[f"demandes.{place}.texte"] = text
        headers = {"X-Appareil": self._person.phone}
        answer = self.walk.step(name, "GET", PHONE, 200, members, headers=headers)
        return {id: answer.pick("demandes", idObjet=id).get("idDemande") for id in things}

    def reply(self, name: str, demand: Any, choice: str, pin: str = "") -> None:
        body = {"choix": choice, "pin": pin or self._person.pin}
        members = {"idDemande": demand, "suite": {"OUI": "VALIDEE", "NON": "REJETEE"}[choice]}
        members = {"code": "PIN_ERRONE"} if pin else members
        path, headers = f"{PHONE}/{demand}/reponse", {"X-Appareil": self._person.phone}
        self.walk.step(name, "POST", path, 403 if pin else 200, members, headers=headers, json=body)

    def see_balances(self, name: str, account: Any, booked: int, available: int) -> None:
        members = {"soldes.0.typeSolde": "CLBD", **signed("soldes.0", booked), "dateReference": self.day(0)}
        members |= {"soldes.1.typeSolde": "ITAV", **signed("soldes.1", available)}
        self.call(name, "GET", f"{ACCOUNTS}/{account}/soldes", 200, members)

    def transfer(self, name: str, value: str, *lines: str) -> dict[str, Any]:
        return {"endToEndId": self._name(name).replace("-", "")[:24], "montant": amount(value), "motif": [*lines]}

    def order(self, payee: tuple[str, str], *transfers: dict[str, Any], **more: Any) -> dict[str, Any]:
        order: dict[str, Any] = {"beneficiaire": {"nom": payee[0], "compte": {"iban": payee[1]}}}
        return order | {"operations": [*transfers], **more}

    def on_page(self) -> dict[str, Any]:
        return {"retour": {"succes": f"{BACK}/paiement", "echec": f"{BACK}/echec"}}

    def on_phone(self) -> dict[str, Any]:
        return {"donneurOrdre": {"identifiantClient": self._person.number}}

    def place(self, name: str, order: dict[str, Any]) -> tuple[str, Any, str]:
        """Return the id and the path of the payment request, and the path of the customer's page if it has one."""
        is_page = "retour" in order
        members = {
            "modeRetenu": "REDIRECT" if is_page else "DECOUPLED",
            "idRessource": None,
            "_links.consentApproval.href": re.compile(r"^http://[^/]+/connexion/paiement/\w+$") if is_page else None,
            "@Location": re.compile(rf"^{PIS}/DP\d\d-\d{{9}}$"),
        }
        answer = self.call(name, "POST", PIS, 201, members, json=order)
        path = answer.find("@Location")
        return str(path).rpartition("/")[2], path, urlsplit(str(answer.find("_links.consentApproval.href"))).path

    def refuse_order(self, name: str, order: dict[str, Any], status: int, code: str, place: str) -> None:
        self.refuse(name, "POST", PIS, status, code, place, json=order)

    def state(self, state: str, *transfers: str, reason: str | None = None) -> dict[str, Any]:
        place = "demandePaiement"
        members: dict[str, Any] = {f"{place}.statut": state, f"{place}.motifStatut": reason}
        members[f"{place}.nombreOperations"] = str(len(transfers))
        for number, one in enumerate(transfers):
            members[f"{place}.operations.{number}.statutOperation"] = one
        return members

    def follow(self, name: str, path: Any, *states: str, reason: str | None = None, **more: Any) -> None:
        members = {"demandePaiement.idRessource": str(path).rpartition("/")[2], **self.state(*states, reason=reason)}
        self.call(name, "GET", path, 200, members | more)

    def cancel(self, name: str, path: Any, *transfers: str) -> None:
        members = self.state("CANC", *transfers, reason="DS02")
        self.call(name, "PUT", path, 200, members, json={"statut": "CANC", "motifStatut": "DS02"})


def first(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = IsereApp(walk, ELODIE)
    app.call("accounts without a token", "GET", ACCOUNTS, 401, {"httpCode": "401", "moreInformation": str})
    app.sign_in("page for access, customer signs in, customer grants access, token")
    ibans = app.list_bare("accounts before a consent", 2)
    consent = app.ask_consent("consent", ibans, ibans[:1], 30)
    demands = app.look_at_phone("phone asks about the consent", {consent: "Partager vos comptes ?"})
    app.reply("customer confirms the consent", demands[consent], "OUI")
    path = f"{CONSENTS}/{consent}"
    members: dict[str, Any]
    members = {"idConsentement": consent, "etatConsentement": "ACTIF", "_links.comptes.href": ACCOUNTS}
    app.call("consent is active", "GET", path, 200, members)
    members = {
        "comptes.#": 2,
        "comptes.0.idRessource": RESOURCE,
        "comptes.0.compteId.iban": ibans[0],
        "comptes.0._links.operations.href": re.compile(rf"^{ACCOUNTS}/\w+/operations$"),
        "comptes.1._links.soldes.href": re.compile(rf"^{ACCOUNTS}/\w+/soldes$"),
        "comptes.1._links.operations": None,
        "_links.consentement": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    account, joint = accounts.find("comptes.0.idRessource"), accounts.find("comptes.1.idRessource")
    members = {"soldes.#": 2, "soldes.0.typeSolde": "CLBD", "soldes.1.typeSolde": "ITAV", "soldes.1.sens": "CRDT"}
    before = app.call("balances", "GET", f"{ACCOUNTS}/{account}/soldes", 200, members)
    booked, available = cents(before, "soldes.0"), cents(before, "soldes.1")
    outside = f"{ACCOUNTS}/{joint}/operations"
    app.refuse("operations outside the consent", "GET", outside, 403, "CONSENTEMENT_INSUFFISANT", "operations")
    operations = f"{ACCOUNTS}/{account}/operations"
    query = {"dateDebut": app.day(-80), "dateFin": app.day(0), "taille": "5"}
    members = {
        "_embedded.operations.#": 5,
        "_embedded.operations.0.reference": re.compile(r"^ISR\d{13}$"),
        "_embedded.operations.0.etatOperation": "BOOK",
        "_embedded.operations.4.montant.devise": "EUR",
        "_page.retournees": 5,
        "_links.suivant.href": re.compile(rf"^{re.escape(operations)}\?suite=\w+$"),
    }
    page = app.call("operations", "GET", operations, 200, members, params=query)
    members = {"_embedded.operations.#": 5, "_page.restantes": count(page, "_page.restantes") - 5}
    app.call("more operations", "GET", page.find("_links.suivant.href"), 200, members)
    wish = {"compteId": {"iban": ibans[0]}, "montant": amount(money(available + 1))}
    app.call("coverage of too much", "POST", COVERAGE, 200, {"demande": wish, "resultat": False}, json=wish)
    wish = {"compteId": {"iban": ibans[0]}, "montant": amount("35.00")}
    app.call("coverage of little", "POST", COVERAGE, 200, {"demande": wish, "resultat": True}, json=wish)

    app.enter("token for payments")
    mason, choir = ("Maçonnerie Vercors", "FR1420041010050500013M02606"), ("Chorale du Drac", "BE68539007547034")
    works = [app.transfer("wall", "1250", "Facture 88", "Mur"), app.transfer("gate", "760.5", "Facture 89")]
    wrong = app.order(("Maçonnerie Vercors", "FR1520041010050500013M02606"), *works, **app.on_page())
    app.refuse_order("payment to a mistyped IBAN", wrong, 400, "FORMAT_INVALIDE", "beneficiaire.compte.iban")
    order = app.order(mason, *works, **app.on_page())
    id, payment, address = app.place("payment of two transfers", order)
    members = PAGE | {"page": re.compile("Payer 2010.50 EUR à Maçonnerie Vercors")}
    page = walk.step("page for the payment", "GET", address, 200, members)
    form = app.identify("customer signs in to pay", page)
    answer = app.choose("customer approves", form, rf"^{BACK}/paiement\?demande={re.escape(id)}&facteur=\w+$")
    confirmation = f"{payment}/confirmation"
    body = {"facteurAuthentification": "0000000000"}
    place = "facteurAuthentification"
    app.refuse("confirm with a wrong factor", "POST", confirmation, 403, "FACTEUR_INVALIDE", place, json=body)
    body = {"facteurAuthentification": told(answer, "facteur")}
    members = app.state("ACSP", "ACSP", "ACSP")
    members["demandePaiement.montantTotal.valeur"] = "2010.50"
    members["demandePaiement.operations.1.montant.valeur"] = "760.50"
    members["demandePaiement.donneurOrdre.compte.iban"] = ibans[0]
    app.call("confirm the payment", "POST", confirmation, 200, members, json=body)
    app.see_balances("balances with both transfers pending", account, booked, available - 201_050)
    stop = {"statut": "CANC", "motifStatut": "DS02"}
    app.refuse("cancel it too late", "PUT", payment, 409, "STATUT_INCOMPATIBLE", "ACSP", json=stop)
    wait(timedelta(minutes=45))
    app.follow("payment is half settled", payment, "PART", "ACSC", "ACSP")
    members = {
        "_embedded.operations.#": 2,
        "_embedded.operations.0.etatOperation": "PDNG",
        "_embedded.operations.0.reference": None,
        **signed("_embedded.operations.0", -76_050),
        "_embedded.operations.1.etatOperation": "BOOK",
        **signed("_embedded.operations.1", -125_000),
        "_embedded.operations.1.libelles": ["VIR SEPA MAÇONNERIE VERCORS", "Facture 88", "Mur"],
        "_links.suivant": None,
    }
    app.call("latest operations", "GET", operations, 200, members, params={"dateDebut": app.day(-1)})
    wait(timedelta(minutes=20))
    app.follow("payment is settled", payment, "ACSC", "ACSC", "ACSC")
    app.renew("new token")
    app.see_balances("balances after", account, booked - 201_050, available - 201_050)

    debtor = {"donneurOrdre": {"compte": {"iban": ibans[0]}}}
    organ = app.order(choir, app.transfer("organ", "9000.00", "Orgue"), **debtor, **app.on_page())
    place = "donneurOrdre.compte.iban"
    app.refuse_order("payment above the balance", organ, 422, "SOLDE_INSUFFISANT", place)
    app.refuse_order("the first payment again", order, 409, "E2E_EN_DOUBLE", "operations")
    dues = app.order(choir, app.transfer("dues", "60", "Cotisation"), **app.on_phone(), dateExecution=app.day(4))
    later, later_path, _ = app.place("dated payment", dues)
    gift = app.order(choir, app.transfer("gift", "15.00", "Don"), **app.on_phone())
    declined, declined_path, _ = app.place("payment to decline", gift)
    texts = {later: "Payer 60.00 EUR à Chorale du Drac ?", declined: "Payer 15.00 EUR à Chorale du Drac ?"}
    demands = app.look_at_phone("phone asks about both payments", texts)
    app.reply("customer confirms the dated payment", demands[later], "OUI")
    app.reply("customer mistypes the PIN", demands[declined], "NON", pin="4812")
    app.reply("customer declines the payment", demands[declined], "NON")
    app.cancel("cancel the dated payment", later_path, "CANC")
    app.follow("payment is rejected", declined_path, "RJCT", "RJCT", reason="CUST")
    members = {"idConsentement": consent, "etatConsentement": "REVOQUE", "_links.comptes": None}
    app.call("revoke the consent", "DELETE", path, 200, members)
    balances = f"{ACCOUNTS}/{account}/soldes"
    app.refuse("balances without a consent", "GET", balances, 403, "CONSENTEMENT_ABSENT", "soldes")
    return walk.steps


def second(client: httpx.Client, wait: Wait) -> list[Step]:
    walk = Walk(client, wait)
    app = IsereApp(walk, BASTIEN)
    app.enter("token for payments")
    garage, school = ("Garage Ferrand", "DE89370400440532013000"), ("École Sainte Odile", "ES9121000418450200051332")
    nothing = app.order(garage, app.transfer("tyres", "0.00", "Pneus"), **app.on_page())
    app.refuse_order("payment of nothing", nothing, 400, "FORMAT_INVALIDE", "operations[0].montant.valeur")
    tyres = app.order(garage, app.transfer("tyres", "2150", "Pneus", "Devis 17"), **app.on_page())
    car, car_path, address = app.place("payment on the page", tyres)
    fees = [app.transfer("canteen", "1300.00", "Cantine"), app.transfer("trip", "45.2", "Sortie", "Classe 6B")]
    fee, fee_path, _ = app.place("payment by phone", app.order(school, *fees, **app.on_phone()))
    demands = app.look_at_phone("phone asks", {fee: "Payer 1345.20 EUR à École Sainte Odile ?"})
    app.reply("customer confirms", demands[fee], "OUI")
    app.follow("payment by phone is accepted", fee_path, "ACSP", "ACSP", "ACSP")
    page = walk.step("page", "GET", address, 200, PAGE | {"page": re.compile("Payer 2150.00 EUR à Garage Ferrand")})
    form = app.identify("customer signs in to pay", page)
    answer = app.choose("customer approves", form, rf"^{BACK}/paiement\?demande={re.escape(car)}&facteur=\w+$")
    confirmation, place = f"{car_path}/confirmation", "facteurAuthentification"
    wrong = {"facteurAuthentification": "ABCDEF1234"}
    app.refuse("wrong factor", "POST", confirmation, 403, "FACTEUR_INVALIDE", place, json=wrong)
    body = {"facteurAuthentification": told(answer, "facteur")}
    members = app.state("ACSP", "ACSP")
    members["demandePaiement.montantTotal.valeur"] = "2150.00"
    members["demandePaiement.donneurOrdre.compte.iban"] = IBAN
    app.call("right factor", "POST", confirmation, 200, members, json=body)
    app.refuse("right factor again", "POST", confirmation, 409, "STATUT_INCOMPATIBLE", "ACSP", json=body)

    app.sign_in("page for access, customer signs in, customer grants access, token")
    ibans = app.list_bare("accounts before a consent", 2)
    consent = app.ask_consent("consent", ibans[:1], ibans, 10)
    demands = app.look_at_phone("phone asks about the consent", {consent: "Partager vos comptes ?"})
    app.reply("customer confirms the consent", demands[consent], "OUI")
    members = {
        "comptes.#": 2,
        "comptes.0.idRessource": RESOURCE,
        "comptes.0.compteId.iban": ibans[0],
        "comptes.0._links.soldes.href": re.compile(rf"^{ACCOUNTS}/\w+/soldes$"),
        "comptes.1.compteId.iban": ibans[1],
        "comptes.1._links.operations.href": re.compile(rf"^{ACCOUNTS}/\w+/operations$"),
        "comptes.1._links.soldes": None,
        "_links.consentement": None,
    }
    accounts = app.call("accounts", "GET", ACCOUNTS, 200, members)
    account, works = accounts.find("comptes.0.idRessource"), accounts.find("comptes.1.idRessource")
    balances, operations = f"{ACCOUNTS}/{account}/soldes", f"{ACCOUNTS}/{account}/operations"
    members = {"soldes.#": 2, "soldes.0.typeSolde": "CLBD", "soldes.1.typeSolde": "ITAV", "dateReference": app.day(0)}
    before = app.call("balances with three transfers pending", "GET", balances, 200, members)
    booked, available = cents(before, "soldes.0"), cents(before, "soldes.1")
    outside = f"{ACCOUNTS}/{works}/soldes"
    app.refuse("balances outside the consent", "GET", outside, 403, "CONSENTEMENT_INSUFFISANT", "soldes")
    members = {
        "_embedded.operations.#": 4,
        "_embedded.operations.0.etatOperation": "PDNG",
        "_embedded.operations.2.etatOperation": "PDNG",
        "_embedded.operations.3.etatOperation": "BOOK",
        "_page.retournees": 4,
        "_links.suivant.href": re.compile(rf"^{re.escape(operations)}\?suite=\w+$"),
    }
    query = {"dateDebut": app.day(-60), "dateFin": app.day(1), "taille": "4"}
    page = app.call("operations", "GET", operations, 200, members, params=query)
    members = {"_embedded.operations.#": 4, "_embedded.operations.0.etatOperation": "BOOK"}
    members["_page.restantes"] = count(page, "_page.restantes") - 4
    app.call("next page of operations", "GET", page.find("_links.suivant.href"), 200, members)
    wish = {"compteId": {"iban": ibans[0]}, "montant": amount(money(available))}
    app.call("coverage of all", "POST", COVERAGE, 200, {"demande": wish, "resultat": True}, json=wish)
    debtor = {"donneurOrdre": {"compte": {"iban": ibans[0]}}}
    engine = app.transfer("engine", money(available + 1), "Moteur")
    much = app.order(garage, engine, **debtor, **app.on_page())
    place = "donneurOrdre.compte.iban"
    app.refuse_order("payment a cent above the balance", much, 422, "SOLDE_INSUFFISANT", place)
    wait(timedelta(minutes=45))
    app.follow("payment by phone is half settled", fee_path, "PART", "ACSC", "ACSP")
    members = {
        "_embedded.operations.#": 3,
        "_embedded.operations.0.etatOperation": "PDNG",
        **signed("_embedded.operations.0", -4_520),
        "_embedded.operations.0.libelles": ["VIR SEPA ÉCOLE SAINTE ODILE", "Sortie", "Classe 6B"],
        "_embedded.operations.1.etatOperation": "BOOK",
        "_embedded.operations.1.sens": "DBIT",
        "_embedded.operations.2.etatOperation": "BOOK",
        "_links.suivant": None,
    }
    app.call("latest operations", "GET", operations, 200, members, params={"dateDebut": app.day(-1)})
    app.follow("payment on the page is settled", car_path, "ACSC", "ACSC")
    wait(timedelta(minutes=20))
    app.follow("payment by phone is settled", fee_path, "ACSC", "ACSC", "ACSC")
    app.renew("new token")
    app.see_balances("balances after", account, booked - 349_520, available)

    naima = IsereApp(walk, NAIMA, app.app_token)
    lesson = naima.order(school, naima.transfer("lesson", "120.00", "Soutien"), **naima.on_phone())
    declined, declined_path, _ = naima.place("payment to decline", lesson)
    brakes = naima.transfer("brakes", "310.4", "Freins")
    repair = naima.order(garage, brakes, **naima.on_phone(), dateExecution=naima.day(9))
    later, later_path, _ = naima.place("dated payment", repair)
    texts = {declined: "Payer 120.00 EUR à École Sainte Odile ?", later: "Payer 310.40 EUR à Garage Ferrand ?"}
    demands = naima.look_at_phone("phone asks another customer", texts)
    naima.reply("customer confirms the dated payment", demands[later], "OUI")
    naima.reply("customer mistypes the PIN", demands[declined], "NON", pin="1675")
    naima.reply("customer declines the payment", demands[declined], "NON")
    naima.cancel("cancel the dated payment", later_path, "CANC")
    naima.follow("declined payment is rejected", declined_path, "RJCT", "RJCT", reason="CUST")
    wait(11 * DAY)
    app.renew("newest token")
    app.refuse("balances after the consent", "GET", balances, 403, "CONSENTEMENT_ABSENT", "soldes")
    return walk.steps
