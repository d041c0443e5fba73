"""The language of cassettes: YAML files that define the responses to requests.

`reader` parses a file into rules and operations, `layers` merges files into an interface, `index` finds the rules and
operations that may answer a request, `decide` picks one of them, `requirements` rejects invalid requests, and `answers`
writes the response.
"""

from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.dialect.layers import Interface
from xs2a_sandbox.cassette.model import Operation, Rule

__all__ = ["Call", "Interface", "Operation", "Rule"]
