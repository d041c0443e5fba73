"""Starts runs of a Python command as forks of a process that has already imported the libraries of the app.

A program for the app's interpreter, which may not have this package: it uses only the standard library. It listens on
the Unix socket of its argument for one order in JSON for each connection.
"""

from __future__ import annotations  # for older versions of Python in the app

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import site
import socket
import sys
import sysconfig
import threading
import time
from contextlib import suppress
from typing import Any

_LOOK = 2.0
"""Seconds between two looks whether the campaign still runs. It cannot end this process if it is killed itself."""


def main(address: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    campaign = os.getppid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the processes that attend to runs are not waited for
    while os.getppid() == campaign:
        if not select.select([listener], [], [], _LOOK)[0]:
            continue
        connection = listener.accept()[0]
        order = json.loads(connection.makefile().readline() or "{}")
        if not order:
            pass  # the campaign has closed the connection without an order
        elif "import" in order:
            load(order["import"])
            # A fork has only one thread, so locks of the others would stay locked.
            connection.sendall(b"refused\n" if threading.active_count() > 1 else b"done\n")
        elif os.fork() == 0:
            listener.close()
            attend(connection, order)
            return  # in the run itself
        connection.close()


def load(names: list[str]) -> None:
    for name in names:
        with suppress(BaseException):  # then the run imports it, or fails by itself
            module = importlib.import_module(name)
            # Otherwise pytest warns that a plugin is already imported, so that its assertions cannot be rewritten.
            module.__doc__ = f"{module.__doc__ or ''}\n\nPYTEST_DONT_REWRITE"
    gc.collect()
    gc.freeze()


def attend(connection: socket.socket, order: dict[str, Any]) -> None:
    """Start the run, and report its process, its status and its processor time. Only the run returns."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if pid := os.fork():
        with suppress(OSError):
            os.setpgid(pid, pid)
        connection.sendall(f"{pid}\n".encode())
        _, status, usage = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        with suppress(OSError):
            connection.sendall(f"{code} {usage.ru_utime + usage.ru_stime}\n".encode())
        os._exit(0)
    connection.close()
    run(order)


def run(order: dict[str, Any]) -> None:
    with suppress(OSError):
        os.setpgid(0, 0)
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()  # the environment may have another time zone
    for path, flags, numbers in ((os.devnull, os.O_RDONLY, (0,)), (order["output"], os.O_WRONLY, (1, 2))):
        file = os.open(path, flags)
        for number in numbers:
            os.dup2(file, number)
        os.close(file)
    if order["report"]:
        atexit.register(report, order["report"])
    sys.argv = [order["program"], *order["arguments"]]
    if order["is_module"]:
        sys.path[0] = os.getcwd()
        runpy.run_module(order["program"], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(order["program"]))
        runpy.run_path(os.path.abspath(order["program"]), run_name="__main__")


def report(file: str) -> None:
    """Write the names of the imported modules that belong to a library, and not to the app."""
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders = tuple(os.path.join(folder, "") for folder in libraries | set(site.getsitepackages()))
    names = [
        name
        for name, module in list(sys.modules.items())
        if str(getattr(getattr(module, "__spec__", None), "origin", "")).startswith(folders)
    ]
    with open(file, "w", encoding="utf-8") as written:
        json.dump(names, written)


if __name__ == "__main__":
    main(sys.argv[1])
