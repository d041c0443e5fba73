"""The setting `like`: a dialect and the quirks that were seen at a real bank."""

from pathlib import Path

import pytest

from xs2a_sandbox.bundled import dialects, quirks
from xs2a_sandbox.config import settings as config
from xs2a_sandbox.config.known_banks import known_banks
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.authoring.lint import check


def stems(settings: config.Settings) -> list[str]:
    return [file.stem for file in settings.quirk]


@pytest.mark.parametrize("dialect", [None, "enable-banking"])
@pytest.mark.parametrize("name", known_banks())
def test_each_bank_is_a_dialect_with_quirks_that_have_an_effect(name: str, dialect: str | None, tmp_path: Path) -> None:
    bank = known_banks()[name]
    given = {"like": name, "dialect": dialect, "state": "memory:", "confdir": str(tmp_path)}
    settings = config.load(given, {}, tmp_path)
    assert (settings.dialect, stems(settings)) == (dialect or bank.dialect, list(bank.quirks))
    assert bank.dialect in dialects()
    assert [str(problem) for problem in check(settings)] == []


def test_each_bank_has_a_name_and_public_sources() -> None:
    assert len(known_banks()) >= 12
    for name, bank in known_banks().items():
        assert bank.bank, name
        assert bank.source, name
        assert len(set(bank.quirks)) == len(bank.quirks) > 0, name
        assert set(bank.quirks) <= quirks().keys(), name


def test_a_dialect_that_is_set_stays_and_further_quirks_come_last(tmp_path: Path) -> None:
    given = {"like": "seb-kort", "quirk": ("ids-zero", "balances-inverted")}
    settings = config.load({**given, "dialect": "enable-banking"}, {}, tmp_path)
    assert (settings.dialect, stems(settings)) == (
        "enable-banking",
        ["signs-inverted", "balances-inverted", "ids-zero"],
    )
    assert config.load(given, {}, tmp_path).dialect == "berlin-group-1.3"


def test_the_name_can_be_in_the_file_and_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "xs2a-sandbox.yaml").write_text("like: lcl\n")
    assert stems(config.load({}, {}, tmp_path)) == ["currency-xxx"]
    assert stems(config.load({}, {"XS2A_SANDBOX_LIKE": "vdk"}, tmp_path)) == ["date-to-refused"]


def test_quirks_in_the_folder_replace_the_bundled_ones(tmp_path: Path) -> None:
    own = tmp_path / "cassettes" / "quirks" / "currency-xxx.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("cassette: 1\nquirk: true\n")
    assert config.load({"like": "lcl"}, {}, tmp_path).quirk == (own,)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("barcleys", '--like: must be the name of a bank in the atlas, not "barcleys"; did you mean barclays?'),
        ("x", '--like: must be the name of a bank in the atlas, not "x"; the values are abn-amro, '),
    ],
)
def test_an_unknown_bank_is_an_error_with_a_suggestion(written: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        config.load({"like": written}, {}, tmp_path)
    assert str(raised.value).startswith(words)
