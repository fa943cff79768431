"""Paired differences of hit ratios, with confidence intervals from the counts by unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t as student

from lab.errors import LabError, UsageError

#: Which hit ratio: that of requests or that of bytes.
Measure = Literal["object", "byte"]
Vector = npt.NDArray[np.float64]

#: Two cells are compared if they agree in these columns. Only the policy, its parameters and the seed may differ.
SETTING = (
    "trace", "fingerprint", "mode", "capacity", "tiers", "label_control", "prefetch", "prefetch_parameters",
    "prefetch_budget", "prefetch_latency_us", "warmup", "result_version", "users_part",
)  # fmt: skip

#: The number of cosine transforms of a series of time blocks, as Lazarus et al. recommend for 128 blocks.
TRANSFORMS = 10


@dataclass(frozen=True)
class _Arm:
    """The mean of the runs of one policy in one setting, over seeds and permutations."""

    ratios: Vector
    weights: Vector
    hits: Vector
    kind: str


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
    the delete-one jackknife over users, or of the first ten cosine transforms of the time blocks (Lazarus, Lewis,
    Stock and Watson 2018), with the spread over seeds added; the quantile is Student's with Satterthwaite's degrees of
    freedom. ``low`` and ``high`` are NaN without counts by unit. Use ``replay compare`` for a test: it pools traces
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
        arms = {label: _arm(cells, by_cell, measure) for label, cells in group.groupby("run", sort=False)}
        if baseline not in arms:
            continue
        for label in wanted:
            if label in arms:
                row = _difference(arms[label], arms[baseline], confidence, f"'{label}' and '{baseline}' on {key[0]}")
                size = group["capacity_size"].iloc[0]
                rows.append({**setting, "capacity_size": size, "run": label, "baseline": baseline, **row})
    columns = [*SETTING, "capacity_size", "run", "baseline", "difference", "low", "high", "standard_error",
               "degrees", "candidate_ratio", "baseline_ratio", "runs", "unit_kind", "units"]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values(["trace", "mode", "capacity_size", "run"], kind="stable", ignore_index=True)


def _arm(cells: pd.DataFrame, by_cell: dict[str, pd.DataFrame], measure: Measure) -> _Arm:
    ratios = cells[f"{measure}_hit_ratio"].to_numpy(dtype=np.float64)
    parts = [by_cell[name] for name in cells["hash"] if name in by_cell]
    if len(parts) != len(cells):
        return _Arm(ratios, np.zeros(0), np.zeros(0), "none")
    weight, hit = ("requests", "hits") if measure == "object" else ("size", "hit_size")
    weights = [part[weight].to_numpy(dtype=np.float64) for part in parts]
    if any(not np.array_equal(weights[0], other) for other in weights[1:]):
        raise LabError(
            f"the runs of '{cells['run'].iloc[0]}' count different requests by unit; they cannot be paired."
        )
    hits = np.mean([part[hit].to_numpy(dtype=np.float64) for part in parts], axis=0)
    return _Arm(ratios, weights[0], hits, str(parts[0]["kind"].iloc[0]))


def _difference(candidate: _Arm, baseline: _Arm, confidence: float, which: str) -> dict[str, Any]:
    difference = float(candidate.ratios.mean() - baseline.ratios.mean())
    row: dict[str, Any] = {
        "difference": difference, "low": math.nan, "high": math.nan, "standard_error": math.nan, "degrees": math.nan,
        "candidate_ratio": float(candidate.ratios.mean()), "baseline_ratio": float(baseline.ratios.mean()),
        "runs": len(candidate.ratios), "unit_kind": candidate.kind, "units": len(candidate.weights),
    }  # fmt: skip
    if candidate.kind == "none" or baseline.kind == "none":
        return row
    if candidate.kind != baseline.kind or not np.array_equal(candidate.weights, baseline.weights):
        raise LabError(f"{which} count different requests by unit; they cannot be paired.")
    parts = [variance_over_units(candidate.hits - baseline.hits, candidate.weights, candidate.kind)]
    for arm in (candidate, baseline):
        if len(arm.ratios) > 1:
            parts.append((float(arm.ratios.var(ddof=1)) / len(arm.ratios), float(len(arm.ratios) - 1)))
    total = sum(variance for variance, _ in parts)
    error = math.sqrt(total)
    weighted = sum(variance * variance / degrees for variance, degrees in parts)
    degrees = total * total / weighted if weighted > 0 else math.inf
    width = float(student.ppf((1 + confidence) / 2, degrees)) * error if error > 0 else 0.0
    row.update(low=difference - width, high=difference + width, standard_error=error, degrees=degrees)
    return row


def variance_over_units(series: Vector, weights: Vector, kind: str) -> tuple[float, float]:
    """Returns the variance of the ratio of two sums over units, and its degrees of freedom (at least 1).

    ``series`` is the numerator of each unit and ``weights`` its requests (or bytes). For ``users`` this is the
    variance of the delete-one jackknife, for ``time_blocks`` the mean square of the first cosine transforms of the
    residuals.
    """
    count, total = len(weights), float(weights.sum())
    if count < 2 or total <= 0:
        return 0.0, 1.0
    residuals = series - weights * (float(series.sum()) / total)
    if kind == "users":
        rest = total - weights
        if (rest <= 0).any():
            return 0.0, 1.0
        without = (float(series.sum()) - series) / rest
        variance = (count - 1) / count * float(((without - without.mean()) ** 2).sum())
        squares, fourth = float((weights**2).sum()), float((weights**4).sum())
        return variance, max(1.0, squares * squares / fourth - 1)
    orders = np.arange(1, min(TRANSFORMS, count - 1) + 1)
    places = 2 * np.arange(count) + 1
    cosines = np.cos(np.pi * np.outer(orders, places) / (2 * count))
    variance = 2 / len(orders) / (total * total) * float(((cosines @ residuals) ** 2).sum())
    return variance, float(len(orders))
