"""Reads and checks stored cells.

A results folder has its cells in one file, ``cells.jsonl.zst``: a line per cell, in the order of their hashes, compressed
with zstd. While a suite runs, and after an interruption, cells are also files of their own in ``cells``, named by the
hash of the cell's identity. Only ``replay`` writes the one file (``replay results FOLDER --pack``).
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from lab.errors import ResultsError

CELL_SCHEMA = "halcyon.cell/1"
PROVENANCE_SCHEMA = "halcyon.provenance/1"

#: A path, or several.
Folders = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_HASH = re.compile(r"[0-9a-f]{32}")
_REQUIRED_COUNTS = ("requests", "hits", "size", "hit_size", "evictions", "refused")
_UNIT_KINDS = ("users", "time_blocks")


def canonical_json(identity: Mapping[str, Any]) -> str:
    """Returns the JSON text that a cell's hash is computed from: keys sorted at every level, no spaces."""
    return json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def identity_hash(identity: Mapping[str, Any]) -> str:
    """Returns the name of a cell: the first 32 hexadecimal digits of SHA-256 over the canonical JSON of its identity.

    Raises ``ValueError`` if the identity holds a fraction, ``null`` or a truth value: the format has integers and
    strings only, so that every language computes the same hash.
    """
    _check_identity(identity)
    return hashlib.sha256(canonical_json(identity).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Cell:
    """One stored result that was checked."""

    #: The hash of the identity, and the name of the file.
    hash: str
    #: The whole document.
    document: Mapping[str, Any]
    #: The bytes of the file: one line.
    content: bytes
    #: The sidecar's document, or None if there is none.
    provenance: Mapping[str, Any] | None = None
    #: The results folder, or None if the bytes came from elsewhere.
    folder: Path | None = None
    #: The path of the file, with the line if it has several cells.
    place: str = ""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that decides the result."""
        identity: Mapping[str, Any] = self.document["identity"]
        return identity


def parse_cell(content: bytes, source: str | os.PathLike[str], name: str | None = None) -> Cell:
    """Returns the cell that some bytes hold.

    ``source`` is the path or the description that an error names. ``name`` is the expected hash, such as the file's
    name; None accepts every hash. Raises ``ResultsError`` if the bytes are not JSON, the schema is not
    ``halcyon.cell/1``, a field is missing or of the wrong type, or the hash is not that of the identity.
    """
    document = parse_document(content, source, CELL_SCHEMA)
    identity = document.get("identity")
    if not isinstance(identity, dict):
        raise ResultsError(source, "the field 'identity' is missing; a cell needs an object there.")
    try:
        computed = identity_hash(identity)
    except ValueError as error:
        raise ResultsError(source, f"{error}.") from None
    if name is not None and name != computed:
        raise ResultsError(
            source,
            f"the name is {name} and the identity's hash is {computed}; the file was renamed or its identity edited.",
        )
    _check_fields(document, source)
    return Cell(hash=computed, document=document, content=content)


def parse_document(content: bytes, source: str | os.PathLike[str], schema: str) -> dict[str, Any]:
    """Returns the JSON object that some bytes hold.

    Raises ``ResultsError`` if they are not UTF-8 JSON, name a key twice, are not an object, or have another schema.
    """
    try:
        document = json.loads(content.decode(), object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError) as error:
        raise ResultsError(source, f"not valid JSON ({error}); delete the file and run the cell again.") from None
    if not isinstance(document, dict):
        raise ResultsError(source, f"not a JSON object; a file with the schema '{schema}' is expected.")
    if document.get("schema") != schema:
        raise ResultsError(source, f"the schema is {document.get('schema')!r}; this version reads '{schema}'.")
    return document


def pack_path(folder: str | os.PathLike[str]) -> Path:
    """Returns the path of the file that has the packed cells of a results folder."""
    return Path(folder) / "cells.jsonl.zst"


def is_results_folder(folder: str | os.PathLike[str]) -> bool:
    """Returns whether a folder has packed cells, or a folder for cells."""
    return pack_path(folder).exists() or (Path(folder) / "cells").is_dir()


def cell_path(folder: str | os.PathLike[str], name: str) -> Path:
    """Returns the path of a cell in a results folder, before it is packed."""
    return Path(folder) / "cells" / f"{name}.json"


def provenance_path(folder: str | os.PathLike[str], name: str) -> Path:
    """Returns the path of a cell's sidecar in a results folder."""
    return Path(folder) / "provenance" / f"{name}.json"


def stored_cell(folder: str | os.PathLike[str], name: str) -> tuple[bytes, str] | None:
    """Returns the bytes of a stored cell, packed or not, and its place; None if it is not stored.

    Raises ``ResultsError`` if the file cannot be read or the pack is damaged.
    """
    path = cell_path(folder, name)
    try:
        return path.read_bytes(), str(path)
    except FileNotFoundError:
        return _packed(folder).get(name)
    except OSError as error:
        raise ResultsError(path, f"cannot be read: {error.strerror}.") from None


def read_cell(folder: str | os.PathLike[str], name: str) -> Cell:
    """Returns the cell of a results folder with a given hash, with its sidecar if there is one.

    Raises ``ResultsError`` as ``parse_cell`` does, and if the cell is not stored.
    """
    stored = stored_cell(folder, name)
    if stored is None:
        raise ResultsError(cell_path(folder, name), "is not stored.")
    content, place = stored
    return _with_sidecar(parse_cell(content, place, name), folder, place)


def read_cells(folders: Folders) -> Iterator[Cell]:
    """Returns the cells of one or several results folders, each cell once, by folder and hash.

    Files that start with a dot are ignored: these are unfinished. A cell in two folders must have the same bytes in
    both. Raises ``ResultsError`` for the first file that is not a valid cell, for a folder that is not a results
    folder, and for a cell with different bytes.
    """
    seen: dict[str, tuple[bytes, str]] = {}
    for folder in folder_list(folders):
        if not is_results_folder(folder):
            raise ResultsError(
                folder,
                "no results folder; one that `replay sweep --results` wrote has a file 'cells.jsonl.zst' or a folder 'cells'.",
            )
        # The files are listed first: what is packed meanwhile is in the pack.
        names = _file_names(folder)
        files = (read_cell(folder, name) for name in names)
        for cell in heapq.merge(files, _read_pack(folder), key=lambda cell: cell.hash):
            digest = hashlib.sha256(cell.content).digest()
            if cell.hash not in seen:
                seen[cell.hash] = digest, cell.place
                yield cell
            elif seen[cell.hash][0] != digest:
                first = seen[cell.hash][1]
                raise ResultsError(cell.place, f"differs from {first}; a cell has the same bytes wherever it was run.")


def _file_names(folder: Path) -> list[str]:
    """Returns the hashes of the cells that have files of their own."""
    cells, names = folder / "cells", []
    for path in sorted(cells.iterdir()) if cells.is_dir() else ():
        if path.name.startswith("."):
            continue
        if path.suffix != ".json" or not _HASH.fullmatch(path.stem):
            raise ResultsError(path, "not a cell; 'cells' holds files named by 32 hexadecimal digits and '.json'.")
        names.append(path.stem)
    return names


def _read_pack(folder: str | os.PathLike[str]) -> Iterator[Cell]:
    """Returns the packed cells of a folder in their order; none without a pack."""
    path, last = pack_path(folder), ""
    needed = "a pack as `replay sweep` writes it is needed: restore the file, or delete it and run the sweep again."
    if not path.exists():
        return
    try:
        with pa.input_stream(os.fspath(path), compression="zstd") as stream:
            content: bytes = stream.read()
    except OSError as error:
        raise ResultsError(path, f"no complete zstd data ({error}); {needed}") from None
    if not content:
        raise ResultsError(path, f"has no cells; {needed}")
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        place = f"{path}:{number}"
        if not line.endswith(b"\n"):
            raise ResultsError(place, f"has no line break; {needed}")
        cell = parse_cell(line, place)
        if cell.hash <= last:
            raise ResultsError(place, f"the cell {cell.hash} is not in order; {needed}")
        last = cell.hash
        yield _with_sidecar(cell, folder, place)


def _packed(folder: str | os.PathLike[str]) -> Mapping[str, tuple[bytes, str]]:
    """Returns the bytes and the places of the packed cells of a folder by hash. The pack is read again once it has changed."""
    try:
        status = pack_path(folder).stat()
    except FileNotFoundError:
        return {}
    return _packed_version(os.fspath(folder), status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)
def _packed_version(folder: str, *version: int) -> Mapping[str, tuple[bytes, str]]:
    return {cell.hash: (cell.content, cell.place) for cell in _read_pack(folder)}


def _with_sidecar(cell: Cell, folder: str | os.PathLike[str], place: str) -> Cell:
    sidecar = provenance_path(folder, cell.hash)
    provenance = parse_document(_read(sidecar), sidecar, PROVENANCE_SCHEMA) if sidecar.exists() else None
    return replace(cell, provenance=provenance, folder=Path(folder), place=place)


def folder_list(folders: Folders) -> list[Path]:
    """Returns one or several folders as a list of paths."""
    if isinstance(folders, (str, os.PathLike)):
        return [Path(folders)]
    return [Path(folder) for folder in folders]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResultsError(path, f"cannot be read: {error.strerror}.") from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return document


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON number")


def _check_identity(value: Any) -> None:
    if isinstance(value, Mapping):
        for inner in value.values():
            _check_identity(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _check_identity(inner)
    elif isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"the identity holds {value!r}; it may hold integers and strings only")


def _check_fields(document: Mapping[str, Any], source: str | os.PathLike[str]) -> None:
    """Checks the fields that the rest of this package relies on."""
    identity = document["identity"]
    for field in ("fingerprint", "policy", "mode", "labels"):
        if not isinstance(identity.get(field), str):
            raise ResultsError(source, f"the field 'identity.{field}' is missing; a cell needs a text there.")
    trace, counts = document.get("trace"), document.get("counts")
    if not isinstance(trace, dict) or not isinstance(trace.get("name"), str):
        raise ResultsError(source, "the field 'trace.name' is missing; a cell needs a text there.")
    if not isinstance(document.get("label"), str):
        raise ResultsError(source, "the field 'label' is missing; a cell needs a text there.")
    if not isinstance(counts, dict):
        raise ResultsError(source, "the field 'counts' is missing; a cell needs an object there.")
    for field in sorted({*_REQUIRED_COUNTS, *counts}):
        value = counts.get(field)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ResultsError(source, f"the field 'counts.{field}' is {value!r}; a count is an integer from 0.")
    for part, whole in (("hits", "requests"), ("hit_size", "size")):
        if counts[part] > counts[whole]:
            raise ResultsError(
                source, f"counts.{part} is {counts[part]} and counts.{whole} {counts[whole]}; it cannot be larger."
            )
    _check_units(document, source)


def _check_units(document: Mapping[str, Any], source: str | os.PathLike[str]) -> None:
    units = document.get("units")
    if units is None:
        return
    if not isinstance(units, dict) or units.get("kind") not in _UNIT_KINDS:
        raise ResultsError(source, "the field 'units.kind' is missing; 'users' or 'time_blocks' is expected.")
    lists = {name: units[name] for name in ("requests", "hits", "sizes", "hit_sizes") if name in units}
    if not {"requests", "hits"} <= set(lists) or not all(_is_counts(values) for values in lists.values()):
        raise ResultsError(source, "'units.requests' and 'units.hits' must be lists of integers from 0.")
    if len({len(values) for values in lists.values()}) > 1:
        raise ResultsError(source, "the lists in 'units' have different lengths; each has one count per unit.")
    for name, count in (("hits", "hits"), ("hit_sizes", "hit_size"), ("sizes", "size")):
        if name in lists and sum(lists[name]) > document["counts"][count]:
            raise ResultsError(source, f"'units.{name}' adds up to more than 'counts.{count}'; the file was edited.")


def _is_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
