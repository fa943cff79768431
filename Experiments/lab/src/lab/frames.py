"""Stored cells as data frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from lab.cells import Cell, Folders, canonical_json, read_cells

_TEXT = "string"
_INTEGER = "Int64"
_REAL = "float64"
#: Text in the order of the numbers that it begins with.
_ORDERED = "category"

#: The columns that every frame of ``load`` has, in order, with their types. Columns ``p_NAME`` follow, one for each
#: parameter of a policy, as text.
COLUMNS: Mapping[str, str] = {
    "hash": _TEXT,
    "trace": _TEXT,
    "policy": _TEXT,
    "label": _TEXT,
    "run": _TEXT,
    "parameters": _TEXT,
    "mode": _TEXT,
    "knowledge": _TEXT,
    "capacity": _ORDERED,
    "capacity_size": _INTEGER,
    "memory_capacity_size": _INTEGER,
    "size_unit": _TEXT,
    "tiers": _TEXT,
    "labels": _TEXT,
    "label_control": _TEXT,
    "permutation": _INTEGER,
    "seed": _INTEGER,
    "prefetch": _TEXT,
    "prefetch_parameters": _TEXT,
    "prefetch_budget": _TEXT,
    "prefetch_latency_us": _INTEGER,
    "announce": _TEXT,
    "pretrain": _TEXT,
    "restart": _TEXT,
    "time_resolution_us": _INTEGER,
    "warmup": _REAL,
    "users_part": _TEXT,
    "result_version": _INTEGER,
    "kernels": _TEXT,
    "fingerprint": _TEXT,
    "trace_requests": _INTEGER,
    "trace_objects": _INTEGER,
    "trace_users": _INTEGER,
    "trace_categories": _INTEGER,
    "trace_distinct_size": _INTEGER,
    "requests": _INTEGER,
    "hits": _INTEGER,
    "size": _INTEGER,
    "hit_size": _INTEGER,
    "evictions": _INTEGER,
    "refused": _INTEGER,
    "refused_too_large": _INTEGER,
    "stale": _INTEGER,
    "warmup_requests": _INTEGER,
    "prefetched": _INTEGER,
    "prefetches_used": _INTEGER,
    "prefetches_late": _INTEGER,
    "prefetched_size": _INTEGER,
    "prefetch_wasted_size": _INTEGER,
    "memory_hits": _INTEGER,
    "disk_hits": _INTEGER,
    "network_fetches": _INTEGER,
    "object_hit_ratio": _REAL,
    "byte_hit_ratio": _REAL,
    "latency_mean_ms": _REAL,
    "latency_p99_ms": _REAL,
    "unit_kind": _TEXT,
    "units": _INTEGER,
    "build_id": _TEXT,
    "halcyon_version": _TEXT,
    "is_optimised": "boolean",
    "host": _TEXT,
    "system": _TEXT,
    "cores": _INTEGER,
    "kernels_used": _TEXT,
    "seconds": _REAL,
    "requests_per_second": _REAL,
    "metadata_bytes": _INTEGER,
    "finished_at": _TEXT,
    "suite": _TEXT,
    "folder": _TEXT,
}

#: The columns of ``units``, with their types.
UNIT_COLUMNS: Mapping[str, str] = {
    "hash": _TEXT,
    "trace": _TEXT,
    "label": _TEXT,
    "mode": _TEXT,
    "capacity": _ORDERED,
    "labels": _TEXT,
    "seed": _INTEGER,
    "kind": _TEXT,
    "unit": _INTEGER,
    "requests": _INTEGER,
    "hits": _INTEGER,
    "size": _INTEGER,
    "hit_size": _INTEGER,
}

_PERMUTATION = re.compile(r"(.*?) #(\d+)")
_CAPACITY = re.compile(r"(?P<number>\d+(?:\.\d*)?(?:e\d+)?) ?(?P<unit>%|[kmgtp]?i?b?)", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def load(folders: Folders) -> pd.DataFrame:
    """Returns a frame with one row per stored cell of one or several results folders.

    The columns are those of ``COLUMNS`` and one column ``p_NAME`` of text for each parameter that some cell has. Rows
    are sorted by trace, mode, label, capacity, label control, seed and hash. Hit ratios are between 0 and 1, and NaN
    if no request was counted; sizes are in ``size_unit``, seconds those of the sidecars. A value that a cell does not
    have is missing (NA). Linear in the number of cells.

    Raises ``ResultsError`` for the first file that is broken, has an unknown schema, is not named by the hash of its
    identity, or differs from a cell of the same name in another folder.
    """
    return frame(read_cells(folders))


def frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """Returns the frame of ``load`` for cells that were read before."""
    rows = [_row(cell) for cell in cells]
    parameters = sorted({name for row in rows for name in row if name.startswith("p_")})
    types = {**COLUMNS, **{name: _TEXT for name in parameters}}
    made = pd.DataFrame({name: _column([row.get(name) for row in rows], kind) for name, kind in types.items()})
    order = ["trace", "mode", "label", "capacity_size", "capacity", "labels", "prefetch", "seed", "hash"]
    return made.sort_values(order, kind="stable", ignore_index=True)


def units(folders: Folders) -> pd.DataFrame:
    """Returns the counts by resampling unit in long form: one row per cell and unit.

    ``kind`` is ``users`` (groups of users, the same groups in every cell of a trace) or ``time_blocks`` (in order).
    ``size`` and ``hit_size`` are those of the objects; with uniform sizes each object has size 1. A unit without
    requests is kept, so that the units of two cells of one trace match by number. Raises ``ResultsError`` as ``load``.
    """
    return unit_frame(read_cells(folders))


def unit_frame(cells: Iterable[Cell]) -> pd.DataFrame:
    """Returns the frame of ``units`` for cells that were read before."""
    columns: dict[str, list[Any]] = {name: [] for name in UNIT_COLUMNS}
    for cell in cells:
        stored = cell.document.get("units")
        if stored is None:
            continue
        requests, hits = stored["requests"], stored["hits"]
        count = len(requests)
        identity = cell.identity
        fixed = {
            "hash": cell.hash,
            "trace": cell.document["trace"]["name"],
            "label": cell.document["label"],
            "mode": identity["mode"],
            "capacity": identity.get("capacity"),
            "labels": identity["labels"],
            "seed": identity.get("seed"),
            "kind": stored["kind"],
        }
        for name, value in fixed.items():
            columns[name].extend([value] * count)
        columns["unit"].extend(range(count))
        columns["requests"].extend(requests)
        columns["hits"].extend(hits)
        columns["size"].extend(stored.get("sizes", requests))
        columns["hit_size"].extend(stored.get("hit_sizes", hits))
    return pd.DataFrame({name: _column(columns[name], kind) for name, kind in UNIT_COLUMNS.items()})


def capacity_key(text: str) -> tuple[int, float, str]:
    """Returns a key by which capacities are sorted: shares, then sizes (``1MB`` before ``10MB``), then other text."""
    match = _CAPACITY.fullmatch(text.strip())
    if match is None:
        return 2, 0.0, text
    number, unit = float(match["number"]), match["unit"].lower()
    if unit == "%":
        return 0, number, text
    base = 1024 if "i" in unit else 1000
    return 1, number * base ** _POWERS.get(unit[:1], 0), text


def ordered_capacities(values: Iterable[Any]) -> "pd.Series[Any]":
    """Returns capacities as an ordered categorical column: ``0.5%`` before ``5%`` before ``10%``, also in pivots."""
    texts = [None if pd.isna(value) else str(value) for value in values]
    kinds = sorted({text for text in texts if text is not None}, key=capacity_key)
    return pd.Series(pd.Categorical(texts, categories=kinds, ordered=True))


def _column(values: list[Any], kind: str) -> "pd.Series[Any]":
    if kind == _ORDERED:
        return ordered_capacities(values)
    if kind == _REAL:
        return pd.Series([float("nan") if value is None else float(value) for value in values], dtype=_REAL)
    return pd.Series([pd.NA if value is None else value for value in values], dtype=kind)


def _warmup(text: str | None) -> float | None:
    """Returns a share below 1, a number of requests from 1 on, or a time in seconds below 0, so that no two are equal."""
    if text is None or not text.endswith("s"):
        return None if text is None else float(text)
    return -float(text[:-2]) / 1000 if text.endswith("ms") else -float(text[:-1])


def warmup_name(warmup: float) -> str:
    """Returns the name of a value of the column ``warmup``."""
    if warmup == 0:
        return "no warm-up"
    if warmup < 0:
        return f"warm-up {-warmup:,g} s"
    return f"warm-up {100 * warmup:g} %" if warmup < 1 else f"warm-up {int(warmup):,} requests"


def _row(cell: Cell) -> dict[str, Any]:
    document, identity = cell.document, cell.identity
    trace, counts = document["trace"], document["counts"]
    prefetch = identity.get("prefetch", {})
    latency = document.get("latency", {})
    stored_units = document.get("units")
    control, permutation = _label_control(identity["labels"])
    row: dict[str, Any] = {
        "hash": cell.hash,
        "trace": trace["name"],
        "policy": identity["policy"],
        "label": document["label"],
        "run": _run(document["label"], identity),
        "parameters": canonical_json(identity.get("parameters", {})),
        "mode": identity["mode"],
        "knowledge": identity.get("knowledge"),
        "capacity": identity.get("capacity"),
        "capacity_size": document.get("capacity"),
        "memory_capacity_size": document.get("memory_capacity"),
        "size_unit": trace.get("size_unit"),
        "tiers": canonical_json(identity["tiers"]) if "tiers" in identity else None,
        "labels": identity["labels"],
        "label_control": control,
        "permutation": permutation,
        "seed": identity.get("seed"),
        "prefetch": prefetch.get("policy"),
        "prefetch_parameters": canonical_json(prefetch.get("parameters", {})) if prefetch else None,
        "prefetch_budget": prefetch.get("budget"),
        "prefetch_latency_us": prefetch.get("latency_us"),
        "announce": identity.get("announce"),
        "pretrain": identity.get("pretrain"),
        "restart": identity.get("restart"),
        "time_resolution_us": trace.get("time_resolution_us"),
        "warmup": _warmup(identity.get("warmup")),
        "users_part": identity.get("users"),
        "result_version": identity.get("result_version"),
        "kernels": identity.get("kernels"),
        "fingerprint": identity["fingerprint"],
        "trace_requests": trace.get("requests"),
        "trace_objects": trace.get("objects"),
        "trace_users": trace.get("users"),
        "trace_categories": trace.get("categories"),
        "trace_distinct_size": trace.get("distinct_size"),
        **{name: value for name, value in counts.items() if name in COLUMNS},
        "object_hit_ratio": _ratio(counts["hits"], counts["requests"]),
        "byte_hit_ratio": _ratio(counts["hit_size"], counts["size"]),
        "latency_mean_ms": latency.get("mean_ms"),
        "latency_p99_ms": latency.get("p99_ms"),
        "unit_kind": stored_units["kind"] if stored_units else None,
        "units": len(stored_units["requests"]) if stored_units else None,
        "folder": str(cell.folder) if cell.folder else None,
    }
    for name, value in identity.get("parameters", {}).items():
        row[f"p_{name}"] = str(value)
    provenance = cell.provenance or {}
    for name in (
        "build_id", "halcyon_version", "is_optimised", "host", "system", "cores", "seconds", "requests_per_second",
        "metadata_bytes", "finished_at", "suite",
    ):  # fmt: skip
        row[name] = provenance.get(name)
    if "kernels" in provenance:
        row["kernels_used"] = ", ".join(provenance["kernels"])
    return row


def _run(label: str, identity: Mapping[str, Any]) -> str:
    """Returns the label with what else distinguishes a policy's runs in one setting, besides seed and permutation."""
    if "knowledge" in identity:
        label += f", {identity['knowledge']} knowledge"
    if "kernels" in identity:
        label += f", kernels {identity['kernels']}"
    # Of a policy that is not of Halcyon.
    version = identity.get("parameters", {}).get("version", "1")
    return label if version == "1" else f"{label}, version {version}"


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole > 0 else None


def _label_control(labels: str) -> tuple[str, int | None]:
    match = _PERMUTATION.fullmatch(labels)
    return (match[1], int(match[2])) if match else (labels, None)
