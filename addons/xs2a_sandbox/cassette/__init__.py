"""The language of cassettes: YAML files that say which request is answered how.

`reader` makes rules and operations of a file, `layers` the interface of several, `index` finds who may answer
a request, `decide` who does, `requirements` refuses it, `answers` writes what is said.
"""

from xs2a_sandbox.cassette.call import Call
from xs2a_sandbox.cassette.dialect.layers import Interface
from xs2a_sandbox.cassette.model import Operation, Rule

__all__ = ["Call", "Interface", "Operation", "Rule"]
