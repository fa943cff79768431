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
from lab.cells import provenance_path, stored_cell
from lab.command import last_sentence
from lab.errors import ReplayError


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


def run_batch(
    replay: str, suite: str, trace: str, hashes: Sequence[str], names: Sequence[str], users: str | None
) -> list[Delivery]:
    """Runs cells of one trace of a suite and returns one delivery for each.

    ``names`` are the labels and capacities of the cells, as the command names cells that fail. The cells are written
    to a temporary folder of this machine, which is deleted afterwards, also if the worker is killed. Raises
    ``ReplayKilled`` if a signal ended the command.
    """
    here = f"{socket.gethostname()} process {os.getpid()}"
    if not Path(suite).is_file():
        sentence = (
            f"the worker on {here} has no file {suite}; the suite and its traces must be on a shared file system."
        )
        return [Delivery(name, None, None, sentence, here) for name in hashes]
    folder = tempfile.mkdtemp(prefix="halcyon-lab-")
    try:
        arguments = ["sweep", suite, "--trace", trace, "--results", folder, "--threads", "1"]
        for name in hashes:
            arguments += ["--cell", name]
        if users is not None:
            arguments += ["--users", users]
        status, output, errors = _supervised(folder, [replay, *arguments])
        if status > 128:
            raise ReplayKilled(f"signal {status - 128} ended `replay` on {here}.")
        return [
            _delivery(folder, cell, here) or Delivery(cell, None, None, _reason(name, output, errors), here)
            for cell, name in zip(hashes, names, strict=True)
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _supervised(folder: str, command: list[str]) -> tuple[int, str, bytes]:
    """Runs a command that ends with this process. Returns its exit status (128 + signal), output and error output."""
    script = os.fspath(Path(supervise.__file__).resolve())
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", script, folder, *command], stdin=subprocess.PIPE, stdout=output, stderr=errors
        )
        status = process.wait()
        if process.stdin is not None:
            process.stdin.close()
        output.seek(0)
        errors.seek(0)
        return status, output.read().decode(errors="replace"), errors.read()


def _delivery(folder: str, name: str, here: str) -> Delivery | None:
    """Returns a stored cell; None if it was not stored."""
    stored = stored_cell(folder, name)
    if stored is None:
        return None
    sidecar = provenance_path(folder, name)
    return Delivery(name, stored[0], sidecar.read_bytes() if sidecar.exists() else None, None, here)


def _reason(name: str, output: str, errors: bytes) -> str:
    """Returns the sentence that the command printed about a cell, or about its whole trace, or about itself."""
    failures = [line.removeprefix("failed: ") for line in output.splitlines() if line.startswith("failed: ")]
    for line in failures:
        if name in line:
            return line[line.index(name) :].partition(": ")[2]
    return (
        last_sentence(errors)
        or (failures[-1] if failures else "")
        or "`replay` did not store the cell and said nothing; the worker's build may differ from the client's."
    )
