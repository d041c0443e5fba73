"""The files that `init` writes: copies of the bundled ones, and the settings with their defaults."""

from collections.abc import Mapping
from pathlib import Path

from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bank.loading import testdata_of
from xs2a_sandbox.bundled import NO_DIALECTS, bundled, dialects, scenarios
from xs2a_sandbox.cassette.dialect.layer_files import TESTDATA
from xs2a_sandbox.cassette.dialect.layers import read
from xs2a_sandbox.config.settings import FILE
from xs2a_sandbox.config.table import SETTINGS
from xs2a_sandbox.documents import Schemas, own_file
from xs2a_sandbox.documents.files import writing
from xs2a_sandbox.documents.schema_errors import did_you_mean
from xs2a_sandbox.errors import ConfigError, UserMistake
from xs2a_sandbox.features.derive.derived_dialect import check_name


def write(directory: Path, scenario: str | None = None) -> list[Path]:
    """Write all files or none, and return them. Existing files stay unchanged. A scenario becomes a case of the user.

    Raises UserMistake with the files in the way, the error of the operating system, or the existing scenarios.
    """
    files = {directory / FILE: settings().encode()}
    if scenario is not None:
        files |= {directory / "cassettes/cases" / name: text for name, text in _scenario(scenario).items()}
    for name in ("cassettes", "schemas"):
        source = bundled(name)
        for file in sorted(source.rglob("*")):
            below = file.relative_to(source)
            # In a checkout there may be cases of the developer.
            ours = below.parts[0] not in NO_DIALECTS or below == Path("cases/example.yaml")
            if file.is_file() and not file.name.startswith(".") and ours:
                files[directory / name / below] = _content(file, source)
    return _write(directory, files)


def write_dialect(directory: Path, name: str, base: str) -> list[Path]:
    """Write a new dialect that extends another one, bundled or in the same folder. Existing settings and schemas stay.

    Raises:
        ConfigError: the name is invalid or already used, or the dialect to extend does not exist.
    """
    cassettes = directory / "cassettes"
    check_name(name, (cassettes, bundled("cassettes")))
    names = dialects(cassettes, bundled("cassettes"))
    if base not in names:
        hint = did_you_mean(base, names) or f"; the dialects are {', '.join(names)}"
        raise ConfigError(f"unknown dialect {base!r} to extend{hint}")
    template = (Path(__file__).parent / "own_dialect.yaml").read_text()
    files = {cassettes / name / "dialect.yaml": template.replace("BASE", base).replace("NAME", name).encode()}
    data = testdata_of(*_folders(cassettes, base))
    files[cassettes / name / TESTDATA] = _content(data, data.parent)
    usual = {directory / FILE: settings().replace("#dialect: xs2a-1.84", f"dialect: {name}").encode()}
    for file in sorted(bundled("schemas").glob("*.schema.json")):
        if file.name.partition(".")[0] in _FOR_EDITORS:
            usual[directory / "schemas" / file.name] = _content(file, bundled("schemas"))
    files |= {file: content for file, content in usual.items() if not file.exists()}
    return _write(directory, files)


_FOR_EDITORS = ("cassette", "config", "testdata")
"""The schemas that editors use for completion. Those of bodies are found in the package."""


def _folders(cassettes: Path, name: str) -> tuple[Path, list[Path]]:
    """Return the folder of a dialect, and those of the dialects it extends, lowest first. Raises Unreadable."""
    folder = next(place / name for place in (cassettes, bundled("cassettes")) if (place / name).is_dir())
    return folder, list(read([[folder]], Schemas([bundled("schemas")]), collect_handlers()).foundation)


def _write(directory: Path, files: Mapping[Path, bytes]) -> list[Path]:
    """Write the files. Raises UserMistake with the files in the way, or the error of the operating system."""
    if in_the_way := sorted({str(there) for file in files if (there := _in_the_way(file, directory))}):
        raise UserMistake("nothing was written, because these files already exist:\n  " + "\n  ".join(in_the_way))
    with writing(directory):
        (directory / "cassettes/cases").mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        # Never overwrite a file that has been created in between.
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("xb") as stream:
                stream.write(content)
    return list(files)


def _scenario(name: str) -> dict[str, bytes]:
    folders = scenarios()
    if name not in folders:
        raise ConfigError(f"there is no scenario {name!r}; the scenarios are {', '.join(folders)}")
    # The schema is one folder nearer from there.
    return {
        file.name: _content(file, folders[name]).replace(b"=../../../schemas/", b"=../../schemas/")
        for file in sorted(folders[name].glob("*.yaml"))
    }


def _content(file: Path, folder: Path) -> bytes:
    try:
        return own_file.read(file, folder=folder)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None


def settings() -> str:
    """Return the config file with every setting, commented out."""
    lines = [
        "# yaml-language-server: $schema=schemas/config.schema.json",
        "# All settings, with their defaults or an example. Uncomment those that you change.",
        "# The environment (XS2A_SANDBOX_PORT=…) and the command line (--port …) override this file.",
    ]
    for setting in SETTINGS:
        lines += ["", f"# {setting.doc}", f"#{setting.name}: {setting.example}"]
    return "\n".join(lines) + "\n"


def _in_the_way(file: Path, directory: Path) -> Path | None:
    """Return the file itself, or a file that is at the place of one of its folders."""
    if file.exists() or file.is_symlink():
        return file
    between = [parent for parent in file.parents if parent == directory or directory in parent.parents]
    return next((parent for parent in between if parent.exists() and not parent.is_dir()), None)
