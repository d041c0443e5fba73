"""Amounts of money as people read them, and how many decimals each currency has."""

from decimal import Decimal

_DECIMALS = dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(), 0)
_DECIMALS |= dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3)
"""The decimals of currencies (ISO 4217) that do not have two."""


def decimals_of(currency: str) -> int:
    return _DECIMALS.get(currency, 2)


def write_amount(amount: str, currency: str) -> str:
    """Format an amount, such as `5,000.00`, with the decimals of its currency, or more if the amount has more.

    Raises ArithmeticError if the amount is not a number.
    """
    number = Decimal(amount)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ArithmeticError(f"{amount} is not an amount")
    return f"{number:,.{max(decimals_of(currency), -exponent)}f}"
