"""The bank itself: its interface, test data and handlers answer a request, without knowing a door or a real bank.

A `Bank` answers; `Banks` are those that the settings name, and choose the one that a request means.
"""

from xs2a_sandbox.bank.bank import Bank, Banks, Outcome
from xs2a_sandbox.bank.testdata import TestData

__all__ = ["Bank", "Banks", "Outcome", "TestData"]
