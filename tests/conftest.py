"""Select the slow tests: most cases of the tests that take turns, and many examples of Hypothesis."""

import gc
import os
import signal
import ssl
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial, wraps
from pathlib import Path
from typing import Any

import pytest
from httpx._transports import default as transports
from hypothesis import settings
from mitmproxy import certs

from tests.support.turns import take_turns
from tests.support.writing import SCHEMAS
from xs2a_sandbox.bank import TestData, loading, testdata
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette import Interface, reader
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.cassette.dialect.foundation import Foundation
from xs2a_sandbox.cassette.dialect.layer_files import Layer
from xs2a_sandbox.cassette.model import Cassette
from xs2a_sandbox.documents import Schemas, schema_files, yaml_reader
from xs2a_sandbox.documents.document import Document
from xs2a_sandbox.errors import Problem

# No deadline, because the machine may be busy with other tests.
settings.register_profile("quick", max_examples=15, deadline=None)
settings.register_profile("thorough", max_examples=200, deadline=None)
settings.load_profile("quick")

# A shell starts programs in the background with this signal ignored, and they pass that on to the servers of tests.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Let each worker send only the reports that matter. Sending all takes as long as most tests.

    Read bundled files once.
    """
    for worker in [
        one for _, one in config.pluginmanager.list_name_plugin() if type(one).__name__ == "WorkerInteractor"
    ]:
        tell = worker.sendevent  # type: ignore[attr-defined]

        def sendevent(name: str, tell: Any = tell, **said: Any) -> None:
            report = said.get("data", {}) if name == "testreport" else {}
            is_dull = report.get("when") in ("setup", "teardown") and report["outcome"] == "passed"
            # Longer phases appear in the table of --durations.
            if name not in ("logstart", "logfinish") and not (is_dull and report["duration"] < 0.005):
                tell(name, **said)

        worker.sendevent = sendevent  # type: ignore[attr-defined]
    # Before test modules are imported, because some build an engine.
    for once in (_read_bundled_testdata_once(), _read_bundled_schemas_and_cassettes_once()):
        once.__enter__()
        config.add_cleanup(partial(once.__exit__, None, None, None))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Exclude collected items from garbage collection, because they stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest tests first. Otherwise the other processes wait at the end for the one that runs them."""
    items.sort(key=lambda item: "wide" not in item.path.parts)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Drop slow cases as soon as they are collected: most cases are slow, and pytest iterates over all items
    repeatedly.
    """
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


@contextmanager
def _read_bundled_testdata_once() -> Iterator[None]:
    """They never change, and reading them takes most of the time for building an engine."""
    file, load = bundled("cassettes") / "testdata.yaml", testdata.load
    once = cache(lambda: load([file]))

    def loaded(files: Sequence[Path], *, is_sound: bool = False) -> TestData:
        return once() if list(files) == [file] else load(files, is_sound=is_sound)

    testdata.load = loaded
    yield
    testdata.load = load


@contextmanager
def _read_bundled_schemas_and_cassettes_once() -> Iterator[None]:
    """They never change either. Without this, each new engine checks all schemas and compiles its dialect."""
    schemas, check, read, parse = loading.find_schemas, schema_files.check, yaml_reader.read, reader.parse
    check_layers, lay_foundation = layers.check, layers._foundation
    root = bundled("cassettes")
    sound = cache(lambda: check(SCHEMAS))
    once = cache(read)
    documents: dict[int, Document] = {}
    cassettes: dict[int, Cassette] = {}
    interfaces: dict[object, Interface] = {}
    foundations: dict[Path, Foundation] = {}

    def has_its_own() -> bool:
        own = Path("schemas")
        return own.is_dir() and not own.samefile(bundled("schemas"))

    @wraps(read)
    def document_of(file: Path, *, folder: Path | None = None) -> Document:
        if not file.is_relative_to(root):
            return read(file, folder=folder)
        document = once(file, folder=folder)
        documents[id(document)] = document
        return document

    def parsed(document: Document, schemas: Schemas, problems: list[Problem], **options: Any) -> Cassette:
        if schemas is not SCHEMAS or id(document) not in documents or options:
            return parse(document, schemas, problems, **options)
        if id(document) not in cassettes:
            mistakes: list[Problem] = []
            cassette = parse(document, schemas, mistakes)
            if mistakes:
                problems += mistakes
                return cassette
            cassettes[id(document)] = cassette
        return cassettes[id(document)]

    def is_bundled(layer: Layer) -> bool:
        return all(isinstance(path, Path) and path.is_relative_to(root) for path in layer)

    def checked(
        read: Sequence[Layer], schemas: Schemas, handlers: Any, *, bank: bool = False
    ) -> tuple[Interface | None, list[Problem]]:
        if schemas is not SCHEMAS or not all(map(is_bundled, read)):
            return check_layers(read, schemas, handlers, bank=bank)
        key = (*map(tuple, read), id(handlers), bank)
        if key not in interfaces:
            interface, problems = check_layers(read, schemas, handlers, bank=bank)
            if problems or interface is None:
                return interface, problems
            interfaces[key] = interface
        return interfaces[key], []

    def founded(
        read: Sequence[Layer], parsed: Sequence[Sequence[Cassette]], schemas: Schemas, problems: list[Problem]
    ) -> Foundation:
        lowest = read[0] if read else ()
        alone = len(lowest) == 1 and is_bundled(lowest) and not any(c.extends for layer in parsed[1:] for c in layer)
        if schemas is not SCHEMAS or not alone or problems:
            return lay_foundation(read, parsed, schemas, problems)
        (folder,) = lowest
        assert isinstance(folder, Path)
        if folder not in foundations:
            foundation = lay_foundation(read, parsed, schemas, problems)
            if problems:
                return foundation
            foundations[folder] = foundation
        return foundations[folder]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "check", checked)
        patch.setattr(layers, "_foundation", founded)
        patch.setattr(loading, "find_schemas", lambda: schemas() if has_its_own() else SCHEMAS)
        patch.setattr(schema_files, "check", lambda files: list(sound()) if files is SCHEMAS else check(files))
        patch.setattr(yaml_reader, "read", document_of)
        patch.setattr(reader, "parse", parsed)
        yield


@pytest.fixture(scope="session", autouse=True)
def _public_authorities_are_read_once() -> Iterator[None]:
    """httpx reads the public authorities for each client, which takes as long as some requests. No test needs them."""
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


@pytest.fixture(scope="session", autouse=True)
def _authorities_of_mitmproxy_are_made_and_checked_once() -> Iterator[None]:
    """Each proxy that starts reads the key of its CA, and cryptography validates each key that it reads."""
    make, load = certs.create_ca, certs.load_pem_private_key
    certs.create_ca, certs.load_pem_private_key = cache(make), cache(load)
    yield
    certs.create_ca, certs.load_pem_private_key = make, load
