"""An answer that is tried out: what its status would be, where nothing of it is kept."""

from xs2a_sandbox.bank import Outcome
from xs2a_sandbox.call import Call
from xs2a_sandbox.errors import BankError, Refused, StoreUnavailable
from xs2a_sandbox.explanation import Reply
from xs2a_sandbox.index import Found


def attempted(call: Call, found: Found, outcome: Outcome, *, may_ask: bool) -> Reply | None:
    """None where the real bank is to say it; `call` must not be committed afterwards."""
    try:
        response = outcome.bank.answer(call, found, outcome, may_ask=may_ask)
    except (BankError, StoreUnavailable) as error:
        return refusal(error if isinstance(error, BankError) else BankError("busy"), outcome)
    except Exception as error:
        return refusal(BankError("internal", reason=str(error)), outcome)
    return Reply(response.status) if response else None


def refusal(error: BankError | Refused, outcome: Outcome) -> Reply:
    """As the bank of this request says it, or the sandbox itself."""
    if isinstance(error, Refused):
        return Reply(error.status, error.error, str(error))
    bank = outcome.bank
    return Reply(bank.interface.errors[error.name].status, error.name, bank.text(error))
