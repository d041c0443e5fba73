"""A small client of the Language Server Protocol, which runs the server as an editor does."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

TIMEOUT = 120


class Editor:
    """An editor with one folder. `show` opens a file, `type` changes it without saving, `save` writes it."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.texts: dict[Path, str] = {}
        command = [sys.executable, "-m", "xs2a_sandbox", "lsp", *flags]
        # Started elsewhere: the server has to use the folder that the editor names.
        self.program = subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.number = 0

    def __enter__(self) -> Self:
        root = self.folder.as_uri()
        self.capabilities = self.ask("initialize", processId=None, rootUri=root, capabilities={})["capabilities"]
        self.notify("initialized")
        return self

    def __exit__(self, *_: object) -> None:
        self.ask("shutdown")
        self.notify("exit")
        assert self.program.wait(TIMEOUT) == 0
        for stream in (self.program.stdin, self.program.stdout):
            assert stream
            stream.close()

    def show(self, file: Path) -> None:
        self.texts[file] = file.read_text()
        document = {"uri": file.as_uri(), "languageId": "yaml", "version": 1, "text": self.texts[file]}
        self.notify("textDocument/didOpen", textDocument=document)

    def type(self, file: Path, text: str) -> None:
        self.texts[file] = text
        document = {"uri": file.as_uri(), "version": 2}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def save(self, file: Path) -> None:
        file.write_text(self.texts[file])
        self.notify("textDocument/didSave", textDocument={"uri": file.as_uri()})

    def problems(self, file: Path, until: Callable[[list[str]], bool]) -> list[dict[str, Any]]:
        """Wait until the server has published such problems of the file, given their codes."""
        while True:
            message = self._next()
            if message.get("method") != "textDocument/publishDiagnostics":
                continue
            found: list[dict[str, Any]] = message["params"]["diagnostics"]
            if message["params"]["uri"] == file.as_uri() and until([one["code"] for one in found]):
                return found

    def at(self, method: str, file: Path, place: str) -> Any:
        """Ask about the place after this part of the text."""
        before = self.texts[file].partition(place)[0] + place
        units = before.rpartition("\n")[2].encode("utf-16-le")
        position = {"line": before.count("\n"), "character": len(units) // 2}
        return self.ask(f"textDocument/{method}", textDocument={"uri": file.as_uri()}, position=position)

    def ask(self, method: str, **params: Any) -> Any:
        self.number += 1
        self._send(id=self.number, method=method, params=params or None)
        skipped = []
        while (message := self._next()).get("id") != self.number:
            skipped.append(message)
        for one in skipped:
            self.messages.put(one)
        assert "error" not in message, message["error"]
        return message["result"]

    def notify(self, method: str, **params: Any) -> None:
        self._send(method=method, params=params)

    def _send(self, **message: Any) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.program.stdin
        self.program.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self.program.stdin.flush()

    def _next(self) -> dict[str, Any]:
        message = self.messages.get(timeout=TIMEOUT)
        assert message, "the server has ended"
        return message

    def _read(self) -> None:
        stream = self.program.stdout
        assert stream
        while header := stream.readline():
            length = int(header.removeprefix(b"Content-Length:"))
            while stream.readline().strip():
                pass
            self.messages.put(json.loads(stream.read(length)))
        self.messages.put(None)
