"""Checks that every page must pass."""

from pathlib import Path
from typing import Any

import pytest

SIZES = {"desktop": (1280, 900), "phone": (360, 640)}
_SMALL = """() => [...document.querySelectorAll('button, a.button, input:not([type=hidden]), .choice')]
  .map(one => one.closest('.choice') || one)
  .filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 44).map(one => one.outerHTML)"""
_OUT_OF_SIGHT = """() => innerWidth > 480 || scrollY > 0 ? [] : [...document.querySelectorAll('.go button')]
  .filter(one => one.getBoundingClientRect().bottom > innerHeight).map(one => one.outerHTML)"""
_WIDE = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


class Inspector:
    """Check each page: axe-core finds no violation, nothing is wider than the screen, touch targets are large, and on a
    phone the button to continue is visible.
    """

    def __init__(self, page: Any, pictures: Path | None) -> None:
        self.page = page
        self.pictures = pictures
        self.messages: list[str] = []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))

    def look(self, name: str) -> None:
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        if self.pictures:
            self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)
        violations = axe.Axe().run(self.page)
        assert violations.violations_count == 0, f"{name}: {violations.generate_report()}"
        assert self.page.evaluate(_SMALL) == []
        assert not self.page.evaluate(_WIDE)
        assert self.page.evaluate(_OUT_OF_SIGHT) == []
        assert not [text for text in self.messages if "status of" not in text], self.messages
