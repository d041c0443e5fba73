"""JSON Schemas of the interface: checking a body quickly, explaining a failure, filling what is unused with null."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jsonschema_rs

from xs2a_sandbox import own_file
from xs2a_sandbox.errors import Problem, Unreadable
from xs2a_sandbox.formats import FORMATS
from xs2a_sandbox.shape import Fill, Node, filling, listing

SUFFIX = ".schema.json"


class Schemas:
    """The schemas of some directories, by name (`payments/sepa-credit-transfers`); earlier directories win.

    Each is read and compiled when it is first asked for.

    Raises:
        KeyError: no directory has a schema of that name.
        Unreadable: the file is no JSON Schema.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = tuple(directories)
        self._documents: dict[str, Any] = {}
        self._schemas: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> "Schema":
        if name not in self._schemas:
            self._schemas[name] = Schema(name, self._read(name), self._read)
        return self._schemas[name]

    def __contains__(self, name: str) -> bool:
        return self._file(name) is not None

    def names(self) -> list[str]:
        found = {
            file.relative_to(directory).as_posix().removesuffix(SUFFIX)
            for directory in self._directories
            for file in directory.rglob("*" + SUFFIX)
        }
        return sorted(found)

    def _file(self, name: str) -> tuple[Path, Path] | None:
        """The directory, and the file below it; a name cannot lead out of it."""
        if {"", ".."} & set(name.split("/")):
            return None
        candidates = ((directory, directory / (name + SUFFIX)) for directory in self._directories)
        return next((found for found in candidates if found[1].exists()), None)

    def _read(self, name: str) -> Any:
        if name not in self._documents:
            self._documents[name] = self._parse(name)
        return self._documents[name]

    def _parse(self, name: str) -> Any:
        found = self._file(name)
        if found is None:
            raise KeyError(name)
        directory, file = found
        try:
            return json.loads(own_file.read(file, folder=directory))
        except OSError as error:
            raise Unreadable([Problem(file, 1, 1, "unreadable", f"cannot be read: {error.strerror}")]) from None
        except (ValueError, RecursionError) as error:
            raise Unreadable([Problem(file, 1, 1, "schema-json", f"this is not JSON: {error}")]) from None


class Schema:
    """One schema, compiled for the request path; jsonschema explains what it refuses."""

    def __init__(self, name: str, document: Any, read: Callable[[str], Any]) -> None:
        self.name = name
        self.document = document
        self._read = read

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        accepts: Callable[[Any], bool] = self._validator.is_valid
        return accepts

    def mistakes(self, value: Any) -> frozenset[tuple[Any, ...]]:
        """Which rules are broken, and where: quickly and without words. Equal for what `complaint` says the same of."""
        errors = self._validator.iter_errors(value)
        return frozenset((*error.instance_path, None, *error.schema_path) for error in errors)

    @cached_property
    def _validator(self) -> Any:
        return jsonschema_rs.validator_for(
            self.document, formats=FORMATS, validate_formats=True, retriever=lambda uri: self._read(_name(uri))
        )

    @cached_property
    def fill(self) -> Fill:
        """A function that gives every unused member that may be null the value null, in the schema's order."""
        return filling(self.node)

    @cached_property
    def unlisted(self) -> Callable[[Any], list[str]]:
        """A function that gives the JSON Pointers of members that the schema does not name."""
        return listing(self.node)

    @property
    def node(self) -> Node:
        return Node(self.document, self.document, lambda uri: self._read(_name(uri)))

    def complaint(self, value: Any) -> tuple[str, str] | None:
        """The JSON Pointer of what is wrong first, and what was expected there."""
        import jsonschema  # only a refused body needs the slower of the two
        import referencing

        def retrieve(uri: str) -> referencing.Resource[Any]:
            return referencing.Resource.from_contents(self._read(_name(uri)))

        checker = jsonschema.FormatChecker(formats=())
        for name, check in FORMATS.items():
            checker.checks(name)(lambda text, check=check: not isinstance(text, str) or check(text))
        registry: referencing.Registry[Any] = referencing.Registry(retrieve=retrieve)  # type: ignore[call-arg]
        validator = jsonschema.Draft202012Validator(self.document, format_checker=checker, registry=registry)
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is None:
            return None
        pointer = [str(token) for token in error.absolute_path]
        text = _explain(error.validator, error.validator_value, error.instance, error.schema)
        if error.validator == "required":
            pointer.append(next(name for name in error.validator_value if name not in error.instance))
            text = "is required"
        return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in pointer), text


def _explain(keyword: str, wanted: Any, found: Any, schema: Mapping[str, Any]) -> str:
    if keyword == "type" or (keyword == "maxLength" and wanted == 0):
        listed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        # Of texts, a member that takes only the empty one takes none that says anything.
        kinds = [kind for kind in listed if kind != "string" or schema.get("maxLength") != 0]
        return f"must be {' or '.join(map(_article, kinds))}, not {_article(_kind(found))}"
    if keyword == "format":
        return f"must be {_article(_FORMAT_WORDS.get(wanted, wanted))}"
    if keyword in ("enum", "const"):
        values = wanted if keyword == "enum" else [wanted]
        # The empty text is as good as no member, and nobody is told to write it.
        return f"must be {' or '.join(json.dumps(value) for value in values if value != '')}"
    if keyword in ("minItems", "minLength"):
        return "must not be empty" if wanted == 1 else f"must have at least {wanted} entries or characters"
    if keyword in ("maxItems", "maxLength"):
        return f"must have at most {wanted} entries or characters"
    if keyword in ("minimum", "maximum"):
        return f"must be at {'least' if keyword == 'minimum' else 'most'} {wanted}"
    if keyword == "pattern":
        return f"must be {_lower(schema['description'])}" if "description" in schema else f"must fit {wanted}"
    if keyword in ("anyOf", "oneOf"):
        return "has none of the forms it may have" + _alternatives(wanted)
    return "is not what the interface takes there"


_FORMAT_WORDS = {
    "amount": "amount with a dot, such as 12.34",
    "bic": "BIC",
    "country": "ISO 3166 country code",
    "currency": "ISO 4217 currency code",
    "date": "date (YYYY-MM-DD)",
    "iban": "IBAN with valid check digits",
    "uuid": "UUID",
}


def _alternatives(branches: Sequence[Any]) -> str:
    needed = [name for branch in branches if isinstance(branch, dict) for name in branch.get("required", ())]
    return f": one of {', '.join(needed)} is needed" if needed else ""


def _article(noun: str) -> str:
    if noun == "null":
        return noun
    return f"{'an' if noun[0] in 'aeioAI' else 'a'} {noun}"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].removesuffix(".")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((dict, "object"), (list, "array"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "number"


def _name(uri: str) -> str:
    return uri.partition("/schemas/")[2].partition("#")[0].removesuffix(SUFFIX)
