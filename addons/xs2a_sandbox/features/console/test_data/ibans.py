"""New IBANs for invented accounts."""

from random import Random

from xs2a_sandbox.documents.formats import is_iban


def make_iban(like: str, random: Random) -> str:
    """Return a valid IBAN with the country, bank and branch of `like`, which must be valid."""
    import schwifty  # imported when needed, because it reads its registry of banks

    known = schwifty.IBAN(like)
    parts = {name: part for name in ("bank_code", "branch_code") if (part := getattr(known, name))}
    while True:
        made = str(schwifty.IBAN.random(known.country_code, random=random, use_registry=False, **parts))
        if is_iban(made):
            return made
