"""Two sides of stored cells compared as ``replay compare`` does: by cell, by trace and over traces.

The statistics are those of ``Sources/HalcyonExperiments/Comparison``. A test compares both on the committed results.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t as student

from lab.errors import LabError, UsageError
from lab.variance import TINY, Interval, Variance, Vector, holm, interval, standard_error, variance_of


#: Which hit ratio: that of requests or that of bytes.
Measure = Literal["object", "byte"]

#: Two cells are compared if they agree in these columns. Only the policy, its parameters and the seed may differ.
SETTING = (
    "trace", "fingerprint", "mode", "capacity", "tiers", "label_control", "prefetch", "prefetch_parameters",
    "prefetch_budget", "prefetch_latency_us", "warmup", "result_version", "users_part",
)  # fmt: skip


@dataclass(frozen=True)
class Side:
    """The runs of one side of a pair: cells that differ only in their seed or in the number of a permutation."""

    name: str
    permutations: Sequence[Sequence[float]]
    is_random: bool
    weights: Vector
    hits: Vector
    kind: str
    runs: Sequence[tuple[Any, tuple[float, ...]]]

    @property
    def mean(self) -> float:
        ratios = [ratio for permutation in self.permutations for ratio in permutation]
        return sum(ratios) / len(ratios)


@dataclass(frozen=True)
class Pair:
    """Two sides that count the same requests, with the noise of their runs."""

    trace: str
    mode: str
    capacity: str
    a: Side
    b: Side
    noise: tuple[Variance, Variance]
    joint: Variance

    @property
    def difference(self) -> float:
        return self.a.mean - self.b.mean

    @property
    def series(self) -> Vector:
        return self.a.hits - self.b.hits

    @property
    def parts(self) -> list[Variance]:
        """The variances of the difference: that over units and that of the runs."""
        return [variance_of(self.series, self.a.weights, self.a.kind), self.joint]

    @property
    def interval(self) -> Interval:
        return interval(self.difference, self.parts)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of this cell alone."""
        error, degrees = standard_error(self.parts)
        if error <= TINY:
            return 1.0 if abs(self.difference) <= TINY else 0.0
        return min(1.0, 2 * float(student.cdf(-abs(self.difference) / error, degrees)))


@dataclass(frozen=True)
class Comparison:
    """The pairs of two sides, in the order of their traces, modes and capacities."""

    pairs: Sequence[Pair]

    def of(self, **fields: str) -> Comparison:
        """Returns the pairs of a trace, a mode or both."""
        return Comparison([p for p in self.pairs if all(getattr(p, name) == value for name, value in fields.items())])

    @property
    def traces(self) -> list[str]:
        return list(dict.fromkeys(pair.trace for pair in self.pairs))

    @property
    def adjusted(self) -> list[float]:
        """The p-values of the pairs, adjusted for all of them (Holm 1979)."""
        return holm([pair.p_value for pair in self.pairs])

    def over_cells(self) -> Interval:
        """Returns the mean over the pairs of one trace."""
        return interval(*_pool(self.pairs))

    def over_traces(self) -> tuple[Interval, Interval]:
        """Returns the mean over traces with the interval for these traces, and with that for a sample of traces."""
        pools = [_pool(self.of(trace=trace).pairs) for trace in self.traces]
        count = len(pools)
        means = np.array([mean for mean, _ in pools])
        within = [(variance / count**2, degrees) for _, parts in pools for variance, degrees in parts]
        over = [(float(means.var(ddof=1)) / count, float(count - 1))] if count > 1 else [(math.inf, 1.0)]
        mean = float(means.mean())
        return interval(mean, within), interval(mean, over)


def compare(a: pd.DataFrame, b: pd.DataFrame, units: pd.DataFrame, *, compared: Collection[str] = ()) -> Comparison:
    """Returns the pairs of the cells of two frames of ``lab.load`` that agree in everything but what is compared.

    ``units`` is the frame of ``lab.units`` over the same folders. Cells are paired if they agree in the columns of
    ``SETTING`` without those of ``compared``; seeds and permutations are averaged. O(cells × units).

    Raises ``UsageError`` if no cell has a partner, and ``LabError`` if two cells of a pair count different requests.
    """
    columns = [name for name in SETTING if name not in compared]
    by_cell = {str(name): group for name, group in units.groupby("hash", sort=False)}
    first, second = _sides(a, columns, by_cell), _sides(b, columns, by_cell)
    pairs = [pair_of(*first[key], second[key][1]) for key in first if key in second]
    if not pairs:
        raise UsageError("no cell of the first side has a partner that agrees in everything else.")
    return Comparison(pairs)


def _sides(
    cells: pd.DataFrame, columns: list[str], by_cell: Mapping[str, pd.DataFrame]
) -> dict[Hashable, tuple[dict[str, Any], Side]]:
    sides: dict[Hashable, tuple[dict[str, Any], Side]] = {}
    for key, group in cells.groupby(columns, dropna=False, sort=False):
        if group["run"].nunique() > 1:
            raise UsageError(f"a side has several runs in one setting: {', '.join(sorted(set(group['run'])))}.")
        side = side_of(group, by_cell)
        if side is None:
            raise LabError(f"a cell of '{group['run'].iloc[0]}' has no counts by unit.")
        # As text, because a missing value is not equal to itself.
        sides[tuple(str(part) for part in key)] = dict(zip(columns, key)), side
    return sides


def side_of(cells: pd.DataFrame, by_cell: Mapping[str, pd.DataFrame], measure: Measure = "object") -> Side | None:
    """Returns the side of cells that differ only in seed and permutation; ``None`` if a cell has no counts by unit.

    Raises ``LabError`` if the cells count different requests.
    """
    parts = [by_cell[name] for name in cells["hash"] if name in by_cell]
    if len(parts) != len(cells):
        return None
    weight, hit = ("requests", "hits") if measure == "object" else ("size", "hit_size")
    weights = [part[weight].to_numpy(dtype=np.float64) for part in parts]
    hits = [part[hit].to_numpy(dtype=np.float64) for part in parts]
    if any(not np.array_equal(weights[0], other) for other in weights[1:]):
        raise LabError(f"the runs of '{cells['run'].iloc[0]}' count different requests by unit.")
    seeds = [None if pd.isna(seed) else int(seed) for seed in cells["seed"]]
    return Side(
        name=" ".join(sorted(str(name) for name in cells["hash"])),
        permutations=[list(runs[f"{measure}_hit_ratio"]) for _, runs in cells.groupby("labels", sort=True)],
        is_random=any(seed is not None for seed in seeds),
        weights=weights[0],
        hits=np.mean(hits, axis=0),
        kind=str(parts[0]["kind"].iloc[0]),
        runs=sorted(((seed, tuple(run)) for seed, run in zip(seeds, hits)), key=lambda run: str(run[0])),
    )


def pair_of(setting: Mapping[str, Any], a: Side, b: Side) -> Pair:
    """Returns the pair of two sides of one setting. Raises ``LabError`` if they count different requests."""
    if a.kind != b.kind or not np.array_equal(a.weights, b.weights):
        raise LabError(f"two sides of {setting['trace']} count different requests by unit; they cannot be paired.")
    noise, joint = _noise(a, b)
    return Pair(str(setting["trace"]), str(setting["mode"]), str(setting["capacity"]), a, b, noise, joint)


def _noise(a: Side, b: Side) -> tuple[tuple[Variance, Variance], Variance]:
    """The variance of each side's mean by chance alone, and that of their difference.

    A mean over n permutations of labels has 1/n of the variance over permutations. A mean over n seeds has 1/n of that
    over seeds, which is pooled over both sides. Runs that are equal on both sides, seed by seed, have none.
    """
    none = (0.0, math.inf)
    if a.runs == b.runs:
        return (none, none), none
    arms = [np.array(runs) for side in (a, b) for runs in side.permutations]
    degrees = sum(len(runs) - 1 for runs in arms)
    seeds = sum(float(((runs - runs.mean()) ** 2).sum()) for runs in arms) / degrees if degrees > 0 else None

    def of(side: Side) -> tuple[Variance, bool]:
        if len(side.permutations) > 1:
            means = np.array([sum(runs) / len(runs) for runs in side.permutations])
            return (float(means.var(ddof=1)) / len(means), float(len(means) - 1)), False
        if not side.is_random or seeds is None:
            return none, True
        return (seeds / len(side.permutations[0]), float(degrees)), True

    (left, left_of_seeds), (right, right_of_seeds) = of(a), of(b)
    total = left[0] + right[0]
    if left_of_seeds and right_of_seeds:
        return (left, right), (total, float(degrees) if seeds is not None else math.inf)
    weighted = left[0] ** 2 / left[1] + right[0] ** 2 / right[1]
    return (left, right), (total, total * total / weighted if weighted > 0 else math.inf)


def _pool(pairs: Sequence[Pair]) -> tuple[float, list[Variance]]:
    """The mean difference over the cells of one trace, with its variances over units and of the runs.

    Cells that count the same units are added by unit first, because the same users cause the differences at every
    capacity. Standard errors of cells with other units are added as if perfectly correlated.
    """
    count = len(pairs)
    series: dict[Hashable, tuple[Vector, Pair]] = {}
    for pair in pairs:
        unit = (pair.a.kind, pair.a.weights.tobytes())
        so_far = series[unit][0] if unit in series else np.zeros(len(pair.a.weights))
        series[unit] = so_far + pair.series, pair
    found = [variance_of(values, pair.a.weights, pair.a.kind) for values, pair in series.values()]
    deviation = sum(math.sqrt(variance) for variance, _ in found) / count
    arms: dict[str, tuple[float, float]] = {}
    for pair in pairs:
        for sign, side, (variance, _) in ((1, pair.a, pair.noise[0]), (-1, pair.b, pair.noise[1])):
            key = f"{sign} {side.name}"
            weight, largest = arms.get(key, (0.0, 0.0))
            arms[key] = weight + sign / count, max(largest, variance)
    noise = sum(weight * weight * variance for weight, variance in arms.values())
    _, degrees = standard_error([pair.joint for pair in pairs])
    mean = sum(pair.difference for pair in pairs) / count
    return mean, [(deviation**2, max(1.0, min(degrees for _, degrees in found))), (noise, max(1.0, degrees))]
