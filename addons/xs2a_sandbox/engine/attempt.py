"""Computes an answer for `explain` without storing anything."""

from dataclasses import replace

from xs2a_sandbox.bank import Bank
from xs2a_sandbox.cassette import Call
from xs2a_sandbox.cassette.decide import Decision
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.explain.explanation import Explanation, Reply


def attempt(bank: Bank, explanation: Explanation, decision: Decision, call: Call, *, in_browser: bool) -> Explanation:
    """Return the explanation with the answer of the decision. The caller must not commit `call` afterwards."""
    try:
        answer = bank.answer(decision, call, in_browser=in_browser)
    except StoreUnavailable:
        reply = reply_to(BankError("busy"), bank, call.operation)
    except Exception as error:
        reply = reply_to(BankError("internal", reason=str(error)), bank, call.operation)
    else:
        reply = Reply(answer.response.status)
        if answer.refusal:
            reply = Reply(answer.response.status, answer.refusal.name, bank.text(answer.refusal))
    refusals = [error for error in (decision.error, *call.objections) if isinstance(error, BankError)]
    signatures = (refused.values["signature"] for refused in refusals if "signature" in refused.values)
    return replace(explanation, reply=reply, objections=bank.objections(call), signature=next(signatures, None))


def reply_to(error: BankError | Refused, bank: Bank, operation: str | None = None) -> Reply:
    """Return the error in the words of the bank, or of the sandbox itself."""
    if isinstance(error, Refused):
        return Reply(error.status, error.error, str(error))
    return Reply(bank.interface.errors[error.name].status(operation), error.name, bank.text(error))
