"""Writes stored cells as tables that other tools read, and tables in Markdown."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from lab.cells import Folders
from lab.errors import UsageError
from lab.frames import load


def export(folders: Folders, path: str | os.PathLike[str]) -> int:
    """Writes the frame of ``load`` as CSV (``.csv``) or Parquet (``.parquet``), and returns the number of rows.

    The file is written beside and renamed, so that ``path`` is never a part of a table. A missing value is an empty
    field in CSV and null in Parquet; integers stay integers in both. The bytes depend on the cells and sidecars only.
    Raises ``UsageError`` for another extension, ``ResultsError`` as ``load``, and ``OSError`` if it cannot be written.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise UsageError(f"{target}: the name must end with .csv or .parquet, which decides the format.")
    frame = load(folders).astype({"capacity": "string"})
    if kind == ".csv":
        write_beside(target, lambda part: frame.to_csv(part, index=False, lineterminator="\n"))
    else:
        write_beside(target, lambda part: frame.to_parquet(part, engine="pyarrow", index=False))
    return len(frame)


def write_beside(target: Path, write: Callable[[Path], object]) -> None:
    """Calls ``write`` with a path beside ``target`` and renames the file that it writes to ``target``.

    If ``write`` raises, the unfinished file is deleted and ``target`` keeps its content.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        write(part)
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text_beside(target: Path, text: str) -> None:
    """Writes a text in UTF-8 beside ``target`` and renames it."""
    write_beside(target, lambda part: part.write_text(text, encoding="utf-8", newline="\n"))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Returns a table in Markdown; the first column is text, the others are aligned to the right."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
