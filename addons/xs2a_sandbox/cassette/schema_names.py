"""Finds the name of the schema for a request or a response, by operation, status and path."""

from collections.abc import Mapping

from xs2a_sandbox.cassette.model import Operation, Rule


def names_by_status(by: Operation | Rule, operation: Operation | None) -> Mapping[str, str]:
    """Return the default schema of responses by status: the entry's own `answers`, or those of its operation."""
    return by.behaviour.answers or (operation.behaviour.answers if operation else None) or {}


def answer_schemas(operation: Operation | None, status: int, error_schema: str | None) -> list[str]:
    """Return the schema names for responses with that status: at most one for an error, maybe several for a success.

    `error_schema` is that of the dialect's `every_error`, for operations without their own schema.
    """
    usual = names_by_status(operation, None).get(str(status)) if operation else None
    if status >= 400:
        error = usual or error_schema
        return [error] if error else []
    respond = operation.behaviour.respond if operation else ()
    own = [answer.schema for answer in respond if answer.schema and answer.status == status]
    return [*([usual] if usual else ()), *own]


def fill_name(name: str, path: Mapping[str, str]) -> str:
    """Fill in the path parameters of a name such as `payments/{product}`."""
    for parameter, value in path.items() if "{" in name else ():
        name = name.replace("{" + parameter + "}", value)
    return name


def possible_names(name: str | None, operation: Operation | None) -> list[str]:
    """Return the names that `payments/{product}` can become with the values that the operation's `where` allows."""
    if name is None:
        return []
    names = {name}
    for alternative in operation.where if operation else ():
        for constraint in alternative:
            if values := constraint.values:
                parameter = constraint.place.name
                names = {fill_name(possible, {parameter: str(value)}) for possible in names for value in values}
    return sorted(names)
