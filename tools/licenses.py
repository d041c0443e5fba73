"""Write requirements/licenses.md, the licenses of the sandbox's dependencies in requirements/run.txt.

python -m tools.licenses    writes the list (part of `make lock`); uses the package index for packages that are
not installed
"""

import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageMetadata, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "run.txt"
LIST = ROOT / "requirements" / "licenses.md"

PLATFORMS = ("manylinux2014_x86_64", "win_amd64", "macosx_11_0_arm64")
"""Platforms of the wheels to download if a package is not installed here."""

UNSAID = {"mitmproxy-linux": "MIT", "mitmproxy-rs": "MIT"}
"""Packages whose metadata contain only the text of the license. The values are from the repository mitmproxy_rs."""

HEAD = """\
# Licenses of the dependencies

What the sandbox runs with, on every system, and the license of each, as its own metadata say. None of it is part of
this package. Written by `make lock` from `requirements/run.txt`.

| Package | Version | License |
| --- | --- | --- |
"""


class Locked(NamedTuple):
    name: str
    version: str


def locked(text: str) -> list[Locked]:
    """Return the packages of a lock file for all systems and versions of Python."""
    return [Locked(*pair) for pair in re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", text, re.MULTILINE)]


def page(rows: Mapping[Locked, str]) -> str:
    return HEAD + "".join(f"| {name} | {version} | {license} |\n" for (name, version), license in sorted(rows.items()))


def license(metadata: PackageMetadata) -> str:
    """Return the license expression, otherwise a short license, otherwise that of the classifiers; "" if there is
    none.
    """
    if expression := metadata.get("License-Expression"):
        return expression
    # A classifier such as "BSD License" is less precise than "BSD-3-Clause", but this field may contain the whole text.
    short = metadata.get("License", "").strip()
    if short not in ("", "UNKNOWN") and len(short) < 40:
        return short
    classifiers = [
        classifier.split(" :: ")[-1]
        for classifier in metadata.get_all("Classifier", [])
        if classifier.startswith("License :: ")
    ]
    return " and ".join(classifier for classifier in classifiers if classifier != "OSI Approved")


def read(package: Locked) -> PackageMetadata:
    """Return a package's metadata, from the installed package or from a wheel of the index for any system."""
    with suppress(PackageNotFoundError):
        if (installed := distribution(package.name)).version == package.version:
            return installed.metadata
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    with TemporaryDirectory() as place:
        for platform in PLATFORMS:
            way = ["--only-binary=:all:", f"--platform={platform}", f"--dest={place}", "==".join(package)]
            done = subprocess.run([*pip, *way], capture_output=True, text=True, check=False)
            for wheel in Path(place).glob("*.whl"):
                (about,) = [entry for entry in zipfile.Path(wheel).iterdir() if entry.name.endswith(".dist-info")]
                return PathDistribution(about).metadata
    sys.exit(f"cannot find the metadata of {package.name} {package.version}: {done.stderr.strip()}")


def main() -> None:
    rows = {package: license(read(package)) or UNSAID.get(package.name, "") for package in locked(LOCK.read_text())}
    if unknown := [name for (name, _), license in rows.items() if not license]:
        sys.exit(f"{LIST} is unchanged: there is no license in the metadata of {', '.join(unknown)}")
    LIST.write_text(page(rows))


if __name__ == "__main__":
    main()
