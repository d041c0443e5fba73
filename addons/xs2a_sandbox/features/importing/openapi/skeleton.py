"""Makes the skeleton of a dialect from an OpenAPI document: its files, and what was recognised."""

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.cassette.matchers import TEXT
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.json_schema import Node
from xs2a_sandbox.documents.yaml_writer import yaml_text
from xs2a_sandbox.features.importing.openapi import roles
from xs2a_sandbox.features.importing.openapi.attachments import Attacher, Attachment
from xs2a_sandbox.features.importing.openapi.bodies import Bodies
from xs2a_sandbox.features.importing.openapi.document import ApiDocument
from xs2a_sandbox.features.importing.openapi.error_form import common_schema, error_body, errors_section
from xs2a_sandbox.features.importing.openapi.imported_bank import ImportedBank, bundled_bank
from xs2a_sandbox.features.importing.openapi.operations import MISSING, ApiOperation, Parameter, read_operations
from xs2a_sandbox.features.importing.openapi.recognition import (
    Described,
    find_accounts,
    find_creations,
)
from xs2a_sandbox.features.importing.openapi.requirements import (
    CREDENTIAL,
    example_request,
    fits,
    matcher,
    require,
    where,
)
from xs2a_sandbox.features.importing.openapi.schema_collection import SchemaCollection
from xs2a_sandbox.features.importing.openapi.templates import without_expressions

FILE = "api"
"""The name of the file with all schemas."""
FAR_DAY, FAR_TIME = "9999-12-31", "9999-12-30T00:00:00Z"
"""Days of examples that never pass."""
_ALWAYS = frozenset(("format-error", "internal", "media-type", "method-not-offered", "path-unknown"))
_LAST_CONSENT = (
    "{{ (state.consents | dictsort | selectattr('1.status', 'equalto', 'authorised') | sort(attribute='1.sequence') "
    "| map('first') | list | last) or (state.consents | dictsort | selectattr('1.role', 'equalto', 'authorised') "
    "| map('first') | list | first) }}"
)
"""The consent that a request uses if it names none: the newest authorised one."""


@dataclass(slots=True)
class Skeleton:
    """`attachments` are by operation id; `notes` say what is left to fill in, each with the place in the document."""

    name: str
    document: ApiDocument
    operations: Sequence[ApiOperation]
    attachments: dict[str, Attachment]
    notes: list[str]
    files: dict[str, str] = field(default_factory=dict)
    schemas: dict[str, str] = field(default_factory=dict)


class SkeletonMaker:
    """Reads the document once, and keeps its schemas in `folder`. `make` writes a skeleton with some attachments."""

    def __init__(self, name: str, document: ApiDocument, folder: Path) -> None:
        self.name = name
        self.document = document
        self.notes: list[str] = []
        self.operations = read_operations(document, self.notes)
        self.collection = SchemaCollection(document)
        self._requests: dict[str, str] = {}
        self._answers: dict[tuple[str, int], str] = {}
        self._parameter_names: dict[int, str] = {}
        self._collect()
        self.schema_text = self.collection.text()
        self.notes += self.collection.notes
        file = folder / name / f"{FILE}.schema.json"
        file.parent.mkdir()
        file.write_text(self.schema_text, encoding="utf-8")
        self.bodies = Bodies(Schemas([folder]), f"{name}/{FILE}")
        self._drop_uncompiled()
        self.described = [self._describe(one) for one in self.operations]
        self.creations = find_creations(self.described, self.notes)
        self.accounts = find_accounts(self.described)
        self.bank = ImportedBank(self.bodies, self._parameter_names, self._node, self.creations, self.accounts)
        self._attacher = Attacher(self.bodies.allows, self._enumerated)

    def attachments(self) -> list[Attachment]:
        made: list[Attachment] = []
        for kind in ("consent", "payment"):
            for creation in [one for one in self.creations if one.kind == kind]:
                made += self._attacher.of_creation(creation)
        if self.accounts:
            made += self._attacher.of_accounts(self.accounts)
        return made

    def make(self, attachments: Sequence[Attachment]) -> Skeleton:
        attached = {one.operation: one for one in attachments}
        operations = [self._operation(one, attached.get(one.operation.id)) for one in self.described]
        text = "".join(
            f"  # {self.document.file.name}:{one.operation.line}\n" + _indented(yaml_text([value]))
            for one, value in zip(self.described, operations, strict=True)
        )
        dialect = yaml_text(self._dialect(attachments))
        files = {
            "dialect.yaml": _HEAD.format(name=self.document.file.name) + dialect,
            "operations.yaml": f"cassette: 1\ntitle: Operations\noperations:\n{text}",
            "testdata.yaml": yaml_text(self.bank.testdata({one.handler for one in attachments})),
        }
        schemas = {f"{FILE}.schema.json": self.schema_text}
        notes = [*self.notes, *self._missing_consent(attachments)]
        return Skeleton(self.name, self.document, self.operations, attached, notes, files, schemas)

    def _collect(self) -> None:
        for one in self.operations:
            if one.body and one.body.is_json and one.body.schema:
                self._requests[one.id] = self.collection.add(one.body.schema, f"{one.id}.request")
            for answer in one.answers:
                if answer.content and answer.content.is_json and answer.content.schema:
                    name = self.collection.add(answer.content.schema, f"{one.id}.{answer.status}")
                    self._answers[one.id, answer.status] = name
            for parameter in one.parameters:
                self._parameter_names[id(parameter)] = self.collection.add(
                    parameter.schema, f"{one.id}.{parameter.name}"
                )

    def _drop_uncompiled(self) -> None:
        for names in (self._requests, self._answers):
            for key, name in list(names.items()):
                if not self.bodies.compiles(name):
                    self.notes.append(
                        f"the schema {name} cannot be used: correct it in schemas/{self.name}/{FILE}.schema.json"
                    )
                    del names[key]  # type: ignore[arg-type]

    def _describe(self, operation: ApiOperation) -> Described:
        request_name = self._requests.get(operation.id)
        given = operation.body.examples if operation.body and operation.body.is_json else ()
        request = self.bodies.request(request_name, given) if operation.body else MISSING
        if request is MISSING and request_name:
            self.notes.append(
                f"{operation.line}: {operation.id}: no sample fits the schema of its request: add an example"
            )
        success = operation.success
        status = success.status if success else 200
        answer_name = self._answers.get((operation.id, status))
        content = success.content if success else None
        examples = content.examples if content and content.is_json else ()
        answers = [
            body
            for body in (self.bodies.answer(answer_name, examples), self.bodies.whole(answer_name, examples))
            if body is not MISSING
        ]
        if not answers and answer_name:
            what = "its example does not fit its schema" if examples else "no sample fits its schema"
            self.notes.append(f"{operation.line}: {operation.id}: {what}, so correct the body of its answer")
            answers, answer_name = list(examples[:1]), None
        return Described(
            operation,
            request_name,
            request,
            self.bodies.whole(request_name, given) if operation.body else MISSING,
            answer_name,
            answers[:1] if len(answers) == 2 and answers[0] == answers[1] else answers,
            status,
        )

    def _node(self, parameter: Parameter) -> Node | None:
        name = self._parameter_names.get(id(parameter))
        return self.bodies.schema(name).node if name else None

    def _enumerated(self, name: str | None, steps: roles.Steps) -> list[str]:
        nodes = self.bodies.schema(name).nodes(steps) if name else []
        return list(dict.fromkeys(str(word) for node in nodes for word in node.schema.get("enum", ())))

    def _operation(self, one: Described, attachment: Attachment | None) -> dict[str, Any]:
        operation = one.operation
        conditions = where(operation, self._node)
        steps = require(operation, self._node, self._required_body(one))
        written: dict[str, Any] = {"id": operation.id}
        if operation.summary:
            written["doc"] = without_expressions(operation.summary)
        written |= {"method": operation.method, "path": operation.path}
        if conditions:
            written["where"] = conditions
        if steps:
            written["require"] = steps[0] if len(steps) == 1 else steps
        answers = {
            str(status): self.bodies.name(name)
            for (id, status), name in self._answers.items()
            if id == operation.id and status < 400 and not (status == one.status and one.answer_name is None)
        }
        if answers:
            written["answers"] = answers
        written |= attachment.write() if attachment else {"respond": self._respond(one)}
        if request := self._request(one, attachment):
            written["examples"] = [{"request": request, "expect": {"status": one.status}}]
        return written

    def _required_body(self, one: Described) -> dict[str, Any] | None:
        body = one.operation.body
        if body is None:
            return None
        if not body.is_json:
            media = [body.media, *body.others]
            return {"media": media, **({} if body.required else {"optional": True})}
        if one.request_name is None:
            return None
        return {"schema": self.bodies.name(one.request_name), **({} if body.required else {"optional": True})}

    def _respond(self, one: Described) -> dict[str, Any]:
        """Return the answer of an operation without a handler: the example of the document, or a sample."""
        operation = one.operation
        respond: dict[str, Any] = {"status": one.status} if one.status != 200 else {}
        headers = {}
        sent = {parameter.name.lower() for parameter in operation.parameters if parameter.place == "header"}
        success = operation.success
        for name in success.headers if success else ():
            if name.lower() in sent:
                headers[name] = f"{{{{ headers['{name.lower()}'] }}}}"
        if headers:
            respond["headers"] = headers
        if one.status in (204, 304):
            return {"status": one.status, **({"headers": headers} if headers else {})}
        content = success.content if success else None
        if one.answers:
            respond["body"] = without_expressions(one.answers[0])
        elif content and not content.is_json:
            text = next((example for example in content.examples if isinstance(example, str)), "")
            respond.setdefault("headers", {})["Content-Type"] = content.media
            respond["text"] = without_expressions(text)
        elif content and content.is_json:
            respond["body"] = {}
        return respond or {"status": one.status}

    def _request(self, one: Described, attachment: Attachment | None) -> dict[str, Any] | None:
        operation = one.operation
        request = example_request(operation, self._node)
        for parameter in operation.pattern.names:
            known = self.bank.known_id(operation, parameter)
            if known is not None:
                request.setdefault("where", {})[parameter] = known
        self._name_consent(operation, request, attachment)
        body = operation.body
        if body and not body.is_json and body.required:
            sample = "<text/>" if "xml" in body.media else TEXT
            request["text"] = next((example for example in body.examples if isinstance(example, str)), sample)
            request.setdefault("headers", {})["Content-Type"] = body.media
        elif body and one.request is not MISSING:
            sent = deepcopy(one.request)
            if attachment:
                self._fill_in(sent, attachment, one.request_name)
            request["body"] = sent
        elif body and body.required and body.is_json and one.request_name is not None:
            return None
        return request

    def _names_consent(self, parameter: Parameter) -> bool:
        """Return whether the header is called like the consents: `Access-ID` if they are at `/access-requests`."""
        own = set(roles.words(parameter.name)) - {"x"}
        if parameter.place != "header" or "id" not in own:
            return False
        paths = [one.create.operation.path for one in self.creations if one.kind == "consent"]
        names = [roles.words(path.rpartition("/")[2].removesuffix("s")) for path in paths]
        return "consent" in own or any(name and name[0] in own and own <= {*name, "id"} for name in names)

    def _missing_consent(self, attachments: Sequence[Attachment]) -> Iterator[str]:
        """Yield a note if accounts are read with a consent that no header names."""
        handlers = {one.handler for one in attachments}
        parameters = [parameter for operation in self.operations for parameter in operation.parameters]
        if {"consents.create", "accounts.list"} <= handlers and not any(map(self._names_consent, parameters)):
            yield (
                "no header is known to name the consent of a request, so the newest authorised one counts: if there "
                "is such a header, write it as `consent` into `request` of dialect.yaml"
            )

    def _name_consent(self, operation: ApiOperation, request: dict[str, Any], attachment: Attachment | None) -> None:
        """Use the consent of the test data where the request names one in a header."""
        consent = next(iter(bundled_bank()["consents"]))
        reads_account = attachment is not None and attachment.handler.startswith("accounts.")
        for parameter in operation.parameters:
            if (
                self._names_consent(parameter)
                and (parameter.required or reads_account)
                and fits(matcher(self._node(parameter)), consent)
            ):
                request.setdefault("headers", {})[parameter.name] = consent

    def _fill_in(self, sent: Any, attachment: Attachment, name: str | None) -> None:
        """Name an account of the test data, and move days to the future, if the schema allows it."""
        values: dict[roles.Steps, Any] = {}
        if attachment.payer:
            steps, kind = attachment.payer
            values[steps] = self.bank.first_account()[1][kind]
        if attachment.handler == "consents.create":
            # The bank has only the accounts of the test data, and the first of a list is enough.
            for _, entries in roles.lists(sent):
                if any(roles.account_number(steps, value) for steps, value in roles.leaves(entries[:1])):
                    del entries[1:]
            for steps, value in roles.leaves(sent):
                if kind_of_number := roles.account_number(steps, value):
                    values[steps] = self.bank.first_account()[1][kind_of_number]
        for steps, value in roles.leaves(sent):
            if roles.is_day(value):
                values[steps] = FAR_TIME if roles.has_time(value) else FAR_DAY
        for steps, value in values.items():
            changed = deepcopy(sent)
            try:
                roles.at(changed, steps[:-1])[steps[-1]] = value
            except (KeyError, TypeError, IndexError):
                continue
            if self.bodies.allows(name, changed):
                roles.at(sent, steps[:-1])[steps[-1]] = value

    def _dialect(self, attachments: Sequence[Attachment]) -> dict[str, Any]:
        title = self.document.root.get("info").get("title").value
        section: dict[str, Any] = {"cassette": 1, "title": without_expressions(str(title or self.name))}
        handlers = {one.handler for one in attachments}
        if handlers:
            section["request"] = self._request_section()
            section["let"] = {"last_consent": _LAST_CONSENT}
        families = {one.kind for one in attachments if one.handler in ("consents.create", "payments.initiate")}
        if families:
            section["authorisation"] = {"of": {kind: {"page": f"{kind}s?{kind}={{id}}"} for kind in sorted(families)}}
        if states := self._states(families):
            section["states"] = states
        if things := self._things(attachments):
            section["things"] = things
        if shapes := {name: shape for one in attachments for name, shape in one.shapes.items()}:
            section["shapes"] = shapes
        section |= self._errors(attachments)
        return section

    def _request_section(self) -> dict[str, str]:
        """Return the places of inputs that requests have in headers."""
        found: dict[str, str] = {}
        for operation in self.operations:
            for parameter in operation.parameters:
                own = set(roles.words(parameter.name))
                if parameter.place != "header":
                    continue
                place = f"{{{{ headers[{parameter.name.lower()!r}] }}}}"
                if self._names_consent(parameter):
                    found.setdefault("consent", f"{{{{ headers[{parameter.name.lower()!r}] or let.last_consent }}}}")
                elif "redirect" in own and own & {"uri", "url"} and "nok" not in own:
                    found.setdefault("redirect_uri", place)
                elif {"ip", "address"} <= own:
                    found.setdefault("customer_present", place)
                elif own in ({"psu", "id"}, {"customer", "id"}) and not parameter.required:
                    found.setdefault("customer", place)
        return {"consent": "{{ token.resource or let.last_consent }}", **found}

    def _states(self, families: set[str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for creation in self.creations:
            if creation.kind in families and (words := self._attacher.states(creation)):
                found.setdefault(creation.kind, words)
        return found

    def _things(self, attachments: Sequence[Attachment]) -> dict[str, Any]:
        attached = {one.operation for one in attachments}
        things: dict[str, Any] = {}
        for creation in self.creations:
            if creation.create.operation.id not in attached or creation.kind in things:
                continue
            names = {
                operation.pattern.segments[len(creation.create.operation.pattern.segments)].text
                for operation in (one.operation for one in creation.others.values())
            }
            places = [f"path.{name}" for name in sorted(names) if re.fullmatch(r"\w+", name)]
            things[creation.kind] = {
                "id": [*places, ".".join(("answer", *map(str, creation.id)))],
                "state": ".".join(("answer", *map(str, creation.status))),
            }
        return things

    def _errors(self, attachments: Sequence[Attachment]) -> dict[str, Any]:
        failures = {
            (one.id, answer.status): answer
            for one in self.operations
            for answer in one.answers
            if answer.status >= 400 and (one.id, answer.status) in self._answers
        }
        name = common_schema(self._answers[key] for key in failures)
        examples = [
            example
            for key, answer in failures.items()
            if self._answers[key] == name and answer.content
            for example in answer.content.examples
        ]
        answer = self.bodies.answer(name, examples) if name else MISSING
        body = error_body(answer, lambda value: self.bodies.allows(name, value))
        raised = (
            _raised(attachments) | _ALWAYS | ({CREDENTIAL} if any(one.credential for one in self.operations) else set())
        )
        return {"every_error": {"nulls": "drop", "body": body}, "errors": errors_section(raised, self._codes(failures))}

    def _codes(self, failures: Mapping[tuple[str, int], Any]) -> dict[int, list[str]]:
        """Return the words for errors that schemas list, by status."""
        found: dict[int, dict[str, None]] = {}
        for key in failures:
            sample = self.bodies.answer(self._answers[key], ())
            for steps, value in roles.leaves(sample) if sample is not MISSING else ():
                if isinstance(value, str) and steps and "code" in roles.words(steps[-1]):
                    offered = self._enumerated(self._answers[key], steps)
                    found.setdefault(key[1], {}).update(dict.fromkeys(offered))
        return {status: list(words) for status, words in found.items() if words}


_HEAD = """\
# Imported from {name}: xs2a-sandbox docs import-openapi
"""


def _raised(attachments: Sequence[Attachment]) -> set[str]:
    handlers = collect_handlers()
    return {error for one in attachments for error in handlers[one.handler].with_options(one.options).raises}


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" if line else "\n" for line in text.splitlines())
