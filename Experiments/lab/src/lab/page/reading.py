"""Reads the cells of several suites as one set of results."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from lab.cells import Cell, Folders, folder_list, read_cells
from lab.errors import ResultsError


@dataclass(frozen=True)
class Stored:
    """The cells of one or several results folders, each cell once."""

    cells: list[Cell]
    #: The names of the folders that hold each cell, by its hash.
    suites: dict[str, list[str]]
    #: The other names of a trace in some folders, by its fingerprint.
    aliases: dict[str, list[str]]
    #: The SHA-256 digest of all cells, as `zstd -dc FOLDER/cells.jsonl.zst … | LC_ALL=C sort -u | sha256sum` prints it.
    digest: str


def read(folders: Folders) -> Stored:
    """Returns the cells of results folders.

    A cell may be in several folders. Its bytes may differ there in the name of the trace only: suites may name one
    trace differently, and the cell's hash does not depend on the name. The longest name is used for all cells of the
    same requests. Raises ``ResultsError`` as ``read_cells`` does, and for a cell that differs in anything else.
    """
    cells: dict[str, Cell] = {}
    suites: dict[str, list[str]] = defaultdict(list)
    names: dict[str, set[str]] = defaultdict(set)
    lines: set[bytes] = set()
    for folder in folder_list(folders):
        for cell in read_cells(folder):
            first = cells.setdefault(cell.hash, cell)
            if _without_name(first) != _without_name(cell):
                raise ResultsError(
                    cell.place or folder, f"differs from {first.place}; a cell has the same counts wherever it was run."
                )
            if first.provenance is None and cell.provenance is not None:
                cells[cell.hash] = replace(first, provenance=cell.provenance)
            name = folder.resolve().name
            if name not in suites[cell.hash]:
                suites[cell.hash].append(name)
            names[cell.identity["fingerprint"]].add(cell.document["trace"]["name"])
            lines.add(cell.content)
    chosen = {fingerprint: max(found, key=lambda name: (len(name), name)) for fingerprint, found in names.items()}
    return Stored(
        cells=[_named(cell, chosen[cell.identity["fingerprint"]]) for cell in cells.values()],
        suites=dict(suites),
        aliases={key: sorted(found - {chosen[key]}) for key, found in names.items() if len(found) > 1},
        digest=hashlib.sha256(b"".join(sorted(lines))).hexdigest(),
    )


def _without_name(cell: Cell) -> dict[str, Any]:
    return {**cell.document, "trace": {**cell.document["trace"], "name": None}}


def _named(cell: Cell, name: str) -> Cell:
    if cell.document["trace"]["name"] == name:
        return cell
    return replace(cell, document={**cell.document, "trace": {**cell.document["trace"], "name": name}})
