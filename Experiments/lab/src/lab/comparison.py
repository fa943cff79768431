"""Comparisons of stored cells, computed by ``replay compare``.

Which cells are compared is chosen here, with frames of ``lab.load``; every statistic is the command's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from lab.command import find_replay, last_sentence, run_replay
from lab.errors import ReplayError, UsageError
from lab.frames import ordered_capacities

#: Which hit ratio: that of requests or that of bytes.
Measure = Literal["object", "byte"]

#: Two cells are compared if they agree in these columns. Only the policy, its parameters and the seed may differ.
SETTING = (
    "trace", "fingerprint", "mode", "capacity", "tiers", "label_control", "prefetch", "prefetch_parameters",
    "prefetch_budget", "prefetch_latency_us", "announce", "pretrain", "restart", "warmup", "result_version", "users_part",
)  # fmt: skip

_REQUEST, _ANSWER = "halcyon.comparison-request/1", "halcyon.comparisons/1"


@dataclass(frozen=True)
class Sides:
    """Two sides of one setting, by the names of their cells: those of a side differ only in seed and permutation."""

    trace: str
    mode: str
    capacity: str
    a: Sequence[str]
    b: Sequence[str]
    #: The results folders that hold the cells.
    folders: Collection[str]
    #: The trace that the pair counts as in means over traces.
    counts_as: str


@dataclass(frozen=True)
class Pairing:
    """The pairs of two sides in the order of their cells, before anything is computed."""

    sides: Sequence[Sides]

    def of(self, **fields: str) -> Pairing:
        """Returns the pairs of a trace, a mode, a capacity, or several of these. Raises ``UsageError`` if there is none."""
        sides = [each for each in self.sides if _has(each, fields)]
        if not sides:
            wanted = " and ".join(f"the {name} '{value}'" for name, value in fields.items())
            raise UsageError(f"no pair has {wanted}.")
        return Pairing(sides)

    def counted_as(self, traces: Mapping[str, str]) -> Pairing:
        """Returns the pairs, those of each trace in ``traces`` counted as the trace that it names.

        Pairs that count as one trace have one mean, that over all of them, with an interval that adds their
        differences by unit. Raises ``UsageError`` if two traces that count as one have a different number of pairs: the mean would
        not be that of both.
        """
        sides = [replace(each, counts_as=traces.get(each.trace, each.counts_as)) for each in self.sides]
        numbers: dict[str, dict[str, int]] = {}
        for each in sides:
            of_trace = numbers.setdefault(each.counts_as, {})
            of_trace[each.trace] = of_trace.get(each.trace, 0) + 1
        for name, of_trace in numbers.items():
            if len(set(of_trace.values())) > 1:
                counted = ", ".join(f"{trace} has {number}" for trace, number in of_trace.items())
                raise UsageError(f"the pairs that count as '{name}' are not of equal number: {counted}.")
        return Pairing(sides)


@dataclass(frozen=True)
class Interval:
    """A difference of hit ratios and its interval. The bounds are NaN with fewer than two units."""

    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Pair:
    """Two sides that count the same requests, as the command compares them."""

    trace: str
    mode: str
    capacity: str
    #: The mean hit ratios.
    a: float
    b: float
    #: The difference with the interval of this pair alone.
    interval: Interval
    #: The difference with the interval for all pairs together (Bonferroni).
    family: Interval
    #: The p-value for all pairs together (Holm); NaN with fewer than two units.
    adjusted: float

    @property
    def difference(self) -> float:
        return self.interval.difference


@dataclass(frozen=True)
class Comparison:
    """The compared pairs, in the order of their pairing, and their means."""

    pairs: Sequence[Pair]
    #: The mean over traces with the interval for these traces.
    these: Interval
    #: The mean over traces with the interval for traces of which these are a sample; unbounded for one trace.
    sample: Interval
    #: The number of traces in the mean.
    count: int

    def of(self, **fields: str) -> list[Pair]:
        """Returns the pairs of a trace, a mode, a capacity, or several of these."""
        return [pair for pair in self.pairs if _has(pair, fields)]

    @property
    def traces(self) -> list[str]:
        return list(dict.fromkeys(pair.trace for pair in self.pairs))


@dataclass(frozen=True)
class Arms:
    """The runs of a frame of ``lab.load`` to compare with a baseline, both values of the column ``run``."""

    results: pd.DataFrame
    baseline: str
    #: By default every other run.
    candidates: Sequence[str] | None = None
    measure: Measure = "object"


def pairing(a: pd.DataFrame, b: pd.DataFrame, *, compared: Collection[str] = ()) -> Pairing:
    """Returns the pairs of the cells of two frames of ``lab.load`` that agree in everything but what is compared.

    Cells are paired if they agree in the columns of ``SETTING`` without those of ``compared``; seeds and permutations
    are averaged. Raises ``UsageError`` if no cell has a partner.
    """
    columns = [name for name in SETTING if name not in compared]
    first, second = _by_setting(a, columns), _by_setting(b, columns)
    sides = [_sides(first[key], second[key]) for key in first if key in second]
    if not sides:
        raise UsageError("no cell of the first side has a partner that agrees in everything else.")
    return Pairing(sides)


def compare(pairings: Iterable[Pairing]) -> list[Comparison]:
    """Returns the comparison of each pairing, by one call of ``replay compare``. O(cells × units).

    Raises ``ReplayError`` with the command's sentence if a side has cells that differ in more than seed and
    permutation, or if two sides count different requests.
    """
    made = list(pairings)
    found = _answers([(each.sides, "object", 0.95) for each in made])
    return [_comparison(each.sides, answer) for each, answer in zip(made, found, strict=True)]


def differences(
    results: pd.DataFrame,
    baseline: str,
    *,
    candidates: Sequence[str] | None = None,
    measure: Measure = "object",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Returns the differences of hit ratios between policies and a baseline, one row per setting and candidate.

    ``results`` is a frame of ``lab.load``, filtered as needed. ``baseline`` and ``candidates`` are values of the column
    ``run``, such as ``lru``, ``s3-fifo(small=0.2)`` or ``learned, device knowledge``; by default every other run is a
    candidate. Cells are paired if they agree in the columns of ``SETTING``; seeds and permutations are averaged.

    ``difference`` is candidate minus baseline, in hit ratio (0.01 is one point); ``low`` and ``high`` bound the
    two-sided interval for this difference alone, without correction for several cells; they are NaN with fewer than two
    units. All figures are those of ``replay compare``, which tests, pools traces and corrects for their number.

    Raises ``UsageError`` if the baseline or a candidate has no cell, and ``ReplayError`` if two cells of one setting
    count different requests.
    """
    return all_differences([Arms(results, baseline, candidates, measure)], confidence=confidence)[0]


def all_differences(arms: Sequence[Arms], *, confidence: float = 0.95) -> list[pd.DataFrame]:
    """Returns the frame of ``differences`` for each of several arms, by one call of ``replay compare``."""
    if not 0 < confidence < 1:
        raise UsageError(f"the confidence is {confidence}; a value between 0 and 1 is expected.")
    settings = [_settings(each) for each in arms]
    asked = [([sides for _, sides in rows], each.measure, confidence) for rows, each in zip(settings, arms)]
    answers = iter(_answers([one for one in asked if one[0]]))
    frames = []
    columns = [*SETTING, "capacity_size", "run", "baseline", "difference", "low", "high", "standard_error",
               "degrees", "candidate_ratio", "baseline_ratio", "runs", "unit_kind", "units"]  # fmt: skip
    for rows in settings:
        cells = next(answers)["cells"] if rows else []
        made = pd.DataFrame([{**setting, **_row(cell)} for (setting, _), cell in zip(rows, cells, strict=True)], columns=columns)
        made["capacity"] = ordered_capacities(made["capacity"])
        order = ["trace", "mode", "capacity_size", "run"]
        frames.append(made.sort_values(order, kind="stable", ignore_index=True))
    return frames


def _settings(arms: Arms) -> list[tuple[dict[str, Any], Sides]]:
    """Returns each setting with a candidate and the baseline, and its sides."""
    labels = list(dict.fromkeys(arms.results["run"]))
    wanted = [label for label in labels if label != arms.baseline] if arms.candidates is None else arms.candidates
    for label in (arms.baseline, *wanted):
        if label not in labels:
            raise UsageError(f"no cell has the run '{label}'; runs in these results: {', '.join(labels) or 'none'}.")
    if arms.measure not in ("object", "byte"):
        raise UsageError(f"the measure is '{arms.measure}'; 'object' or 'byte' is expected.")
    rows = []
    for key, group in arms.results.groupby(list(SETTING), dropna=False, sort=False, observed=True):
        runs = {str(label): cells for label, cells in group.groupby("run", sort=False)}
        for label in wanted if arms.baseline in runs else ():
            if label in runs:
                names = {"capacity_size": group["capacity_size"].iloc[0], "run": label, "baseline": arms.baseline}
                rows.append(({**dict(zip(SETTING, key)), **names}, _sides(runs[label], runs[arms.baseline])))
    return rows


def _row(cell: Mapping[str, Any]) -> dict[str, Any]:
    found = _interval(cell)
    degrees = math.nan if math.isnan(found.low) else cell.get("degrees", math.inf)
    return {
        "difference": found.difference, "low": found.low, "high": found.high,
        "standard_error": cell.get("standard_error", math.nan), "degrees": degrees,
        "candidate_ratio": cell["a"]["hit_ratio"], "baseline_ratio": cell["b"]["hit_ratio"],
        "runs": len(cell["a"]["cells"]), "unit_kind": cell["units"]["kind"], "units": cell["units"]["count"],
    }  # fmt: skip


def _by_setting(cells: pd.DataFrame, columns: list[str]) -> dict[Hashable, pd.DataFrame]:
    # As text, because a missing value is not equal to itself.
    groups = cells.groupby(columns, dropna=False, sort=False, observed=True)
    return {tuple(str(part) for part in key): group for key, group in groups}


def _sides(a: pd.DataFrame, b: pd.DataFrame) -> Sides:
    names = [str(a[column].iloc[0]) for column in ("trace", "mode", "capacity")]
    folders = dict.fromkeys(str(folder) for folder in [*a["folder"], *b["folder"]])
    hashes = [[str(name) for name in side["hash"]] for side in (a, b)]
    return Sides(names[0], names[1], names[2], hashes[0], hashes[1], folders, counts_as=names[0])


def _answers(asked: Sequence[tuple[Sequence[Sides], Measure, float]]) -> list[Mapping[str, Any]]:
    """Returns the command's comparison of each list of sides."""
    if not asked:
        return []
    request = {
        "schema": _REQUEST,
        "folders": list(dict.fromkeys(folder for sides, _, _ in asked for each in sides for folder in each.folders)),
        "comparisons": [
            {"measure": measure, "confidence": confidence, "pairs": [_named(each) for each in sides]}
            for sides, measure, confidence in asked
        ],
    }
    done = run_replay(find_replay(), ["compare", "--pairs", "-", "--format", "json"], text=json.dumps(request))
    if done.returncode != 0:
        raise ReplayError(last_sentence(done.stderr) or f"`replay compare` exited with {done.returncode}.")
    document = json.loads(done.stdout)
    if document["schema"] != _ANSWER:
        raise ReplayError(f"`replay compare` wrote '{document['schema']}'; this version reads '{_ANSWER}'.")
    comparisons: list[Mapping[str, Any]] = document["comparisons"]
    return comparisons


def _named(each: Sides) -> Mapping[str, Any]:
    """Returns a pair of the request; only one that counts as another trace names it."""
    pair: dict[str, Any] = {"a": each.a, "b": each.b}
    return pair if each.counts_as == each.trace else {**pair, "trace": each.counts_as}


def _comparison(sides: Sequence[Sides], answer: Mapping[str, Any]) -> Comparison:
    pairs = [
        Pair(
            each.trace, each.mode, each.capacity, cell["a"]["hit_ratio"], cell["b"]["hit_ratio"], _interval(cell),
            _interval(cell, "family_interval"), cell.get("adjusted_p_value", math.nan),
        )
        for each, cell in zip(sides, answer["cells"], strict=True)
    ]  # fmt: skip
    pooled = answer["pooled"]
    if pooled["traces"] > len({each.counts_as for each in sides}):
        raise ReplayError("`replay compare` counts two forms of a trace as two traces: build the command again.")
    sample = _interval(pooled, "interval_over_traces")
    if pooled["traces"] == 1:
        sample = Interval(sample.difference, -math.inf, math.inf)
    return Comparison(pairs, _interval(pooled, "interval_of_these_traces"), sample, pooled["traces"])


def _interval(document: Mapping[str, Any], name: str = "interval") -> Interval:
    bounds = document.get(name) or {"low": math.nan, "high": math.nan}
    return Interval(document["difference"], bounds["low"], bounds["high"])


def _has(each: Sides | Pair, fields: Mapping[str, str]) -> bool:
    return all(getattr(each, name) == value for name, value in fields.items())
