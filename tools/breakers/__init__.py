"""For every statement about the interface: products that break it, and it alone as far as that goes."""

from collections.abc import Mapping, Sequence

from tools.breakers import accounts, consents, further, payments, readings, requests, strict
from tools.breakers.breaker import Breaker

CATALOGUE: Mapping[str, Sequence[Breaker]] = {
    **consents.CATALOGUE,
    **accounts.CATALOGUE,
    **payments.CATALOGUE,
    **requests.CATALOGUE,
    **further.CATALOGUE,
    **readings.CATALOGUE,
    **strict.CATALOGUE,
}
"""By the id of the statement."""

__all__ = ["CATALOGUE", "Breaker"]
