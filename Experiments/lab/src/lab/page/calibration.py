"""Reads predicted probabilities and their outcomes from JSON results of `replay run` and `replay explain`."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.cells import parse_document
from lab.errors import ResultsError
from lab.page.arms import latency_name

_SCHEMAS = ("halcyon.replay/", "halcyon.explain/")
_Z = 1.959963984540054


def read_runs(paths: Sequence[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """Returns the calibrated runs of several files, each with its name and its bins; seeds are averaged.

    A bin has the mean prediction and the observed ratio in %, its 95 % interval (Wilson) and the number of predictions
    of one seed. Raises ``ResultsError`` for a file that is not a JSON result of `replay run` or `replay explain`, and
    if one has no calibration.
    """
    found: list[dict[str, Any]] = []
    for path in paths:
        try:
            runs = _runs(path)
        except (KeyError, TypeError, AttributeError) as error:
            raise ResultsError(path, f"has an unexpected form ({type(error).__name__}: {error}).") from None
        if not runs:
            raise ResultsError(
                path, "has no calibration; run `replay run --prefetch planner --format json` or `replay explain`."
            )
        found += runs
    return found


def _runs(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    document = _document(path)
    trace = Path(str(document["trace"]["path"])).name
    if str(document["schema"]).startswith(_SCHEMAS[1]):
        bins = document["explanation"]["calibration"]
        run = document["run"]
        name = f"{run.get('label', 'learned')}, {trace}: requested again within the label window"
        return [{"name": name, "seeds": 1, "bins": _bins([bins])}]
    by_name: dict[str, list[list[dict[str, Any]]]] = {}
    for run in document["runs"]:
        prefetch = run.get("prefetch") or {}
        bins = prefetch.get("calibration") or []
        if any(each["count"] for each in bins):
            latency = latency_name(float(prefetch["fetch_latency"]))
            caches = "per-user caches" if run["mode"] == "per_user" else "shared cache"
            name = f"{prefetch['policy']}, {latency}, {trace}, {caches}, {run['label']} at {run['capacity_asked']}"
            by_name.setdefault(name, []).append(bins)
    return [{"name": name, "seeds": len(seeds), "bins": _bins(seeds)} for name, seeds in by_name.items()]


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    import json

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ResultsError(path, f"cannot be read: {error.strerror}.") from None
    try:
        schema = json.loads(content).get("schema", "")
    except (ValueError, AttributeError):
        schema = ""
    if not str(schema).startswith(_SCHEMAS):
        raise ResultsError(path, "is no JSON result of `replay run` or `replay explain`; make one with --format json.")
    return parse_document(content, path, schema)


def _bins(seeds: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    rows = []
    for bins in zip(*seeds):
        counts = [each["count"] if "count" in each else each["samples"] for each in bins]
        total = sum(counts)
        if total == 0:
            continue
        predicted = sum(each["predicted"] * count for each, count in zip(bins, counts)) / total
        observed = sum(each["observed"] * count for each, count in zip(bins, counts)) / total
        low, high = wilson(observed, total / len(bins))
        values = {"predicted": predicted, "observed": observed, "low": low, "high": high}
        rows.append(
            {"from": bins[0]["from"], "to": bins[0]["to"], "count": round(total / len(bins))}
            | {name: round(100 * float(value), 4) for name, value in values.items()}
        )
    return rows


def wilson(ratio: float, count: float) -> tuple[float, float]:
    """Returns the 95 % interval of a ratio of independent outcomes (Wilson 1927)."""
    square = _Z * _Z
    centre = (ratio + square / (2 * count)) / (1 + square / count)
    width = _Z * math.sqrt(ratio * (1 - ratio) / count + square / (4 * count * count)) / (1 + square / count)
    return max(0.0, centre - width), min(1.0, centre + width)
