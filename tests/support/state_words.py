"""The states of the domain in the vocabulary of the bundled dialects."""

from functools import cache

from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.evaluation.state_words import StateWords
from xs2a_sandbox.documents import Schemas


@cache
def default_states() -> StateWords:
    return layers.read([[bundled("cassettes") / "xs2a-1.84"]], Schemas([bundled("schemas")]), NAMED).states
