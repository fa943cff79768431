"""The figures of ``replay compare`` against numpy and scipy, from the counts of the committed results."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.fft import dct
from scipy.stats import t as student

import lab
from conftest import ROOT
from lab.comparison import Interval, Pairing, Sides, compare, pairing
from lab.evidence import fill
from lab.evidence.apps import with_lifetimes
from lab.evidence.formats import device, pairs_once, server

RESULTS = ROOT / "Experiments/results"
PERMUTED = "permuted within=popularity,age,size"

Vector = npt.NDArray[np.float64]
#: A variance and its degrees of freedom.
Variance = tuple[float, float]
NONE: Variance = (0.0, math.inf)

pytestmark = pytest.mark.usefixtures("replay")


class Side:
    """The runs of a side, from the frames."""

    def __init__(self, cells: pd.DataFrame, units: dict[str, pd.DataFrame]) -> None:
        parts = [units[str(name)] for name in cells["hash"]]
        self.kind = str(parts[0]["kind"].iloc[0])
        self.weights = parts[0]["requests"].to_numpy(dtype=np.float64)
        self.hits = np.mean([part["hits"].to_numpy(dtype=np.float64) for part in parts], axis=0)
        self.mean = float(cells["object_hit_ratio"].mean())
        self.permutations = [runs["object_hit_ratio"].to_numpy() for _, runs in cells.groupby("labels")]
        self.is_random = bool(cells["seed"].notna().any())
        self.runs = sorted((str(seed), tuple(part["hits"])) for seed, part in zip(cells["seed"], parts))


def block_length(series: Vector) -> int:
    """The number of blocks over which a series depends on itself (Politis and White 2004, corrected 2009)."""
    count = len(series)
    if count < 8:
        return 1
    least = math.ceil(float(np.cbrt(count)))
    most = max(least, count // 4)
    centred = series - series.mean()
    if not centred.any():
        return least
    quiet = max(5, int(math.sqrt(math.log10(count))))
    last = min(count - 1, math.ceil(math.sqrt(count)) + quiet)
    found = np.correlate(centred, centred, "full")[count - 1 : count + last] / (centred @ centred)
    small = np.abs(found) < 2 * math.sqrt(math.log10(count) / count)
    quiets = [lag for lag in range(1, last - quiet + 2) if small[lag : lag + quiet].all()]
    large = [lag for lag in range(1, last + 1) if not small[lag]]
    window = min(last, 2 * max(1, quiets[0] - 1 if quiets else large[-1] if large else 1))
    lags = np.arange(1, window + 1)
    tapered = 2 * np.minimum(1, 2 * (1 - lags / window)) * found[1 : window + 1]
    spectrum, slope = 1 + tapered.sum(), (tapered * lags).sum()
    if spectrum <= 0:
        return most
    return min(most, max(least, math.ceil(float(np.cbrt(1.5 * count * (slope / spectrum) ** 2)))))


def over_units(series: Vector, weights: Vector, kind: str) -> Variance:
    """The jackknife over users; over blocks of time, the mean square of the first cosine transforms."""
    residuals = series - weights * (series.sum() / weights.sum())
    if kind == "users":
        active, rest = int((weights > 0).sum()), weights.sum() - weights
        terms = residuals[rest > 0] / rest[rest > 0]
        degrees = (weights**2).sum() ** 2 / (weights**4).sum() - 1
        return float((terms**2).sum()) * (active - 1) / active, max(1.0, float(degrees))
    count = len(weights)
    length = block_length(np.divide(series, weights, out=np.zeros(count), where=weights > 0))
    transforms = min(count - 1, max(4, min(10, count // max(1, length))))
    waves = dct(residuals, type=2)[1 : transforms + 1] / 2
    return 2 * float((waves**2).mean()) / weights.sum() ** 2, float(transforms)


def over_runs(a: Side, b: Side) -> tuple[Variance, Variance, Variance]:
    """The variance of the mean of each side and of their difference that is due to seeds and permutations."""
    if a.runs == b.runs:
        return NONE, NONE, NONE
    arms = [*a.permutations, *b.permutations]
    degrees = sum(len(runs) - 1 for runs in arms)
    pooled = sum(((runs - runs.mean()) ** 2).sum() for runs in arms) / degrees if degrees else 0.0

    def of(side: Side) -> tuple[Variance, bool]:
        if len(side.permutations) > 1:
            means = [runs.mean() for runs in side.permutations]
            return (float(np.var(means, ddof=1)) / len(means), len(means) - 1.0), False
        seeds = pooled / len(side.permutations[0]) if side.is_random else 0.0
        return (float(seeds), float(degrees or math.inf)), True

    (left, one), (right, other) = of(a), of(b)
    if one and other:
        return left, right, (left[0] + right[0], float(degrees or math.inf))
    return left, right, total([left, right])


def total(parts: Sequence[Variance]) -> Variance:
    """A sum of independent variances, with Satterthwaite's degrees of freedom."""
    whole, weighted = sum(v for v, _ in parts), sum(v * v / d for v, d in parts)
    return whole, whole * whole / weighted if weighted > 0 else math.inf


def interval(difference: float, parts: Sequence[Variance], level: float = 0.95) -> list[float]:
    variance, degrees = total(parts)
    if variance <= 1e-24:
        return [difference] * 3
    return [difference, *(float(x) for x in student.interval(level, degrees, difference, math.sqrt(variance)))]


class Expected:
    """The comparison of a pairing, by these functions."""

    def __init__(self, pairs: Pairing, results: pd.DataFrame, units: pd.DataFrame) -> None:
        cells = results.set_index("hash", drop=False)
        by_cell = {str(name): group for name, group in units.groupby("hash", sort=False)}

        def both(sides: Sides) -> tuple[Side, Side]:
            return Side(cells.loc[list(sides.a)], by_cell), Side(cells.loc[list(sides.b)], by_cell)

        self.names = pairs.sides
        self.sides = [both(sides) for sides in pairs.sides]
        self.noise = [over_runs(a, b) for a, b in self.sides]
        self.differences = [a.mean - b.mean for a, b in self.sides]
        self.parts = [
            [over_units(a.hits - b.hits, a.weights, a.kind), noise[2]] for (a, b), noise in zip(self.sides, self.noise)
        ]

    def p_values(self) -> list[float]:
        found = []
        for difference, parts in zip(self.differences, self.parts):
            variance, degrees = total(parts)
            error = math.sqrt(variance)
            is_equal = abs(difference) <= 1e-12
            found.append(2 * float(student.sf(abs(difference) / error, degrees)) if error > 1e-12 else float(is_equal))
        return found

    def trace(self, name: str) -> tuple[float, list[Variance]]:
        """The mean over the cells that count as a trace. Those with the same units are added by unit before the variance."""
        chosen = [place for place, sides in enumerate(self.names) if sides.counts_as == name]
        groups: dict[Any, list[int]] = {}
        for place in chosen:
            groups.setdefault((self.sides[place][0].kind, self.sides[place][0].weights.tobytes()), []).append(place)
        found = []
        for places in groups.values():
            first = self.sides[places[0]][0]
            series = np.sum([self.sides[place][0].hits - self.sides[place][1].hits for place in places], axis=0)
            found.append(over_units(series, first.weights, first.kind))
        deviation = sum(math.sqrt(variance) for variance, _ in found) / len(chosen)
        arms: dict[tuple[int, str], tuple[int, float]] = {}
        for place in chosen:
            for side, names in enumerate((self.names[place].a, self.names[place].b)):
                count, largest = arms.get((side, str(sorted(names))), (0, 0.0))
                arms[side, str(sorted(names))] = count + 1, max(largest, self.noise[place][side][0])
        runs = sum((count / len(chosen)) ** 2 * variance for count, variance in arms.values())
        _, degrees = total([self.noise[place][2] for place in chosen])
        mean = float(np.mean([self.differences[place] for place in chosen]))
        return mean, [(deviation**2, min(degrees for _, degrees in found)), (runs, max(1.0, degrees))]


def adjusted(values: Sequence[float]) -> list[float]:
    """Holm's p-values: the largest, up to each rank, of the values by the number of those not yet rejected."""
    order = np.argsort(values, kind="stable")
    steps = np.maximum.accumulate(np.minimum(1, np.arange(len(values), 0, -1) * np.array(values)[order]))
    return [float(steps[list(order).index(place)]) for place in range(len(values))]


def bounds(found: Interval) -> list[float]:
    return [found.difference, found.low, found.high]


@lru_cache
def frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return lab.load(folder), lab.units(folder)


def agree(folder: str, pairs: Pairing) -> None:
    """Compares everything that the command says of a pairing with numpy and scipy."""
    expected = Expected(pairs, *frames(RESULTS / folder))
    names = list(dict.fromkeys(each.counts_as for each in pairs.sides))
    parts = [Pairing([each for each in pairs.sides if each.counts_as == name]) for name in names]
    found, *traces = compare([pairs, *parts])
    assert found.count == len(names)
    assert len(found.pairs) == len(pairs.sides) > 0
    for pair, difference, variances in zip(found.pairs, expected.differences, expected.parts):
        assert bounds(pair.interval) == pytest.approx(interval(difference, variances), abs=1e-10)
        family = interval(difference, variances, 1 - 0.05 / len(found.pairs))
        assert bounds(pair.family) == pytest.approx(family, abs=1e-10)
    assert [pair.adjusted for pair in found.pairs] == pytest.approx(adjusted(expected.p_values()), abs=1e-9)
    pools = [expected.trace(name) for name in names]
    for trace, (mean, within) in zip(traces, pools, strict=True):
        assert bounds(trace.these) == pytest.approx(interval(mean, within), abs=1e-10)
    means = np.array([mean for mean, _ in pools])
    within = [(variance / len(pools) ** 2, degrees) for _, each in pools for variance, degrees in each]
    assert bounds(found.these) == pytest.approx(interval(float(means.mean()), within), abs=1e-10)
    spread = (float(means.var(ddof=1)) / len(pools), len(pools) - 1.0)
    assert bounds(found.sample) == pytest.approx(interval(float(means.mean()), [spread]), abs=1e-10)


def policies(rival: str) -> Pairing:
    results, _ = frames(RESULTS / "policies")
    return pairing(results[results["run"] == "learned"], results[results["run"] == rival])


def knowledge(cells: pd.DataFrame) -> list[pd.DataFrame]:
    return [server(cells), device(cells)]


def labels(control: str, knowledge: Callable[[pd.DataFrame], list[pd.DataFrame]] = knowledge) -> Pairing:
    results, _ = frames(RESULTS / "hypothesis")
    learned = results[results["label"] == "learned"]
    sides: list[Sides] = []
    for cells in knowledge(learned):
        arms = [cells[cells["label_control"] == name] for name in ("given", control)]
        if all(len(arm) for arm in arms):
            sides += pairing(arms[0], arms[1], compared=["label_control"]).sides
    return Pairing(sides)


def tiers() -> Pairing:
    results, _ = frames(RESULTS / "kingfisher")
    kingfisher, learned = (results[results["label"] == label] for label in ("kingfisher", "learned"))
    arms = [with_lifetimes(learned, has) for has in (False, True)]
    return Pairing([sides for arm in arms if len(arm) for sides in pairing(arm, kingfisher, compared=["tiers"]).sides])


@pytest.mark.parametrize("rival", ["s3-fifo", "lru", "cacheus"])
def test_policies_compare_as_with_scipy(rival: str) -> None:
    agree("policies", policies(rival))


@pytest.mark.parametrize("rival", ["s3-fifo", "lru"])
def test_both_forms_of_a_trace_compare_as_one_with_scipy(rival: str) -> None:
    pairs = pairs_once(policies(rival))
    assert len({each.trace for each in pairs.sides}) == 20 and len({each.counts_as for each in pairs.sides}) == 17
    agree("policies", pairs)


@pytest.mark.parametrize("control", ["without", PERMUTED])
def test_labels_compare_as_with_scipy(control: str) -> None:
    agree("hypothesis", labels(control))


def test_tiers_compare_as_with_scipy() -> None:
    agree("kingfisher", tiers())


def test_units_of_both_kinds_are_compared() -> None:
    kinds = {str(kind) for folder in ("policies", "hypothesis") for kind in frames(RESULTS / folder)[1]["kind"]}
    assert kinds == {"users", "time_blocks"}


@pytest.mark.parametrize(
    ("folder", "pairs", "sides"),
    [
        ("policies", lambda: policies("lru"), ("learned", "lru")),
        ("hypothesis", lambda: labels(PERMUTED), ("labels=given", f"labels={PERMUTED}")),
        ("kingfisher", tiers, ("learned", "kingfisher")),
    ],
)
def test_pairs_of_frames_are_those_that_the_command_selects(replay: str, folder: str, pairs: Any, sides: tuple[str, str]) -> None:
    command = [replay, "compare", *sides, "--results", str(RESULTS / folder), "--format", "json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    made = pairs()
    (found,) = compare([made])
    selected = {(frozenset(cell["a"]["cells"]), frozenset(cell["b"]["cells"])): cell for cell in document["cells"]}
    assert {(frozenset(each.a), frozenset(each.b)) for each in made.sides} == set(selected)
    for each, pair in zip(made.sides, found.pairs):
        cell = selected[frozenset(each.a), frozenset(each.b)]
        assert bounds(pair.interval) == [cell["difference"], cell["interval"]["low"], cell["interval"]["high"]]
        assert pair.adjusted == cell["adjusted_p_value"]
    these = document["pooled"]["interval_of_these_traces"]
    assert bounds(found.these) == pytest.approx([document["pooled"]["difference"], these["low"], these["high"]], abs=1e-15)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[+-]?\d+\.\d+", text.replace("−", "-"))]


def test_the_table_of_categories_has_the_means_of_its_pairs() -> None:
    table = fill("<!-- table: categories -->\n<!-- end of table -->\n", RESULTS)
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")][2:]
    for control, column in ((PERMUTED, 2), ("without", 4)):
        pairs = labels(control, lambda cells: [server(cells)])
        (whole,) = compare([pairs])
        for row in rows:
            place = {"trace": row[0], "mode": row[1].replace(" ", "_")}
            (part,) = compare([pairs.of(**place)])
            assert numbers(row[column]) == pytest.approx([100 * value for value in bounds(part.these)], abs=0.0051)
            significant = sum(pair.adjusted < 0.05 for pair in whole.of(**place))
            assert row[column + 1] == f"{significant} of {len(part.pairs)}"


def test_sides_that_cannot_be_compared_are_one_sentence() -> None:
    results, _ = frames(RESULTS / "kingfisher")
    learned = results[results["label"] == "learned"]
    with pytest.raises(lab.UsageError, match="no pair has the trace 'none'"):
        tiers().of(trace="none")
    with pytest.raises(lab.UsageError, match="no cell of the first side has a partner"):
        pairing(learned, results[results["label"] == "lru"])
    several = pairing(learned, results, compared=["tiers"])
    with pytest.raises(lab.ReplayError, match="are on one side, and differ in more than seed and permutation"):
        compare([several])
