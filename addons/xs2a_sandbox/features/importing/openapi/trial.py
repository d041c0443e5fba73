"""Tries a skeleton: attachments whose examples fail are taken back, so that what stays attached works."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from xs2a_sandbox.bank import testdata
from xs2a_sandbox.bank.handlers.table import collect_handlers
from xs2a_sandbox.bundled import bundled
from xs2a_sandbox.cassette.dialect import layers
from xs2a_sandbox.documents import Schemas
from xs2a_sandbox.documents.files import replace_file, writing
from xs2a_sandbox.errors import ConfigError
from xs2a_sandbox.features.authoring.examples import Trial, trials
from xs2a_sandbox.features.authoring.lint_answers import complaint
from xs2a_sandbox.features.importing.openapi.attachments import Attachment
from xs2a_sandbox.features.importing.openapi.document import ApiDocument
from xs2a_sandbox.features.importing.openapi.skeleton import Skeleton, SkeletonMaker
from xs2a_sandbox.wording import say_count

_MOST_ROUNDS = 10
_SHOWN = 200


def import_document(name: str, document: ApiDocument) -> Skeleton:
    """Return the skeleton with the attachments whose examples work. Raises Unreadable if it cannot be used."""
    with TemporaryDirectory() as folder:
        return _make(SkeletonMaker(name, document, Path(folder)))


def _make(maker: SkeletonMaker) -> Skeleton:
    attachments = maker.attachments()
    for _ in range(_MOST_ROUNDS):
        skeleton = maker.make(attachments)
        failing = _try(skeleton)
        wrong = [one for one in attachments if one.operation in failing]
        for one in wrong:
            operation = next(operation for operation in skeleton.operations if operation.id == one.operation)
            maker.notes.append(f"{operation.line}: {one.operation} is like {one.handler}, but {failing[one.operation]}")
        if not wrong:
            return skeleton
        attachments = _without(attachments, wrong)
    return maker.make([])


def _without(attachments: Sequence[Attachment], wrong: Sequence[Attachment]) -> list[Attachment]:
    """Return the others. What cannot be created cannot be read either."""
    lost = {one.kind for one in wrong if one.handler in ("consents.create", "payments.initiate")}
    lost |= {"account", "balance", "transaction"} if any(one.handler == "accounts.list" for one in wrong) else set()
    return [one for one in attachments if one not in wrong and one.kind not in lost]


def _try(skeleton: Skeleton) -> dict[str, str]:
    """Return the operations whose example fails, with the reason."""
    with TemporaryDirectory() as made:
        write(skeleton, Path(made))
        folder = Path(made) / "cassettes" / skeleton.name
        schemas = Schemas([Path(made) / "schemas", bundled("schemas")])
        interface = layers.read([[folder]], schemas, collect_handlers())
        found: dict[str, str] = {}
        for trial in trials(interface, schemas, testdata.load([folder / "testdata.yaml"])):
            if reason := _failure(trial) or (
                trial.response and complaint(trial.response, trial.entry.owner, interface, schemas)
            ):
                found[trial.entry.owner.id] = reason
        return found


def _failure(trial: Trial) -> str | None:
    """Return why the example fails, without the text of the answer."""
    if trial.failure or not trial.complaints:
        return trial.failure
    error = trial.response.body.decode(errors="replace")[:_SHOWN] if trial.response else ""
    status = trial.response.status if trial.response else "nothing"
    return f"its example is answered with {status} {error}".rstrip()


def write(skeleton: Skeleton, directory: Path) -> tuple[Path, Path]:
    """Write the folders of the cassettes and of the schemas completely or not at all. Raises ConfigError."""
    folders = directory / "cassettes" / skeleton.name, directory / "schemas" / skeleton.name
    for folder in folders:
        if folder.exists():
            raise ConfigError(f"{folder} already exists: remove it, or choose another name with --dialect")
    for folder, files in zip(folders, (skeleton.files, skeleton.schemas), strict=True):
        with writing(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder.parent, prefix=f".{skeleton.name}.", ignore_cleanup_errors=True) as made:
                for name, text in files.items():
                    replace_file(Path(made) / "new" / name, text.encode())
                os.rename(Path(made) / "new", folder)
    return folders


def report_lines(skeleton: Skeleton, directory: Path) -> Iterator[str]:
    """Yield what was recognised and what is left to fill in."""
    file = skeleton.document.file.name
    attached = skeleton.attachments
    yield f"{say_count(len(skeleton.operations), 'operation')} in {directory / 'cassettes' / skeleton.name}"
    for operation in skeleton.operations:
        if one := attached.get(operation.id):
            yield f"  {file}:{operation.line}: {operation.id} has the handler {one.handler}"
    others = len(skeleton.operations) - len(attached)
    if others:
        yield f"  {say_count(others, 'other operation answers', 'other operations answer')} with an example"
    if skeleton.notes:
        yield "Left to fill in:"
        yield from (f"  {file}:{note}" if note[:1].isdigit() else f"  {file}: {note}" for note in skeleton.notes)
