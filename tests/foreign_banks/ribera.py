"""Ribera, a bank that follows Berlin Group's NextGenPSD2 1.3 in most things.

- The path begins with `/v1`. The app sends `X-IBM-Client-Id` (its key) and a UUID as `X-Request-ID`. Ids are UUIDs.
- Consents and payments name the customer in `PSU-ID`. A name that the bank does not know gives 401.
- Errors are `tppMessages` with the standard's codes and some of its own; texts are Spanish.
- A consent is for `allPsd2` or, with empty lists, for the accounts that the customer chooses. It is valid for 180 days
  at most; a later day gives 400. Another state gives 403 for accounts.
- An authorisation is started with a request of its own. Its page asks for a code only, and it is `started` when the
  customer has opened the page.
- `frequencyPerDay` counts all reads of a consent, unless PSU-IP-Address is sent.
- `bookingStatus` of transactions is required. A page has 15 rows, and a link to the next.
- A payment needs cover when it is created. An approved transfer is ACCP and is booked (ACSC) on the next day. An
  instant transfer is booked at once.
- DELETE cancels a payment that is RCVD or ACCP, with 200 and its status. Later it gives 400.
"""

import string
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any, ClassVar
from uuid import UUID

from tests.foreign_banks.nextgen import Account, Authorisation, Customer, NextGen, Order, in_cents, read_day
from tests.foreign_banks.server import Fault, Handler, Request, Response, show

TEXTS = {
    "HEADER_MISSING": ("FORMAT_ERROR", "Falta una cabecera."),
    "FORMAT_ERROR": ("FORMAT_ERROR", "El formato no es correcto."),
    "MEMBER_MISSING": ("FORMAT_ERROR", "Falta un campo."),
    "PERIOD_INVALID": ("PERIOD_INVALID", "El periodo no es posible."),
    "CURRENCY_INVALID": ("FORMAT_ERROR", "Solo se admiten euros."),
    "CERTIFICATE_INVALID": ("CERTIFICATE_INVALID", "La aplicación no está registrada."),
    "PSU_CREDENTIALS_INVALID": ("PSU_CREDENTIALS_INVALID", "El cliente no existe."),
    "CONSENT_UNKNOWN": ("CONSENT_UNKNOWN", "El consentimiento no existe."),
    "CONSENT_INVALID": ("CONSENT_NOT_ACTIVE", "El consentimiento no está activo."),
    "CONSENT_EXPIRED": ("CONSENT_EXPIRED", "El consentimiento ha caducado."),
    "ACCOUNT_NOT_COVERED": ("CONSENT_INVALID", "La cuenta no está en el consentimiento."),
    "ACCESS_EXCEEDED": ("ACCESS_EXCEEDED", "Ha superado las consultas del día."),
    "RESOURCE_UNKNOWN": ("RESOURCE_UNKNOWN", "El recurso no existe."),
    "PAYMENT_UNKNOWN": ("RESOURCE_UNKNOWN", "El pago no existe."),
    "PRODUCT_UNKNOWN": ("PRODUCT_UNKNOWN", "El producto no existe."),
    "SERVICE_BLOCKED": ("SERVICE_BLOCKED", "La cuenta no es del cliente."),
    "FUNDS_NOT_AVAILABLE": ("FUNDS_NOT_AVAILABLE", "No hay saldo suficiente."),
    "CANCELLATION_INVALID": ("CANCELLATION_INVALID", "El pago ya no se puede anular."),
    "STATUS_INVALID": ("STATUS_INVALID", "El estado no lo permite."),
    "SERVICE_INVALID": ("SERVICE_INVALID", "El método no existe."),
}
INSTANT = "instant-sepa-credit-transfers"
LONGEST = timedelta(days=180)
ROWS = 15


class Ribera(NextGen):
    ROOT = "/v1"
    PAGES = "/autorizar"
    HEADERS = ("X-IBM-Client-Id",)
    APP = "X-IBM-Client-Id"
    APPS: ClassVar = {"0a7e41c9d2": "Monedero", "5cc80b13f6": "Hucha"}
    PRODUCTS = ("sepa-credit-transfers", INSTANT)
    OTHERS = ("Aguas del Sur", "Librería Luz", "Mercado Central", "Panadería Sol", "Taller Ruiz", "Telefonía Mar")
    NOT_VALID = 403

    def open_customers(self) -> Iterable[Customer]:
        self._cursors: dict[str, int] = {}
        yield Customer(
            "28334455X",
            "Lucía Prieto",
            "",
            "602418",
            [
                self.open("ES9121000418450200051332", "Cuenta nómina", 318_250),
                self.open("ES2021000418450200051349", "Cuenta ahorro", 84_000),
            ],
        )
        yield Customer(
            "50112233K",
            "Mateo Salas",
            "",
            "915733",
            [
                self.open("ES6000491500051234567892", "Cuenta corriente", 520_990),
                self.open("ES1600491500051234567908", "Cuenta conjunta", 143_065),
                self.open("ES2100491500051234567915", "Viajes", 9_810),
            ],
        )

    def more_routes(self) -> Iterable[tuple[str, str, Handler]]:
        consent, payment = self.ROOT + "/consents/{id}", self.ROOT + "/payments/{product}/{id}"
        return (
            ("POST", consent + "/authorisations", lambda request, id: self._start(request, self.consent(request, id))),
            ("GET", consent + "/authorisations/{authorisation}", self._consent_sca),
            ("POST", payment + "/authorisations", self._start_payment),
            ("GET", payment + "/authorisations/{authorisation}", self._payment_sca),
        )

    def new_id(self, kind: str) -> str:
        if kind == "account":
            return "ES" + self.sign(10, string.digits)
        if kind == "transaction":
            return self.sign(14, string.digits)
        return str(UUID(int=self.random.getrandbits(128), version=4))

    def show_amount(self, cents: int) -> Any:
        return f"{cents / 100:.2f}"

    def read_amount(self, value: Any) -> int:
        try:
            if isinstance(value, str):
                return in_cents(value)
        except ValueError:
            pass
        raise Fault(400, "FORMAT_ERROR", "instructedAmount.amount")

    def tell(self, request: Request, fault: Fault) -> dict[str, Any]:
        code, text = TEXTS[fault.word]
        message = {"category": "ERROR", "code": code}
        return {"tppMessages": [message | ({"path": fault.place} if fault.place else {}) | {"text": text}]}

    def _psu(self, request: Request) -> Customer:
        if not (customer := self.customers.get(self.need_header(request, "PSU-ID"))):
            raise Fault(401, "PSU_CREDENTIALS_INVALID", "PSU-ID")
        return customer

    # Consents

    def create_consent(self, request: Request) -> Response:
        customer = self._psu(request)
        document = self.read(request, "access", "recurringIndicator", "validUntil", "frequencyPerDay")
        access = document["access"]
        is_offered = isinstance(access, dict) and access.get("accounts") == []
        if not isinstance(access, dict) or not (access.get("allPsd2") == "allAccounts" or is_offered):
            raise Fault(400, "FORMAT_ERROR", "access")
        until = read_day(document["validUntil"], "validUntil")
        if not self.clock.today <= until <= self.clock.today + LONGEST:
            raise Fault(400, "PERIOD_INVALID", "validUntil")
        kept = {name: document[name] for name in ("access", "recurringIndicator", "validUntil", "frequencyPerDay")}
        consent = self.order(request, "consent", "consents", "received", kept)
        consent.customer = customer
        self.consents[consent.id] = consent
        body = {"consentStatus": "received", "consentId": consent.id, "_links": self._links(consent)}
        return self.said(request, 201, body, Location=consent.path)

    def _links(self, order: Order) -> dict[str, Any]:
        ends = {"self": "", "status": "/status", "startAuthorisation": "/authorisations"}
        return {name: {"href": order.path + end} for name, end in ends.items()}

    def show_consent(self, request: Request, id: str) -> Response:
        consent = self.consent(request, id)
        shown = dict(consent.document)
        if consent.status == "valid" and "allPsd2" not in shown["access"]:
            shown["access"] = {"accounts": [{"iban": account.iban} for account in consent.accounts]}
        return self.said(request, 200, {**shown, "consentStatus": consent.status})

    def delete_consent(self, request: Request, id: str) -> Response:
        self.consent(request, id).status = "terminatedByTpp"
        return self.said(request, 204, None)

    def check_use(self, request: Request, consent: Order) -> None:
        if "psu-ip-address" not in request.headers:
            if consent.reads[self.clock.today] >= consent.document["frequencyPerDay"]:
                raise Fault(429, "ACCESS_EXCEEDED")
            consent.reads[self.clock.today] += 1

    def _start(self, request: Request, order: Order) -> Response:
        if order.status not in ("received", "RCVD"):
            raise Fault(409, "STATUS_INVALID")
        found = self.authorise(order)
        own = f"{order.path}/authorisations/{found.id}"
        links = {
            "scaRedirect": {"href": f"{request.origin}{self.PAGES}/{found.ticket}"},
            "scaStatus": {"href": own},
        }
        body = {"scaStatus": found.sca, "authorisationId": found.id, "_links": links}
        return self.said(request, 201, body, ASPSP_SCA_Approach="REDIRECT")

    def _start_payment(self, request: Request, product: str, id: str) -> Response:
        return self._start(request, self.payment(request, product, id))

    def _sca(self, request: Request, order: Order, id: str) -> Response:
        found = self.authorisations.get(id)
        if not found or found.order is not order:
            raise Fault(404, "RESOURCE_UNKNOWN", "authorisationId")
        return self.said(request, 200, {"scaStatus": found.sca})

    def _consent_sca(self, request: Request, id: str, authorisation: str) -> Response:
        return self._sca(request, self.consent(request, id), authorisation)

    def _payment_sca(self, request: Request, product: str, id: str, authorisation: str) -> Response:
        return self._sca(request, self.payment(request, product, id), authorisation)

    def turn(self, request: Request, rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        if "bookingStatus" not in request.query:
            raise Fault(400, "MEMBER_MISSING", "bookingStatus")
        begin = 0
        if (cursor := request.query.get("cursor")) is not None:
            if cursor not in self._cursors:
                raise Fault(400, "FORMAT_ERROR", "cursor")
            begin = self._cursors[cursor]
        more: dict[str, Any] = {}
        if len(rows) > begin + ROWS:
            following = self.sign(18)
            self._cursors[following] = begin + ROWS
            query = "&".join(f"{name}={value}" for name, value in request.query.items() if name != "cursor")
            more["_links"] = {"next": {"href": f"{request.path}?{query}&cursor={following}"}}
        return rows[begin : begin + ROWS], more

    # Payments

    def check_payment(self, request: Request, account: Account | None, cents: int) -> None:
        if account not in self._psu(request).accounts or not account:
            raise Fault(403, "SERVICE_BLOCKED", "debtorAccount")
        if cents > self.available(account):
            raise Fault(400, "FUNDS_NOT_AVAILABLE", "instructedAmount")

    def paid(self, request: Request, payment: Order) -> Response:
        payment.customer = self._psu(request)
        body = {"transactionStatus": "RCVD", "paymentId": payment.id, "_links": self._links(payment)}
        return self.said(request, 201, body, Location=payment.path)

    def settles(self, payment: Order) -> bool:
        approved = payment.approved
        return approved is not None and (INSTANT in payment.path or self.clock.today > approved.date())

    def cancel(self, request: Request, payment: Order) -> Response:
        if payment.status not in ("RCVD", "ACCP"):
            raise Fault(400, "CANCELLATION_INVALID")
        payment.status = "CANC"
        return self.said(request, 200, {"transactionStatus": payment.status})

    # Pages

    def show_page(self, request: Request, ticket: str) -> Response:
        if found := self.find_ticket(ticket):
            found.sca = "started"
        return self._ask_code(found, 200)

    def _ask_code(self, found: Authorisation | None, status: int, hint: str = "") -> Response:
        if not found or not found.order.customer:
            return show(404, "Ribera", "<p>La operación ya no está disponible.</p>")
        boxes = "".join(
            f'<label><input type="checkbox" name="cuenta" value="{account.iban}">{account.name}</label>'
            for account in found.order.customer.accounts
            if not found.order.is_payment
        )
        form = f'{boxes}<input name="codigo"><button name="accion" value="aceptar">Aceptar</button>'
        form += '<button name="accion" value="rechazar">Rechazar</button>'
        what = f"{self.APPS[found.order.app]}, {found.order.customer.name}"
        return show(status, "Ribera", f'<p>{what}</p><p>{hint}</p><form method="post">{form}</form>')

    def decide(self, request: Request, ticket: str) -> Response:
        found = self.find_ticket(ticket)
        if not found or not found.order.customer:
            return self._ask_code(None, 404)
        order, customer = found.order, found.order.customer
        if request.field("accion") == "rechazar":
            found.sca, order.status = "failed", "RJCT" if order.is_payment else "rejected"
            return self.send_back(order, is_yes=False, resultado="ko")
        if request.field("codigo") != customer.code:
            return self._ask_code(found, 401, "El código no es correcto.")
        if order.is_payment:
            chosen = [order.document["debtorAccount"]["iban"]]
        elif "allPsd2" in order.document["access"]:
            chosen = [account.iban for account in customer.accounts]
        else:
            chosen = request.form.get("cuenta", [])
        order.accounts = [account for account in customer.accounts if account.iban in chosen]
        if not order.accounts:
            return self._ask_code(found, 400, "Elija una cuenta.")
        found.sca, order.status = "finalised", "ACCP" if order.is_payment else "valid"
        order.approved = self.clock.now
        return self.send_back(order, is_yes=True, resultado="ok")

    def first_day(self, request: Request) -> date:
        return self.clock.today - LONGEST
