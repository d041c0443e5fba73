"""The headers that distinguish recorded requests are those that a dialect declares."""

from pathlib import Path

from tests.support.writing import SCHEMAS, write
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.features.derive.telling_headers import telling_headers

FOREIGN = """
cassette: 1
every_error: {body: {}}
request:
  consent: "{{ headers['X-Agreement'] or query.agreement }}"
  customer: "{{ headers['X-User'] }}"
  redirect_uri: "{{ body.back }}"
  once: "{{ headers['X-Idempotency-Key'] }}"
things:
  consent: {id: "headers['X-Agreement']"}
  customer: {id: "headers['X-User']", telling: "headers['X-User-Kind']"}
operations:
  - {id: things, method: GET, path: /v1/things, respond: {body: {}}}
"""


def test_only_the_headers_of_the_dialect_are_compared(tmp_path: Path) -> None:
    directory = write(tmp_path, {"dialect.yaml": FOREIGN})
    telling = telling_headers(layers.read([[directory]], SCHEMAS, NAMED))
    assert telling.always == {"x-agreement": "X-Agreement"}
    assert telling.differing.keys() == {"accept", "accept-language", "content-type", "x-user", "x-user-kind"}
    assert telling.present == {"x-idempotency-key": "X-Idempotency-Key"}


def test_without_a_dialect_the_headers_of_the_bundled_one_are_compared() -> None:
    telling = telling_headers(None)
    assert telling.always == {"consent-id": "Consent-ID"}
    assert {"psu-id", "psu-id-type", "tpp-redirect-preferred"} < telling.differing.keys()
    assert {"x-request-id", "psu-ip-address"} < telling.present.keys()
