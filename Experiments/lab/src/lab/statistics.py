"""Paired differences of hit ratios as a data frame, with confidence intervals from the counts by unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lab.comparison import SETTING, Measure, Side, pair_of, side_of
from lab.errors import UsageError
from lab.variance import interval, standard_error


def differences(
    results: pd.DataFrame,
    units: pd.DataFrame,
    baseline: str,
    *,
    candidates: Sequence[str] | None = None,
    measure: Measure = "object",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Returns the differences of hit ratios between policies and a baseline, one row per setting and candidate.

    ``results`` is a frame of ``lab.load``, filtered as needed; ``units`` is that of ``lab.units`` over the same
    folders. ``baseline`` and ``candidates`` are values of the column ``run``, such as ``lru``, ``s3-fifo(small=0.2)``
    or ``learned, models own``; by default every other run is a candidate. Cells are paired if they agree in the
    columns of ``SETTING``; seeds and permutations are averaged.

    ``difference`` is candidate minus baseline, in hit ratio (0.01 is one point); ``low`` and ``high`` bound the
    two-sided interval for this difference alone, without correction for several cells. The standard error is that of
    ``replay compare``: the delete-one jackknife over users, or the first cosine transforms of the time blocks (Lazarus,
    Lewis, Stock and Watson 2018), with the noise of seeds added. The quantile is Student's with Satterthwaite's degrees
    of freedom. ``low`` and ``high`` are NaN without counts by unit. Use ``replay compare`` for a test: it pools traces
    and corrects for their number. O(cells × units).

    Raises ``UsageError`` if the baseline or a candidate has no cell, and ``LabError`` if two cells of one setting
    count different requests.
    """
    labels = list(dict.fromkeys(results["run"]))
    wanted = [label for label in labels if label != baseline] if candidates is None else list(candidates)
    for label in (baseline, *wanted):
        if label not in labels:
            raise UsageError(f"no cell has the run '{label}'; runs in these results: {', '.join(labels) or 'none'}.")
    if not 0 < confidence < 1:
        raise UsageError(f"the confidence is {confidence}; a value between 0 and 1 is expected.")
    if measure not in ("object", "byte"):
        raise UsageError(f"the measure is '{measure}'; 'object' or 'byte' is expected.")

    by_cell: dict[str, pd.DataFrame] = {str(name): group for name, group in units.groupby("hash", sort=False)}
    rows: list[dict[str, Any]] = []
    for key, group in results.groupby(list(SETTING), dropna=False, sort=False):
        setting = dict(zip(SETTING, key))
        arms = {str(label): cells for label, cells in group.groupby("run", sort=False)}
        sides = {label: side_of(cells, by_cell, measure) for label, cells in arms.items()}
        if baseline not in arms:
            continue
        for label in wanted:
            if label in arms:
                ratios = [float(arms[name][f"{measure}_hit_ratio"].mean()) for name in (label, baseline)]
                row = _row(setting, sides[label], sides[baseline], ratios, len(arms[label]), confidence)
                size = group["capacity_size"].iloc[0]
                rows.append({**setting, "capacity_size": size, "run": label, "baseline": baseline, **row})
    columns = [*SETTING, "capacity_size", "run", "baseline", "difference", "low", "high", "standard_error",
               "degrees", "candidate_ratio", "baseline_ratio", "runs", "unit_kind", "units"]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values(["trace", "mode", "capacity_size", "run"], kind="stable", ignore_index=True)


def _row(
    setting: dict[str, Any], candidate: Side | None, baseline: Side | None, ratios: list[float], runs: int,
    confidence: float,
) -> dict[str, Any]:  # fmt: skip
    difference = ratios[0] - ratios[1]
    row: dict[str, Any] = {
        "difference": difference, "low": math.nan, "high": math.nan, "standard_error": math.nan, "degrees": math.nan,
        "candidate_ratio": ratios[0], "baseline_ratio": ratios[1], "runs": runs,
        "unit_kind": candidate.kind if candidate else "none", "units": len(candidate.weights) if candidate else 0,
    }  # fmt: skip
    if candidate is None or baseline is None:
        return row
    parts = pair_of(setting, candidate, baseline).parts
    found, (error, degrees) = interval(difference, parts, confidence), standard_error(parts)
    row.update(low=found.low, high=found.high, standard_error=error, degrees=degrees)
    return row
