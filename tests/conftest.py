"""What is slow beyond the tests that are marked: cases that take turns, and the many examples of hypothesis."""

import gc
import os
import ssl
from collections.abc import Generator, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from httpx._transports import default as transports
from hypothesis import settings

from tests.support.turns import take_turns
from xs2a_sandbox.bank import TestData, loading, testdata
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import reader
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.documents import Schemas, schema_files, yaml_reader
from xs2a_sandbox.documents.yaml_reader import Document
from xs2a_sandbox.errors import Problem

# No deadline: a machine that is busy with other tests is not what is tried.
settings.register_profile("quick", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile("quick")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """What is collected stays to the end: the garbage collector need not go through it, now or ever."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Leaves slow cases out as soon as they are made: most are, and pytest goes through all items again and again."""
    made = yield
    if not isinstance(made, list):
        return made
    if made and (marker := made[0].get_closest_marker("by_turns")):
        take_turns(made, *marker.args)
    if collector.config.option.markexpr != "not slow":
        return made
    return [item for item in made if not item.get_closest_marker("slow")]


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_written_into_the_checkout(pytestconfig: pytest.Config) -> Iterator[None]:
    before = set(os.listdir(pytestconfig.rootpath))
    yield
    assert set(os.listdir(pytestconfig.rootpath)) <= before | {".hypothesis"}


@pytest.fixture(scope="session", autouse=True)
def _bundled_testdata_is_read_once() -> Iterator[None]:
    """It never changes, and reading it is most of the time that an engine takes to build."""
    file, load = bundled("cassettes") / "testdata.yaml", testdata.load
    once = cache(lambda: load([file]))

    def loaded(files: Sequence[Path]) -> TestData:
        return once() if list(files) == [file] else load(files)

    testdata.load = loaded
    yield
    testdata.load = load


@pytest.fixture(scope="session", autouse=True)
def _bundled_schemas_and_cassettes_are_read_once() -> Iterator[None]:
    """They never change either: else each engine that is built checks all schemas and compiles its dialect."""
    schemas, check, read, parse = loading._schemas, schema_files.check, yaml_reader.read, reader.parse
    bundled_schemas, root = Schemas([bundled("schemas")]), bundled("cassettes")
    sound = cache(lambda: check(bundled_schemas))
    once = cache(read)
    documents: dict[int, Document] = {}
    cassettes: dict[int, Cassette] = {}

    def has_its_own() -> bool:
        own = Path("schemas")
        return own.is_dir() and not own.samefile(bundled("schemas"))

    def document_of(file: Path, *, folder: Path | None = None) -> Document:
        if not file.is_relative_to(root):
            return read(file, folder=folder)
        document = once(file, folder=folder)
        documents[id(document)] = document
        return document

    def parsed(document: Document, schemas: Schemas, problems: list[Problem], **options: Any) -> Cassette:
        if schemas is not bundled_schemas or id(document) not in documents or options:
            return parse(document, schemas, problems, **options)
        if id(document) not in cassettes:
            mistakes: list[Problem] = []
            cassette = parse(document, schemas, mistakes)
            if mistakes:
                problems += mistakes
                return cassette
            cassettes[id(document)] = cassette
        return cassettes[id(document)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "_schemas", lambda: schemas() if has_its_own() else bundled_schemas)
        patch.setattr(schema_files, "check", lambda files: list(sound()) if files is bundled_schemas else check(files))
        patch.setattr(yaml_reader, "read", document_of)
        patch.setattr(reader, "parse", parsed)
        yield


@pytest.fixture(scope="session", autouse=True)
def _public_authorities_are_read_once() -> Iterator[None]:
    """httpx reads them for each client, which takes as long as some requests, and no test meets one of theirs."""
    create = transports.create_ssl_context
    public = cache(lambda: create(trust_env=False))

    def created(verify: Any = True, trust_env: bool = True, **options: Any) -> ssl.SSLContext:
        chosen = trust_env and ("SSL_CERT_FILE" in os.environ or "SSL_CERT_DIR" in os.environ)
        if verify is True and not chosen and not any(options.values()):
            return public()
        return create(verify=verify, trust_env=trust_env, **options)

    transports.create_ssl_context = created
    yield
    transports.create_ssl_context = create
