"""Speaks the Language Server Protocol, with pygls."""

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import PositionCodec, ServerTextPosition, ServerTextRange, TextDocument

from xs2a_sandbox import __version__
from xs2a_sandbox.errors import Problem, Unreadable, UserMistake
from xs2a_sandbox.features.language_server.findings import (
    FileKind,
    Findings,
    LintTarget,
    check_text,
    dialect_of,
    examine,
    kind_of,
    schema_of,
    target_of,
)
from xs2a_sandbox.features.language_server.newest import Newest
from xs2a_sandbox.features.language_server.words import BankWords, Completion, Language

_NAME = "xs2a-sandbox"
_WORD = re.compile(r"[\w.\-/]+|.?")


def serve(flags: Mapping[str, Any]) -> None:
    """Serve an editor until it closes standard input. `flags` are those of `lint`."""
    _Editor(flags).server.start_io()


class _Editor:
    """One editor: its open files, and what was found in files."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = flags
        self._checks: Newest[LintTarget] = Newest()
        self._texts: Newest[str] = Newest()
        self._problems: dict[LintTarget, list[Problem]] = {}
        self._banks: dict[str | None, BankWords] = {}
        self._unsaved: set[Path] = set()
        self.server = LanguageServer(_NAME, __version__)
        triggers = types.CompletionOptions(trigger_characters=[" ", ".", "{"])
        for name, function, *options in (
            (types.INITIALIZED, self._start),
            (types.TEXT_DOCUMENT_DID_OPEN, self._check_saved),
            (types.TEXT_DOCUMENT_DID_SAVE, self._check_saved),
            (types.TEXT_DOCUMENT_DID_CHANGE, self._check_unsaved),
            (types.TEXT_DOCUMENT_DID_CLOSE, self._close),
            (types.TEXT_DOCUMENT_COMPLETION, self._complete, triggers),
            (types.TEXT_DOCUMENT_HOVER, self._describe),
            (types.TEXT_DOCUMENT_DEFINITION, self._define),
        ):
            # pygls sets attributes on the function, which a method does not have.
            self.server.feature(name, *options)(partial(function))

    def _start(self, params: types.InitializedParams) -> None:
        """Use the files of the folder that the editor has opened, like a command in that folder."""
        workspace = self.server.workspace
        roots = [workspace.root_path, *(to_fs_path(uri) for uri in workspace.folders)]
        if root := next(filter(None, roots), None):
            os.chdir(root)

    async def _check_saved(self, params: types.DidOpenTextDocumentParams | types.DidSaveTextDocumentParams) -> None:
        opened = self._open(params.text_document.uri)
        if opened is None:
            return
        file, document, kind = opened
        self._unsaved.discard(file)
        # What was found before stays until the result of the check, unless the text alone shows mistakes.
        if mistakes := check_text(file, document.source, kind):
            self._publish(file, mistakes)
        try:
            target = target_of(file, self._flags)
            found = await self._checks.run(target, partial(examine, target, self._flags))
        except Unreadable as unreadable:
            target, found = LintTarget(None, None), Findings(unreadable.problems, None)
        except UserMistake as mistake:
            self.server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, str(mistake)))
            return
        if found:
            self._keep(target, found, file)

    def _keep(self, target: LintTarget, found: Findings, file: Path) -> None:
        if found.bank:
            self._banks[target.dialect] = found.bank
        before = self._problems.get(target, [])
        self._problems[target] = [*found.problems]
        changed = {problem.file.resolve() for problem in (*before, *found.problems)} | {file}
        for one in changed - self._unsaved:
            self._publish_found(one)

    def _publish_found(self, file: Path) -> None:
        every = (problem for problems in self._problems.values() for problem in problems)
        self._publish(file, dict.fromkeys(problem for problem in every if problem.file.resolve() == file))

    async def _check_unsaved(self, params: types.DidChangeTextDocumentParams) -> None:
        opened = self._open(params.text_document.uri)
        if opened is None:
            return
        file, document, kind = opened
        self._unsaved.add(file)
        found = await self._texts.run(document.uri, partial(check_text, file, document.source, kind))
        if found is not None and file in self._unsaved:
            self._publish(file, found)

    def _close(self, params: types.DidCloseTextDocumentParams) -> None:
        file = _path(params.text_document.uri)
        self._unsaved.discard(file)
        self._publish_found(file)

    def _publish(self, file: Path, problems: Any) -> None:
        uri = from_fs_path(str(file)) or ""
        diagnostics = [_diagnostic(problem, self.server.workspace.position_codec) for problem in problems]
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))

    def _complete(self, params: types.CompletionParams) -> types.CompletionList | None:
        if (opened := self._open(params.text_document.uri)) is None:
            return None
        file, document, kind = opened
        offset = document.offset_at_position(params.position)
        place = document.position_from_client_units(params.position)
        found = self._language(file, kind).complete(document.source, offset)
        ends = [ServerTextPosition(place.line, place.character + at - offset) for at in (found.start, found.end)]
        edited = document.range_to_client_units(ServerTextRange(*ends))
        has_colon = document.source[found.end : found.end + 1] == ":"
        items = [_item(suggestion, edited, has_colon) for suggestion in found.suggestions]
        return types.CompletionList(is_incomplete=False, items=items)

    def _describe(self, params: types.HoverParams) -> types.Hover | None:
        if (opened := self._open(params.text_document.uri)) is None:
            return None
        file, document, kind = opened
        text = self._language(file, kind).describe(document.source, document.offset_at_position(params.position))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    def _define(self, params: types.DefinitionParams) -> types.Location | None:
        if (opened := self._open(params.text_document.uri)) is None:
            return None
        file, document, kind = opened
        name = self._language(file, kind).define(document.source, document.offset_at_position(params.position))
        if name is None or name.file is None:
            return None
        start = types.Position(name.line - 1, 0)
        return types.Location(from_fs_path(str(name.file.resolve())) or "", types.Range(start, start))

    def _open(self, uri: str) -> tuple[Path, TextDocument, FileKind] | None:
        """Return the open document, or None if it is not one of our files."""
        document = self.server.workspace.get_text_document(uri)
        file = _path(uri)
        kind = kind_of(file, document.source)
        return (file, document, kind) if kind else None

    def _language(self, file: Path, kind: FileKind) -> Language:
        return Language(schema_of(kind), self._banks.get(dialect_of(file), BankWords()))


def _path(uri: str) -> Path:
    return Path(to_fs_path(uri) or "").resolve()


def _diagnostic(problem: Problem, codec: PositionCodec) -> types.Diagnostic:
    """Mark the word at the problem. Long lines have no source, and so only a place."""
    line, column, source = problem.line - 1, problem.column - 1, problem.source
    word = _WORD.match(source, column)
    ends = (column, word.end()) if word else (column, column)
    start, end = (codec.client_num_units(source[:at]) if source else at for at in ends)
    where = types.Range(types.Position(line, start), types.Position(line, end))
    return types.Diagnostic(where, problem.text, types.DiagnosticSeverity.Error, problem.code, source=_NAME)


def _item(suggestion: Completion, edited: types.Range, has_colon: bool) -> types.CompletionItem:
    is_key = suggestion.is_key
    return types.CompletionItem(
        label=suggestion.text,
        kind=types.CompletionItemKind.Property if is_key else types.CompletionItemKind.Value,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, suggestion.doc) if suggestion.doc else None,
        text_edit=types.TextEdit(edited, f"{suggestion.text}: " if is_key and not has_colon else suggestion.text),
    )
