"""What the campaign reads of the texts that an app shows."""

from pathlib import Path

import pytest

from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.features.campaign.shown import KINDS, parse_declared, read_shown


def read(tmp_path: Path, shown: str = "", output: str = "", *declared: str) -> list[tuple[str, list[str]]]:
    for name, text in (("shown", shown), ("output", output)):
        (tmp_path / name).write_text(text)
    made = read_shown(tmp_path / "shown", tmp_path / "output", tuple(map(parse_declared, declared)))
    return [(one.text, sorted(one.kinds)) for one in made.texts]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("The payment RENT is made.", ["paid"]),
        ("RENT: paid", ["paid"]),
        ("The payment was not made.", ["rejected"]),
        ("Your rent will be paid on Monday", []),
        ("The payment was refused by the bank", ["rejected"]),
        ("We do not know whether the payment is made.", ["unknown"]),
        ("Please connect your bank again", ["authorise"]),
        ("Your consent has expired", ["authorise"]),
        ("You have cancelled", ["declined"]),
        ("The bank is down for maintenance. Try again later.", ["bank", "later"]),
        ("Something went wrong", ["error"]),
        ("Wrong password", ["password"]),
        ("Your accounts are up to date", ["updated"]),
        ("Your accounts are not up to date", []),
        ("Es hat nicht geklappt", []),
        ("GET /v1/accounts 503", []),
    ],
)
def test_plain_english_in_the_file_is_known(text: str, kinds: list[str], tmp_path: Path) -> None:
    assert read(tmp_path, f"{text}\n") == [(text, kinds)]


def test_a_line_of_json_names_its_kind(tmp_path: Path) -> None:
    lines = '{"kind": "later", "text": "Bitte warten"}\n{"text": "Wrong password"}\n{"kind": "odd", "text": "Hm"}\n'

    assert read(tmp_path, lines) == [("Bitte warten", ["later"]), ("Wrong password", ["password"]), ("Hm", ["odd"])]


def test_declared_texts_are_known_in_the_file_and_in_the_output(tmp_path: Path) -> None:
    assert read(tmp_path, "Bitte warten\n", "bitte WARTEN!\nTry again later\n", "later=bitte warten") == [
        ("Bitte warten", ["later"]),
        ("bitte WARTEN!", ["later"]),
    ]


def test_without_a_file_nothing_is_shown(tmp_path: Path) -> None:
    assert read_shown(tmp_path / "none", tmp_path / "nothing", ()).texts == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("later", "write it as KIND=PATTERN"),
        ("latter=wait", "unknown kind 'latter'; did you mean later\\? Use one of paid"),
        ("later=(", "the pattern of later is not a regular expression"),
    ],
)
def test_a_wrong_declaration_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_declared(text)


def test_every_kind_is_documented() -> None:
    page = (bundled("docs") / "campaign.md").read_text()

    assert [kind for kind, (says, _) in KINDS.items() if f"| `{kind}` | {says} |" not in page] == []
