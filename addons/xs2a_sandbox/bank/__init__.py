"""The bank itself: its interface, test data and handlers answer a request, without knowing a door or a real bank.

A `Bank` answers with an `Answer`; `Banks` are those that the settings name, and choose the one that a request means.
"""

from xs2a_sandbox.bank.answer import Answer
from xs2a_sandbox.bank.bank import Bank
from xs2a_sandbox.bank.banks import Banks
from xs2a_sandbox.bank.testdata import TestData

__all__ = ["Answer", "Bank", "Banks", "TestData"]
