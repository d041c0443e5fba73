"""`derive --words` lists what may be the bank's own words, and only a rule that a person writes keeps them."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.support.taping import redacted_tape, tape, taped
from xs2a_sandbox.cli.main import cli
from xs2a_sandbox.errors import Unreadable
from xs2a_sandbox.features.derive.hidden_words import find_hidden
from xs2a_sandbox.http.exchange import Exchange
from xs2a_sandbox.recording.tape import read_tape
from xs2a_sandbox.redaction.rules import read

FORM = [("Content-Type", "application/x-www-form-urlencoded")]


def permission(state: str, **more: Any) -> dict[str, Any]:
    return {"datuak": {"baimena": "prm-4711081", "egoera": state, **more}}


BANK = [
    taped("/jc/v1/baimenak", permission("ITXAROTEN", rechte=["MUGIMENDUAK", "ORDAINDU"]), "POST", status=201),
    taped("/jc/v1/baimenak/prm-4711081", permission("ITXAROTEN", ezizena="ANNA"), at=1),
    taped("/sarrera/prm-4711081", None, "POST", headers=FORM, body=b"erabakia=baietz&pasahitza=haritza", status=302),
    taped("/jc/v1/baimenak/prm-4711081", permission("EMANDA", ezizena="ANNA", zentimoak=350000), at=2),
    taped("/jc/v1/kontuak", {"akatsak": [{"arrazoia": "BAIMEN_ITZALIA"}], "zenbakia": "4711081500"}, status=403),
    taped("/jc/v1/kontuak", [{"creditorName": "GRUNWALD", "password": "alpenrose", "kalea": "Rosa Weg"}]),
]


def derive(directory: Path, *flags: str) -> str:
    result = CliRunner().invoke(cli, ["derive", *flags, "tape", "--confdir", str(directory)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    redacted_tape(tmp_path, *BANK)
    monkeypatch.chdir(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    text = derive(tmp_path, "--words")
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    return text


def test_words_are_listed_as_comments_the_most_likely_first(listed: str) -> None:
    lines = [line for line in listed.splitlines() if "{" in line]
    assert lines == [
        '  # - {words: [ITXAROTEN, EMANDA], why: "/datuak/egoera, which changes when it is read again"}',
        '  # - {words: [BAIMEN_ITZALIA], why: "/akatsak/*/arrazoia, which only errors have"}',
        "  # - {words: [MUGIMENDUAK, ORDAINDU], why: /datuak/rechte/*}",
        "  # - {words: [ANNA], why: /datuak/ezizena}",
        "  # - {path: /datuak/zentimoak, why: numbers such as 350000}",
        '  # - {words: [baietz], why: "field erabakia, which only requests have"}',
        '  # - {words: [haritza], why: "field pasahitza, which only requests have"}',
    ]


def test_the_chosen_lines_are_rules(listed: str, tmp_path: Path) -> None:
    rules = choose(listed, tmp_path)
    assert read(rules).words == {"ITXAROTEN", "EMANDA", "BAIMEN_ITZALIA"}


def test_a_list_in_which_nobody_chose_is_refused(listed: str, tmp_path: Path) -> None:
    file = tmp_path / "redaction.yaml"
    file.write_text(listed)
    with pytest.raises(Unreadable, match="keep has no rules: remove the # before those that you choose"):
        read(file)


def test_secrets_and_personal_data_are_not_listed(listed: str) -> None:
    assert not any(text in listed for text in ("GRUNWALD", "alpenrose", "Rosa", "4711081"))


def choose(listed: str, directory: Path) -> Path:
    """Choose states and errors, as a person would, and make them the rules of the settings."""
    file = directory / "redaction.yaml"
    file.write_text(
        listed.replace("# - {words: [ITXAROTEN", "- {words: [ITXAROTEN").replace("# - {words: [BAIM", "- {words: [BAIM")
    )
    (directory / "xs2a-sandbox.yaml").write_text("redaction: redaction.yaml\n")
    return file


def dialect(directory: Path) -> str:
    derive(directory, "--dialect", "mine")
    return (directory / "cassettes" / "mine" / "dialect.yaml").read_text()


def test_a_dialect_has_the_words_of_the_rules_and_no_others(listed: str, tmp_path: Path) -> None:
    choose(listed, tmp_path)
    learned = dialect(tmp_path)
    assert all(word in learned for word in ("ITXAROTEN", "EMANDA", "BAIMEN_ITZALIA"))
    assert not any(word in learned for word in ("ANNA", "MUGIMENDUAK", "ORDAINDU", "350000", "GRUNWALD", "haritza"))


def test_words_that_are_kept_are_not_listed_again(listed: str, tmp_path: Path) -> None:
    choose(listed, tmp_path)
    lines = [line for line in derive(tmp_path, "--words").splitlines() if "{" in line]
    assert [line.partition(", why")[0] for line in lines] == [
        "  # - {words: [MUGIMENDUAK, ORDAINDU]",
        "  # - {words: [ANNA]",
        "  # - {path: /datuak/zentimoak",
        "  # - {words: [baietz]",
        "  # - {words: [haritza]",
    ]


def test_without_rules_a_dialect_has_pseudonyms_and_derive_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redacted_tape(tmp_path, *BANK)
    monkeypatch.chdir(tmp_path)
    output = derive(tmp_path, "--dialect", "mine")
    assert "note: 6 texts may be words of the bank, such as states, but have pseudonyms" in output
    assert f"xs2a-sandbox derive --words tape --confdir {tmp_path}\n" in output
    assert "ITXAROTEN" not in (tmp_path / "cassettes" / "mine" / "dialect.yaml").read_text()


def test_a_recording_without_a_vault_has_no_words_to_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redacted_tape(tmp_path, *BANK)
    (tmp_path / "vault").unlink()
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["derive", "--words", "tape", "--confdir", str(tmp_path)])
    assert result.exit_code == 2
    assert "no vault at" in result.output
    assert "ANNA" not in result.output


def test_a_recording_without_pseudonyms_has_nothing_to_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redacted_tape(tmp_path, taped("/v1/consents", {"consentStatus": "valid", "ownerName": "Anna Weg"}))
    tape(tmp_path / "plain", *BANK, redacted=None)
    monkeypatch.chdir(tmp_path)
    assert derive(tmp_path, "--words") == (
        "Nothing to choose: no pseudonym in tape looks like a word or an amount of the bank.\n"
    )
    result = CliRunner().invoke(cli, ["derive", "--words", "plain", "--confdir", str(tmp_path)])
    assert result.exit_code == 2
    assert "plain: nothing has a pseudonym, because this was recorded with --no-redact" in result.output


def test_members_that_schemas_mark_as_personal_are_not_listed_and_not_restored(
    listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "mine.schema.json").write_text('{"properties": {"ezizena": {"x-personal": true}}}')
    assert "ANNA" in listed
    assert "ANNA" not in derive(tmp_path, "--words")
    choose(listed, tmp_path)
    with (tmp_path / "redaction.yaml").open("a") as file:
        file.write("  - {words: [ANNA]}\n")
    assert "ANNA" not in dialect(tmp_path)


@pytest.mark.parametrize("flags", [["--dialect", "mine"], ["--by", "xs2a-1.84"], ["--dialect", "mine", "--check"]])
def test_words_only_lists(flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    redacted_tape(tmp_path, *BANK)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["derive", "--words", "tape", *flags, "--confdir", str(tmp_path)])
    assert result.exit_code == 2
    assert "--words only lists" in result.output


LATEST = [
    # Somebody's latest payees, and an error that names the owner, look like states and codes.
    taped("/jc/v1/kontuak/c-4711", {"ultimo": "ANNA"}),
    taped("/jc/v1/kontuak/c-4711", {"ultimo": "ROSA"}, at=1),
    taped("/jc/v1/kontuak/c-4711", {"titular": "OTTO"}, status=403),
    taped("/jc/v1/kontuak/c-4711", {"permitidas": ["HAUSHALT", "OMA"]}, status=422),
]


def test_persons_that_look_like_words_of_the_bank_are_only_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redacted_tape(tmp_path, *LATEST)
    monkeypatch.chdir(tmp_path)
    assert "ANNA" in derive(tmp_path, "--words")
    names = ("ANNA", "ROSA", "OTTO", "HAUSHALT", "OMA")
    learned = dialect(tmp_path)
    assert not any(name in learned for name in names)
    files = [file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file()]
    assert not any(f'"{name}' in text or f" {name}" in text for name in names for text in files)


def recorded(directory: Path, *entries: Exchange) -> list[str]:
    tape(directory, *entries)
    return [word for place in find_hidden(read_tape(directory)) for word in place.words]


def test_places_with_other_texts_than_words_are_left_out(tmp_path: Path) -> None:
    texts = [*("QWRTZ", "Qwr Tzu", "K-4711"), "QWRTZ"]
    assert recorded(tmp_path / "a", *(taped("/x", {"a": text}) for text in texts)) == []
    assert recorded(tmp_path / "b", *(taped("/x", {"a": text}) for text in ("QWRTZ", "", "booked"))) == ["QWRTZ"]
    assert recorded(tmp_path / "c", taped("/x", {"creditorName": "QWRTZ", "accessToken": {"a": "QWRTZ"}})) == []


def test_ids_and_everything_in_personal_members_are_left_out(tmp_path: Path) -> None:
    answer = {"codigo": "HEVPBCKPRCDSKGHY", "address": {"bairro": "QWRTZ"}, "estado": "QWRTZ"}
    places = find_hidden(read_tape(tape(tmp_path / "a", taped("/x", answer)).parent.parent))
    assert [place.name for place in places if place.words] == ["/estado"]


def test_each_place_of_numbers_is_a_line_because_the_same_name_may_mean_an_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redacted_tape(
        tmp_path,
        taped("/x", {"acordo": {"numero": 24904}, "conta": {"numero": 4662053211}, "nota": "Qwr Tzu"}),
        taped("/x", {"nota": 123456}),
    )
    monkeypatch.chdir(tmp_path)
    assert derive(tmp_path, "--words").splitlines()[5:] == [
        "  # - {path: /acordo/numero, why: numbers such as 24904}",
        "  # - {path: /conta/numero, why: numbers such as 4662053211}",
    ]
