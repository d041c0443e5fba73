"""Running all scripts against a bank."""

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.outside.obie import consents, detached_jws, expectations, openapi
from tests.outside.obie.bank import BankClient, Refused
from tests.outside.obie.manifests import INTERFACES, Interface, Script, references, scripts
from tests.outside.obie.target import Target
from tests.outside.obie.words import ScriptWords, Unknown, Words
from tests.support.serving import served


@dataclass(frozen=True)
class Contradiction:
    script: str
    """The expectation of the script."""
    openapi: str
    """The definition in the OpenAPI document."""


CONTRADICTIONS: Mapping[str, Contradiction] = {
    "OB-400-PRO-103403": Contradiction(
        script="GET /product must be answered with 200.",
        openapi="There is no path /product, only /products and /accounts/{AccountId}/product.",
    ),
    "OB-400-DOP-1015002": Contradiction(
        script="A standing order with FirstPaymentAmount, but without NumberOfPayments and FinalPaymentDateTime, "
        "must be answered with 403.",
        openapi="FirstPaymentAmount is required, NumberOfPayments is optional; script OB-400-DOP-101500 wants 200 for "
        "the same request.",
    ),
}
"""The scripts that a bank which conforms to the OpenAPI document cannot pass, by their ids."""


@dataclass(frozen=True)
class Result:
    id: str
    interface: str
    why: tuple[str, ...]
    """What is wrong; empty if it passed."""


def results(url: str, target: Target) -> Iterator[Result]:
    bank = BankClient(url, target)
    for interface in INTERFACES:
        runner = _Accounts if interface.name == "accounts" else _Payments
        yield from runner(bank, interface).results()


class _Runner:
    """Runs the scripts of an interface. Has the app's own token, and the values known so far."""

    own: str

    def __init__(self, bank: BankClient, interface: Interface) -> None:
        self.bank, self.interface = bank, interface
        self.expected, bodies = references()
        self.words = Words(bodies | {"x-fapi-interaction-id": str(uuid.uuid4())} | bank.target.words())

    def results(self) -> Iterator[Result]:
        found = scripts(self.interface)
        failed: Exception | None = None
        try:
            self.begin(found)
        except Refused as refused:
            failed = refused
        for script in found:
            try:
                why = [str(failed)] if failed else self.run_script(script)
            except (Unknown, Refused, httpx.HTTPError) as error:
                why = [str(error)]
            yield Result(script.id, self.interface.name, tuple(why))

    def begin(self, scripts: Sequence[Script]) -> None:
        """Get the tokens that are needed before the first script. Raises Refused."""
        self.own = self.words.known["client_access_token"] = self.bank.own_token(self.interface.scope)

    def run_script(self, script: Script) -> list[str]:
        """Return what is wrong. Raises Unknown, Refused."""
        raise NotImplementedError

    def send(self, script: Script, words: ScriptWords, token: str | None) -> list[str]:
        """Return what is wrong with the answer. The answer is stored if it meets the expectations."""
        source = script.source
        path = words.resolved(source["uri"])
        answer = self.bank.http.request(
            script.method,
            openapi.server(self.interface.document) + path,
            params=source.get("queryParameters"),
            **self._message(script, words, token),
        )
        why = list(expectations.unmet(script, self.expected, answer, words.resolved))
        if script.keeps and not why:
            name, place = script.keeps
            kept = expectations.text_at(answer, place)
            if kept is None:
                why.append(f"{place} is missing")
            else:
                self.words.known[name] = kept
        if source.get("schemaCheck"):
            why += openapi.differences(self.interface.document, script.method, path, answer)
        if source.get("validateSignature"):
            signature = answer.headers.get(detached_jws.HEADER)
            if signature is None:
                why.append(f"no {detached_jws.HEADER}")
            else:
                why += detached_jws.mistakes(signature, answer.content, self.bank.keys)
        return why

    def _message(self, script: Script, words: ScriptWords, token: str | None) -> dict[str, Any]:
        headers = httpx.Headers(
            {
                **{name: words.resolved(f"${name}") for name in ("x-fapi-financial-id", "x-fapi-customer-ip-address")},
                "x-fapi-interaction-id": str(uuid.uuid4()),
                "x-fcs-testcase-id": script.id,
                **({"authorization": f"Bearer {token}"} if token else {}),
            }
        )
        body = b""
        if "body" in script.source:
            told = json.loads(words.resolved(script.source["body"]))
            body = json.dumps(told, separators=(",", ":"), ensure_ascii=False).encode()
            headers["content-type"] = "application/json"
        headers.update({name: words.resolved(text) for name, text in script.source.get("headers", {}).items()})
        if self.interface.signed and script.method == "POST":
            without = script.source.get("removeSignatureClaims", ())
            headers[detached_jws.HEADER] = self.bank.signer.signature(body, without)
            headers["x-idempotency-key"] = uuid.uuid4().hex
        for name in script.source.get("removeHeaders", ()):
            headers.pop(name, None)
        return {"headers": headers, "content": body}


class _Accounts(_Runner):
    def begin(self, scripts: Sequence[Script]) -> None:
        super().begin(scripts)
        self._tokens: dict[str, tuple[str, str] | Refused] = {}
        for consent in consents.shared(scripts):
            token = self._approved(consent)
            self._tokens.update(dict.fromkeys(consent.scripts, token))
            if isinstance(token, tuple):
                self.words.known.setdefault("consentedAccountId", token[1])

    def run_script(self, script: Script) -> list[str]:
        found = self._tokens.get(script.id)
        if isinstance(found, Refused):
            raise found
        token, account = found or (None, None)
        words = self.words.of(script.parameters | ({"consentedAccountId": account} if account else {}))
        return self.send(script, words, token)

    def _approved(self, consent: consents.Consent) -> tuple[str, str] | Refused:
        """Return a token, and the first account that it gives access to."""
        words, base = self.words.known, openapi.server(self.interface.document)
        wanted = {
            "Permissions": sorted(consent.permissions),
            "TransactionFromDateTime": words["transactionFromDate"],
            "TransactionToDateTime": words["transactionToDate"],
        }
        try:
            data = self._data("POST", f"{base}/account-access-consents", self.own, {"Data": wanted, "Risk": {}})
            token = self.bank.customer_token(data["ConsentId"], self.interface.scope)
            return token, self._data("GET", f"{base}/accounts", token)["Account"][0]["AccountId"]
        except (Refused, LookupError, ValueError) as error:
            return Refused(f"no token for {', '.join(sorted(consent.permissions))}: {error!r}")

    def _data(self, method: str, path: str, token: str, body: object = None) -> dict[str, Any]:
        answer = self.bank.http.request(method, path, headers={"authorization": f"Bearer {token}"}, json=body)
        if not answer.is_success:
            raise Refused(f"{method} {path}: {answer.status_code} {answer.text}")
        data: dict[str, Any] = answer.json()["Data"]
        return data


class _Payments(_Runner):
    """Also runs the scripts of VRP and confirmations of funds."""

    def begin(self, scripts: Sequence[Script]) -> None:
        super().begin(scripts)
        self._tokens: dict[str, str] = {}

    def run_script(self, script: Script) -> list[str]:
        words = self.words.of(script.parameters)
        token = self._tokens.get(script.parameters.get("consentId", "")) if script.needs_customer else self.own
        if token is None:
            raise Refused(f"there is no token of the consent {script.parameters.get('consentId')}")
        why = self.send(script, words, token)
        if script.wants_approval and script.keeps and script.keeps[0] in self.words.known:
            intent = self.words.known[script.keeps[0]]
            self._tokens[f"${script.keeps[0]}"] = self.bank.customer_token(intent, self.interface.scope)
        return why


@contextmanager
def bank_of(target: Target, directory: Path) -> Iterator[str]:
    """Yield the base URL of a new `serve`."""
    if target.cassettes:
        shutil.copytree(target.cassettes, directory / "cassettes")
    with served(directory, "--dialect", target.dialect) as serving:
        yield serving.direct
