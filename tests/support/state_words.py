"""The states of the domain in the vocabulary of the bundled dialects."""

from functools import cache

from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.evaluation.state_words import StateWords


@cache
def default_states() -> StateWords:
    return layers.read([[bundled("cassettes") / "xs2a-1.84"]], SCHEMAS, NAMED).states
