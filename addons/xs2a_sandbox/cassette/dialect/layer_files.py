"""Reads the files of layers into cassettes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from xs2a_sandbox.cassette import reader
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.documents import Schemas, yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.errors import Problem, Unreadable

TESTDATA = "testdata.yaml"
"""The test data in a dialect's folder. This file is not a cassette."""

type Layer = Sequence[Path | Cassette]


def cassettes(layers: Sequence[Layer], schemas: Schemas) -> list[list[Cassette]]:
    """Read each layer once, for use in several interfaces. Raises Unreadable if a cassette is invalid on its own."""
    problems: list[Problem] = []
    parsed = read_layers(layers, schemas, problems)
    if problems:
        raise Unreadable(problems)
    return parsed


def read_layers(layers: Sequence[Layer], schemas: Schemas, problems: list[Problem]) -> list[list[Cassette]]:
    return [
        [c for path in layer for c in read_path(path, schemas, problems, is_dialect=number == 0)]
        for number, layer in enumerate(layers)
    ]


def read_path(
    path: Path | Cassette,
    schemas: Schemas,
    problems: list[Problem],
    *,
    is_dialect: bool = False,
    change: Callable[[Document], Document] = lambda document: document,
) -> list[Cassette]:
    if isinstance(path, Cassette):
        return [path]
    if path.is_dir():
        # A broken symbolic link is an editor's lock file; report everything else that is not a file.
        yaml_files = [file for file in _walk(path, problems) if file.suffix in (".yaml", ".yml")]
        if is_dialect:
            yaml_files = [file for file in yaml_files if file != path / TESTDATA]
        files = sorted(file for file in yaml_files if file.exists() and not file.is_dir())
        folder = path
    elif path.exists():
        files, folder = [path], path.parent
    else:
        problems.append(Problem(path, 1, 1, "unreadable", "there is no such file or directory"))
        return []
    cassettes = []
    for file in files:
        try:
            if file.suffix == ".yml":
                raise Unreadable(
                    [Problem(file, 1, 1, "file-name", "the names of cassettes must end in .yaml; rename this file")]
                )
            parsed = yaml_reader.read(file, folder=folder)
            _expect_cassette(parsed)
        except Unreadable as error:
            problems += error.problems
        else:
            cassettes.append(reader.parse(change(parsed), schemas, problems))
    return cassettes


def _walk(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield everything in the folder and below. Unlike `Path.rglob`, it reports folders that cannot be read."""

    def report(error: OSError) -> None:
        text = f"the folder cannot be read: {error.strerror}"
        problems.append(Problem(Path(error.filename), 1, 1, "unreadable", text))

    for at, folders, files in folder.walk(on_error=report):
        yield from (at / name for name in (*folders, *files))


def _expect_cassette(document: Document) -> None:
    first = next(iter(document.value), None) if isinstance(document.value, dict) else None
    if first == "cassette":
        return
    hint = "use --testdata FILE for test data" if first == "testdata" else "move other YAML files elsewhere"
    raise Unreadable(
        [document.problem((), "no-cassette", f"the first key of a cassette must be `cassette: 1`; {hint}")]
    )


def folder_of(path: Path | Cassette) -> Path:
    return path if isinstance(path, Path) else path.file.parent
