from pathlib import Path

import pytest

from xs2a_sandbox import bundled as bundled_module
from xs2a_sandbox.bundled import bundled, scenarios


def test_bundled_folders_in_a_checkout() -> None:
    assert (bundled("cassettes") / "testdata.yaml").is_file()
    assert (bundled("schemas") / "error.schema.json").is_file()


def test_bundled_scenarios_are_found_by_name() -> None:
    assert scenarios()["outage"] == bundled("cassettes") / "scenarios" / "outage"


@pytest.mark.parametrize("installed", [True, False])
def test_the_package_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, installed: bool) -> None:
    package = tmp_path / "addons" / "xs2a_sandbox"
    (package / "schemas" if installed else tmp_path / "schemas").mkdir(parents=True)
    monkeypatch.setattr(bundled_module, "_HERE", package)

    assert bundled("schemas") == (package if installed else tmp_path) / "schemas"
