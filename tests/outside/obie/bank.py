"""The bank as an app and its customer use it: tokens, the authorisation with a request object, and the pages."""

import time
import uuid
from collections import ChainMap, defaultdict
from typing import Any
from urllib.parse import parse_qs

import httpx
from lxml import html

from tests.outside.obie.detached_jws import Signer
from tests.outside.obie.target import Target

_ENDPOINTS = {"token_endpoint": "/token", "authorization_endpoint": "/sca/auth"}
_PAGES = 10


class Refused(Exception):
    pass


class BankClient:
    def __init__(self, url: str, target: Target) -> None:
        self.target, self.signer = target, Signer()
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=30)
        found = self.http.get("/.well-known/openid-configuration")
        self._known: dict[str, Any] = {
            **_ENDPOINTS,
            "issuer": url,
            **(found.json() if found.status_code == httpx.codes.OK else {}),
        }
        self.keys = self.http.get(self._known["jwks_uri"]).json()["keys"] if "jwks_uri" in self._known else []

    def own_token(self, scope: str) -> str:
        return self._token(grant_type="client_credentials", scope=scope)

    def customer_token(self, intent: str, scope: str) -> str:
        """Return the token that the app gets after the customer has approved the consent."""
        client, state = self.target.client[0], uuid.uuid4().hex
        query = {
            "response_type": "code",
            "client_id": client,
            "scope": f"openid {scope}",
            "redirect_uri": self.target.redirect,
            "state": state,
        }
        now = int(time.time())
        claims = {
            **query,
            "iss": client,
            "aud": self._known["issuer"],
            "iat": now,
            "nbf": now,
            "exp": now + 1800,
            "jti": uuid.uuid4().hex,
            "nonce": uuid.uuid4().hex,
            "claims": {"id_token": {"openbanking_intent_id": {"value": intent, "essential": True}}},
        }
        link = self._known["authorization_endpoint"]
        answer = self.http.get(link, params={**query, "request": self.signer.jwt(claims)})
        back = parse_qs(self._approved(answer).query.decode())
        if back.get("state") != [state] or "code" not in back:
            raise Refused(f"the customer's approval of {intent} gave {back}")
        return self._token(grant_type="authorization_code", code=back["code"][0], redirect_uri=self.target.redirect)

    def _approved(self, answer: httpx.Response) -> httpx.URL:
        """Return the final redirect of the customer."""
        for _ in range(_PAGES):
            if not answer.has_redirect_location:
                raise Refused(f"{answer.request.method} {answer.url.path}: {answer.status_code} {_said(answer)}")
            place = answer.url.join(answer.headers["location"])
            if str(place).startswith(self.target.redirect):
                return place
            page = self.http.get(place)
            if page.is_success:
                fields: dict[str, list[str]] = defaultdict(list)
                for name, value in html.fromstring(page.text).forms[0].form_values():
                    fields[name].append(value)
                filled = [self.target.approves.get(step, {}) for step in fields["step"]]
                page = self.http.post(place, data=dict(ChainMap(*filled, fields)))
            answer = page
        raise Refused(f"the bank's pages lead nowhere: {answer.url}")

    def _token(self, **form: str) -> str:
        answer = self.http.post(self._known["token_endpoint"], data=form, auth=self.target.client)
        if answer.status_code != httpx.codes.OK:
            raise Refused(f"no token for {form['grant_type']}: {answer.status_code} {_said(answer)}")
        token: str = answer.json()["access_token"]
        return token


def _said(answer: httpx.Response) -> str:
    if "html" in answer.headers.get("content-type", ""):
        return " ".join(html.fromstring(answer.text).find("body").text_content().split())[:200]
    return answer.text[:200]
