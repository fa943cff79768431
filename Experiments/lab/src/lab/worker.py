"""The task that a Dask worker runs: some cells of one trace, by one ``replay sweep``."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import supervise
from lab.cells import cell_path, provenance_path
from lab.errors import ReplayError
from lab.planning import EX_DATA, EX_USAGE, last_sentence


@dataclass(frozen=True)
class Delivery:
    """The result of one cell, as a worker returns it to the client."""

    #: The hash that was asked for.
    hash: str
    #: The bytes of the cell's file; None if it failed.
    cell: bytes | None
    #: The bytes of its sidecar; None if there is none.
    provenance: bytes | None
    #: Why the cell failed; None if it did not.
    sentence: str | None
    #: The machine and process that ran it.
    worker: str


class ReplayKilled(ReplayError):
    """The process ``replay`` was ended by a signal, such as that of the system when memory is short.

    Dask repeats the task; a failure of the cell itself is a ``Delivery`` with a sentence and is not repeated.
    """


def run_batch(replay: str, suite: str, hashes: Sequence[str], users: str | None) -> list[Delivery]:
    """Runs cells of a suite and returns one delivery for each.

    The cells are written to a temporary folder of this machine, which is deleted afterwards, also if the worker is
    killed. Raises ``ReplayKilled`` if a signal ended the command.
    """
    here = f"{socket.gethostname()} process {os.getpid()}"
    if not Path(suite).is_file():
        sentence = f"the worker on {here} has no file {suite}; the suite and its traces must be on a shared file system."
        return [Delivery(name, None, None, sentence, here) for name in hashes]
    folder = tempfile.mkdtemp(prefix="halcyon-lab-")
    try:
        arguments = ["sweep", suite, "--results", folder, "--threads", "1"]
        for name in hashes:
            arguments += ["--cell", name]
        if users is not None:
            arguments += ["--users", users]
        status, errors = _supervised(folder, [replay, *arguments])
        if status > 128:
            raise ReplayKilled(f"signal {status - 128} ended `replay` on {here}.")
        deliveries = [_delivery(folder, name, here) for name in hashes]
        return [
            delivery if delivery.cell is not None
            else Delivery(delivery.hash, None, None, _reason(delivery.hash, status, errors), here)
            for delivery in deliveries
        ]  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _supervised(folder: str, command: list[str]) -> tuple[int, bytes]:
    """Runs a command that ends with this process. Returns its exit status (128 + signal) and its error output."""
    script = os.fspath(Path(supervise.__file__).resolve())
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", script, folder, *command],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    if process.stderr is None or process.stdin is None:
        raise ReplayError("the pipes of the supervising process are missing.")
    try:
        errors = process.stderr.read()
        return process.wait(), errors
    finally:
        process.stdin.close()
        process.stderr.close()


def _delivery(folder: str, name: str, here: str) -> Delivery:
    try:
        cell = cell_path(folder, name).read_bytes()
    except FileNotFoundError:
        return Delivery(name, None, None, None, here)
    sidecar = provenance_path(folder, name)
    return Delivery(name, cell, sidecar.read_bytes() if sidecar.exists() else None, None, here)


def _reason(name: str, status: int, errors: bytes) -> str:
    """Returns the sentence of the command that concerns a cell, or its last one."""
    for line in errors.decode(errors="replace").splitlines():
        if name[:8] in line:
            return line.strip()
    sentence = last_sentence(errors)
    if sentence:
        return sentence
    if status in (EX_USAGE, EX_DATA):
        return f"`replay` exited with {status} and said nothing."
    return "`replay` did not store the cell and said nothing; the suite on the worker may differ from the client's."
