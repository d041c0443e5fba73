"""The bank answers requests from its interface, test data and handlers. It does not know the doors or the real bank.

A `Bank` returns an `Answer`. `Banks` holds the banks in the settings and selects the one that a request is for.
"""

from xs2a_sandbox.bank.answer import Answer
from xs2a_sandbox.bank.bank import Bank
from xs2a_sandbox.bank.banks import Banks
from xs2a_sandbox.bank.testdata import TestData

__all__ = ["Answer", "Bank", "Banks", "TestData"]
