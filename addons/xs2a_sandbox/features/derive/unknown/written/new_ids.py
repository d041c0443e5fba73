"""Expressions for new ids that are written like the recorded ones: the same prefix, the day, other characters."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from xs2a_sandbox.features.derive.expression_text import braced

_DAYS = ("%Y%m%d", "%y%m%d", "%Y")
"""How ids have the day on which they were made."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEAST = 4
"""The least random digits in an id."""


def new_value(examples: Sequence[Any], made: Sequence[datetime] = (), offset: int = 0) -> str:
    """Return an expression for a new value that is written like the examples.

    `made` has the times at which they were made, `offset` how many seconds the bank's clock is ahead of UTC.
    """
    example = examples[0]
    if isinstance(example, int):
        digits = len(str(example))
        text = f"'{digits and str(example)[0]}' ~ new_id('{{digits:{digits - 1}}}')"
        return "{{ (" + text + ") | int }}" if digits > 4 else "{{ (new_id('9{digits:5}')) | int }}"
    texts = [str(one) for one in examples]
    if _UUID.fullmatch(texts[0]):
        return "{{ uuid() }}"
    days = [at + timedelta(seconds=offset) for at in made]
    now = f"(clock.seconds + {offset})" if offset else "clock.seconds"

    def write_run(found: re.Match[str]) -> str:
        """Return a run of letters and digits. What all examples have there is a prefix, or zeros before a counter."""
        runs = [text[found.start() : found.end()] for text in texts]
        if found[0].isalpha() and set(runs) == {found[0]} and (len(runs) > 1 or len(found[0]) == 4):
            return found[0]
        prefixed = re.fullmatch(r"([A-Za-z]{1,4})(\d{4,60})", found[0])
        prefix = prefixed[1] if prefixed and all(run.startswith(prefixed[1]) for run in runs) else ""
        rests = [run[len(prefix) :] for run in runs]
        for form in _DAYS if prefix or found[0].isdecimal() else ():
            if days and rests == [day.strftime(form) for day in days]:
                return prefix + braced(f"{now} | strftime('{form}')")
        zeros = min(len(rest) - len(rest.lstrip("0")) for rest in rests) if len(rests) > 1 else 0
        kept = max(min(zeros, len(rests[0]) - _LEAST), 0) if rests[0].isdecimal() else 0
        return prefix + kept * "0" + _new_run(rests[0][kept:])

    return re.sub(r"[A-Za-z0-9]{4,}", write_run, texts[0])


def _new_run(text: str) -> str:
    run = text[:64]
    if re.fullmatch("[0-9]*[a-f][0-9a-f]*[0-9][0-9a-f]*", run) and len(run) >= 8:
        return f"{{{{ new_id('{{hex:{len(run)}}}') }}}}"
    if run.isdecimal():
        return f"{{{{ new_id('{{digits:{len(run)}}}') }}}}"
    if run.upper() == run:
        return f"{{{{ new_id('{{capitals:{len(run)}}}') }}}}"
    if run.islower():
        return f"{{{{ new_id('{{capitals:{len(run)}}}') | lower }}}}"
    return f"{{{{ new_id('{{base64url:{len(run)}}}') | replace('-', 'x') | replace('_', 'y') }}}}"
