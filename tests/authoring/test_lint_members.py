"""Unknown names in a user's dialect are reported at their place, with the name that was probably meant."""

import shutil
from pathlib import Path

import pytest

from tests.support.certificates import der, issued
from tests.support.linting import places_of
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.config import Settings
from xs2a_sandbox.features.authoring.lint import check
from xs2a_sandbox.features.authoring.lint_members import CLIENT
from xs2a_sandbox.tpp.certificate import read

GONE = "respond: {status: 204}"


@pytest.fixture
def dialect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a new dialect, copied from the bundled one."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(bundled("cassettes") / "xs2a-1.84", tmp_path / "cassettes" / "mine")


def problems(dialect: Path, file: str = "", right: str = "", wrong: str = "") -> list[str]:
    """Return the problems of the dialect with one mistake: relative places, codes and texts."""
    if file:
        text = (dialect / file).read_text()
        assert right in text
        (dialect / file).write_text(text.replace(right, wrong, 1))
    mistakes = check(Settings(dialect="mine", state="memory:", confdir=dialect.parents[1]))
    return [f"{p.file.name} {p.code}: {p.text}" for p in mistakes]


def test_a_copy_of_the_bundled_dialect_has_no_problems(dialect: Path) -> None:
    assert problems(dialect) == []


@pytest.mark.parametrize(
    ("file", "right", "wrong", "expected"),
    [
        (
            "payments.yaml",
            "input:\n      service: payments",
            "input:\n      servcie: payments",
            "unknown-input: the handler payments.initiate has no input 'servcie'; did you mean service?",
        ),
        ("accounts.yaml", "      lists: {", "      list: {", "unknown-key: unknown key list; did you mean lists?"),
        ("authorisations.yaml", "{family: consent}", "{family: consents}", "did you mean consent?"),
        (
            "consents.yaml",
            'consentId: "{{ result.id }}',
            'consentId: "{{ result.ids }}',
            "member: result has no member 'ids'; did you mean id?",
        ),
        (
            "payments.yaml",
            "result.payment.status",
            "result.payment.state",
            "member: result.payment has no member 'state'; did you mean status?",
        ),
        (
            "payments.yaml",
            "when: result.status ==",
            "when: result.state ==",
            "member: result has no member 'state'; did you mean status?",
        ),
        (
            "consents.yaml",
            GONE,
            GONE + '\n    effects: [{set: "state.consents[path.consentId].statsu", to: rejected}]',
            "member: documents in consents have no member 'statsu'; did you mean status?",
        ),
        (
            "consents.yaml",
            GONE,
            GONE + '\n    effects: [{set: "state.consents[path.consentId].status", to: rejcted}]',
            "did you mean rejected?",
        ),
        (
            "consents.yaml",
            GONE,
            GONE + '\n    effects: [{set: "state.consent[path.consentId].status", to: rejected}]',
            "member: nothing reads state.consent; did you mean consents?",
        ),
        (
            "consents.yaml",
            GONE,
            GONE + "\n    effects: [{set: \"state.payments['a']\", to: {product: mine}}]",
            "member: the key status is missing (schema state/2/payments)",
        ),
        (
            "consents.yaml",
            "{{ result.self }}/status",
            "{{ state.consents[result.id].state }}",
            "member: state.consents[…] has no member 'state'",
        ),
        (
            "consents.yaml",
            "{{ result.self }}/status",
            "{{ testdata.consent[result.consentId].role }}",
            "member: testdata has no member 'consent'; did you mean consents?",
        ),
        (
            "consents.yaml",
            "{{ session.url }}",
            "{{ session.uri }}",
            "member: session has no member 'uri'; did you mean url?",
        ),
        (
            "consents.yaml",
            "{{ session.url }}",
            "{{ token.scpe }}",
            "member: token has no member 'scpe'; did you mean scope?",
        ),
        (
            "consents.yaml",
            "{{ result.self }}/status",
            "{{ path.consentId }}",
            "where: the path /v1/consents has no parameter consentId",
        ),
        (
            "baskets.yaml",
            "path: /v1/signing-baskets/{basketId}/status",
            "path: /v1/signing-baskets/{id}/status",
            "missing-input: the handler baskets.read needs the input basket, and this path does not have",
        ),
        (
            "payments.yaml",
            "otherwise: {product: product-unknown}",
            "otherwise: {prodct: product-unknown}",
            "where: the path /v1/payments/{product} has no parameter prodct",
        ),
        ("payments.yaml", "at_once: [RCVD, PATC]", "at_once: [RCVD, PATCH]", "did you mean PATC?"),
        (
            "errors.yaml",
            "card-account-transactions: XS2A004E",
            "card-account-transaction: XS2A004E",
            "unknown-operation: unknown operation 'card-account-transaction'; did you mean",
        ),
        (
            "consents.yaml",
            "answers: {200: consent-content}",
            "answers: {201: consent-content}",
            "unknown-schema: nulls: fill needs a schema, but answers has none for 200",
        ),
        ("consents.yaml", "expect: {status: 403", "expect: {status: 404", "example: the status is 403, not 404"),
    ],
)
def test_a_mistake(dialect: Path, file: str, right: str, wrong: str, expected: str) -> None:
    mistakes = problems(dialect, file, right, wrong)
    assert any(one.startswith(f"{file} ") and expected in one for one in mistakes), mistakes


def test_the_place_is_that_of_the_expression(dialect: Path) -> None:
    (dialect / "more.yaml").write_text(
        """\
cassette: 1
rules:
  - id: mine
    match: {operation: consent-status, headers: {X-Mine: a}}
    handler: consents.status
    respond:
      - {when: result.statsu == 'x', body: {consentStatus: valid}}
      - body: {consentStatus: "{{ result.consentStatus }}", at: "{{ clock.time }}"}
    effects:
      - {set: "state.consents[path.consentId].valid_untl", to: "2026-12-31"}
      - {set: "state.consents[path.consentId].valid_until", to: "tomorrow"}
"""
    )
    mistakes = check(Settings(dialect="mine", state="memory:", confdir=dialect.parents[1]))
    assert places_of(mistakes) == ["7:16 member", "8:31 member", "8:65 member", "10:15 member", "11:65 member"]


def test_custom_names_are_accepted(dialect: Path) -> None:
    (dialect / "more.yaml").write_text(
        """\
cassette: 1
rules:
  - id: mine
    match: {path: "/mine/{id}"}
    respond:
      - {when: "state.notes[path.id].seen", text: "{{ state.consents[path.id].ourMark }}"}
      - text: "{{ state.others[path.id].any.thing }} {{ (state.payments | list | first).anything }}"
    effects:
      - {set: "state.notes[path.id].seen", to: true}
      - {set: "state.consents[path.id].ourMark", to: 1}
      - {set: "state.payments[path.id].transactionStatus", to: "{{ query.status }}"}
  - id: our-token
    match: {method: POST, path: /mine}
    respond: {text: "{{ token.resource }} {{ headers['TPP-Redirect-URI'] }} {{ form.anything }}"}
    effects:
      - set: "state.tokens['t']"
        to: {client: mine, expires: "{{ now() }}", resource: "{{ query.id }}"}
"""
    )
    assert problems(dialect) == []


def test_members_made_by_a_keyword_may_have_any_value(dialect: Path) -> None:
    (dialect / "more.yaml").write_text(
        """\
cassette: 1
rules:
  - id: mine
    match: {path: "/mine/{id}"}
    respond: {text: made}
    effects:
      - {set: "state.consents[path.id].accounts", to: {each: "{{ state.accounts | list }}", give: "{{ entry }}"}}
      - {set: "state.payments[path.id].debtor", to: {merge: ["{{ state.payments[path.id].debtor }}", {name: Ida}]}}
      - {set: "state.consents[path.id].accounts", to: {a: b}}
"""
    )
    mistakes = check(Settings(dialect="mine", state="memory:", confdir=dialect.parents[1]))
    assert places_of(mistakes) == ["9:55 member"]


def test_examples_of_a_dialect_are_checked_with_its_own_test_data(dialect: Path) -> None:
    """Other layers of the bank do not matter."""
    consent = "9d3c41b2-5f0e-4c6a-8b1d-2e7f60a4c911"
    data = (bundled("cassettes") / "testdata.yaml").read_text()
    (dialect / "testdata.yaml").write_text(data.replace(consent, "00000000-5f0e-4c6a-8b1d-2e7f60a4c911"))
    assert any("accounts.yaml example:" in one for one in problems(dialect))

    accounts = (dialect / "accounts.yaml").read_text()
    (dialect / "accounts.yaml").write_text(accounts.replace(consent, "00000000-5f0e-4c6a-8b1d-2e7f60a4c911"))
    assert problems(dialect) == []
    (dialect.parent / "testdata.yaml").write_text("testdata: 2\nreplace: true\n")
    assert problems(dialect) == []


def test_expressions_can_read_all_members_of_a_client_certificate() -> None:
    assert set(CLIENT) == set(read(der(issued())).members())


def test_an_unknown_member_of_a_client_certificate_is_reported(dialect: Path) -> None:
    case = "cassette: 1\nrules: [{id: x, match: {path: /x}, respond: {body: {a: '{{ request.client.%s }}'}}}]\n"
    (dialect / "case.yaml").write_text(case % "name")
    assert problems(dialect) == []
    (dialect / "case.yaml").write_text(case % "nmae")
    assert problems(dialect) == ["case.yaml member: request.client has no member 'nmae'; did you mean name?"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{{ request.hots }}", "ours.yaml member: request has no member 'hots'; did you mean host?"),
        ("{{ state.consents['a'].statsu }}", "did you mean status?"),
        ("{{ state.consnts['a'] }}", "state has no member 'consnts'; did you mean consents?"),
    ],
)
def test_values_of_the_dialect_are_checked_too(dialect: Path, value: str, expected: str) -> None:
    (dialect / "ours.yaml").write_text(f'cassette: 1\nlet:\n  held: "{value}"\n')
    (problem,) = problems(dialect)
    assert expected in problem


def test_names_of_values_of_the_dialect_are_known(dialect: Path) -> None:
    (dialect / "ours.yaml").write_text(
        'cassette: 1\nlet: {who: "{{ query.who }}"}\n'
        'rules: [{id: a, match: {path: /a, when: let.who}, respond: {text: "{{ let.who }}"}}]\n'
    )
    assert problems(dialect) == []
