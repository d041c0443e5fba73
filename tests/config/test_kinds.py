"""A setting is declared once; its flag, variable and schema follow."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.settings_pages import schema_of

from xs2a_sandbox.config import kinds
from xs2a_sandbox.config.kinds import setting, settings_of


@dataclass(frozen=True)
class Some:
    port: int = setting(kinds.PORT, 8080, "Where it listens.")
    journal: bool = setting(kinds.SWITCH, True, "Keeps exchanges.")
    hosts: tuple[str, ...] = setting(kinds.HOSTS, (), "Other hosts.", in_file_only=True)
    token: str | None = setting(kinds.text("a token", "[a-z]+"), None, "Opens doors.", is_secret=True)  # type: ignore[arg-type]


PORT, JOURNAL, HOSTS, TOKEN = settings_of(Some)


def test_names_follow_from_the_field() -> None:
    assert [one.flag for one in (PORT, JOURNAL, HOSTS, TOKEN)] == ["--port", "--no-journal", None, "--token"]
    assert PORT.variable == "XS2A_SANDBOX_PORT"


def test_the_default_is_the_field_s() -> None:
    assert Some().port == 8080
    assert [one.default for one in (PORT, JOURNAL, HOSTS, TOKEN)] == [8080, True, [], None]


def test_a_secret_is_in_no_representation() -> None:
    assert "opensesame" not in repr(Some(token="opensesame"))


def test_the_schema_of_all() -> None:
    schema = schema_of(settings_of(Some), title="Some")
    assert schema["title"] == "Some"
    assert schema["additionalProperties"] is False
    assert schema["properties"]["port"] == {
        "description": "Where it listens.",
        "$ref": "#/$defs/port",
        "default": 8080,
    }
    assert schema["properties"]["hosts"]["type"] == "array"
    assert "default" not in schema["properties"]["token"]


@pytest.mark.parametrize(
    ("kind", "text", "value"), [(kinds.PORT, "0", 0), (kinds.SWITCH, "false", False), (kinds.MODE, "spy", "spy")]
)
def test_a_kind_reads_what_was_written(kind: kinds.SettingKind[object], text: str, value: object) -> None:
    assert kind.read(text, Path()) == value


@pytest.mark.parametrize(("kind", "text"), [(kinds.PORT, "70000"), (kinds.SWITCH, "perhaps"), (kinds.MODE, "replay")])
def test_a_kind_refuses_what_is_not_expected(kind: kinds.SettingKind[object], text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - most come without a text: what is expected is the kind's to say
        kind.read(text, Path())
