"""The section `authorisation`: families, their pages and options, and mistakes."""

from pathlib import Path

import pytest

from tests.support.writing import SCHEMAS, write
from xs2a_sandbox.bank.handlers.table import NAMED
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.dialect.authorisation import Authorisation, PageAddress
from xs2a_sandbox.errors import Unreadable


def read(directory: Path, *sections: str, dialect: str = "xs2a-1.84") -> Authorisation:
    texts = [f"cassette: 1\nauthorisation: {section}\n" for section in sections]
    folders = [write(directory / str(number), {"a.yaml": text}) for number, text in enumerate(texts)]
    interface = layers.read([[bundled("cassettes") / dialect], *([folder] for folder in folders)], SCHEMAS, NAMED)
    return interface.authorisation


def test_options_of_a_family_override_general_options(tmp_path: Path) -> None:
    both = read(tmp_path, "{attempts: 5, of: {consent: {sca: oauth}}}", "{sca: embedded}")
    assert (both.options("consent")["sca"], both.options("consent")["attempts"]) == ("oauth", 5)
    assert (both.options("payment")["sca"], both.options("payment")["attempts"]) == ("embedded", 5)
    assert both.options("none") == {}


def test_null_removes_a_family_or_the_endpoint(tmp_path: Path) -> None:
    less = read(tmp_path, "{of: {basket: null}, endpoint: null}")
    assert "basket" not in less.of
    assert less.endpoint is None


def test_null_turns_off_automatic_decisions(tmp_path: Path) -> None:
    assert "decides_after" not in read(tmp_path, "{decides_after: null}").options("payment")


def test_a_page_address_is_filled_with_members(tmp_path: Path) -> None:
    page = PageAddress.parse("own/pages?i={id}&kind={product}")
    assert page.path == ("own", "pages")
    assert page.fill("a b", {"product": "x&y", "id": "other"}) == "own/pages?i=a%20b&kind=x%26y"
    assert page.fill("a", {}) == "own/pages?i=a&kind="


@pytest.mark.parametrize(
    ("section", "place", "words"),
    [
        ("{of: {consent: {page: consents}}}", "2:38", "the address of a page must be a path with parameters, such as"),
        ('{of: {consent: {page: "consents?x={y}"}}}', "2:38", "one parameter must be {id}"),
        ('{of: {consent: {page: "consents?x={id}&y={id}"}}}', "2:38", "one parameter must be {id}"),
        ('{of: {consent: {page: "consents?x={id}&x={y}"}}}', "2:38", "each parameter can occur only once"),
        (
            '{of: {consent: {page: "consents/{id}?x={id}"}}}',
            "2:38",
            "the address of a page must be a path with parameters",
        ),
        (
            '{of: {consent: {page: "payments?x={id}"}}}',
            "7:1",
            "the path payments is also the path of consent; choose another one",
        ),
        (
            '{of: {consent: {page: "authorize?x={id}"}}}',
            "2:38",
            "the path authorize is also the path of the authorisation end",
        ),
        (
            "{endpoint: {path: logins}}",
            "7:1",
            "the path logins is also the path of the authorisation endpoint; choose another one",
        ),
        ("{of: {consent: {page: null}}}", "7:1", "it can be authorised by redirect and oauth, which needs a page"),
        (
            "{of: {consent: {page: null, approaches: [oauth, embedded]}}}",
            "2:31",
            "it can be authorised by oauth, which",
        ),
        ('{endpoint: {finds: {consent: "{{ nothing }}"}}}', "2:45", "unknown name 'nothing'"),
        ('{of: {consent: {rows: [{label: A, text: "{{ result }}"}]}}}', "2:56", "unknown name 'result'"),
        (
            "{scopes: {mine: {text: service_acounts}}}",
            "2:39",
            "unknown page text 'service_acounts'; did you mean service_acc",
        ),
        ("{of: {mortgage: {}}}", "2:22", "unknown key mortgage"),
        ("{of: {consent: {sca: redirct}}}", "2:37", "did you mean redirect?"),
        ("{attempts: 0}", "2:27", "must be at least 1"),
        ("{expires: 5}", "2:17", "unknown key expires"),
    ],
)
def test_a_mistake(tmp_path: Path, section: str, place: str, words: str) -> None:
    with pytest.raises(Unreadable) as failure:
        read(tmp_path, section)
    (problem,) = failure.value.problems
    assert words in problem.text
    if place != "7:1":  # in the dialect below
        assert f"{problem.line}:{problem.column}" == place


def test_two_files_of_a_layer_cannot_set_the_same_option(tmp_path: Path) -> None:
    text = "cassette: 1\nauthorisation: {attempts: 4}\n"
    folder = write(tmp_path, {"a.yaml": text, "b.yaml": text})
    with pytest.raises(Unreadable) as failure:
        layers.read([[bundled("cassettes") / "xs2a-1.84"], [folder]], SCHEMAS, NAMED)
    (problem,) = failure.value.problems
    assert "authorisation.attempts is already in" in problem.text


def test_a_quirk_of_authorisations_needs_a_dialect_with_authorisations(tmp_path: Path) -> None:
    dialect = (
        "cassette: 1\nevery_error: {body: {text: '{{ error.text }}'}}\n"
        "operations: [{id: a, method: GET, path: /a, respond: {text: a}}]\n"
    )
    quirk = "cassette: 1\nquirk: true\nauthorisation: {attempts: 1}\n"
    folders = [write(tmp_path / name, {"a.yaml": text}) for name, text in (("own", dialect), ("quirk", quirk))]
    with pytest.raises(Unreadable) as failure:
        layers.read([[folder] for folder in folders], SCHEMAS, NAMED)
    assert "this quirk has no effect" in str(failure.value)
    assert layers.read([[bundled("cassettes") / "xs2a-1.84"], [folders[1]]], SCHEMAS, NAMED).quirks == ("a",)
