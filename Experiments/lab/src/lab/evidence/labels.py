"""Tables of the suite hypothesis: what the labels of a trace add."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lab.comparison import Comparison, Pair, compare
from lab.evidence.formats import points, stored, stored_units
from lab.tables import markdown
from lab.variance import interval

#: The controls of the hypothesis: permuted labels first, because the difference to these is the headline.
CONTROLS = ("permuted within=popularity,age,size", "without")

#: The rows of ``costs``.
WORST = 8


def gains_of_labels(folder: Path) -> list[Comparison]:
    """The learner with the labels of the trace compared with the learner under each control."""
    results, by_unit = stored(folder), stored_units(folder)
    learned = results[results["label"] == "learned"]
    arms = {name: learned[learned["label_control"] == name] for name in ("given", *CONTROLS)}
    return [compare(arms["given"], arms[name], by_unit, compared=["label_control"]) for name in CONTROLS]


def gains(folder: Path) -> str:
    """The gain of the labels over permuted labels and over one category for all objects, by row."""
    permuted, without = gains_of_labels(folder)
    rows = []
    for pair, p_value in zip(permuted.pairs, permuted.adjusted):
        (other,) = without.of(trace=pair.trace, mode=pair.mode, capacity=pair.capacity).pairs
        probability = "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"
        row = [pair.trace, pair.mode.replace("_", " "), pair.capacity, points(pair.interval), probability]
        rows.append([*row, points(other.interval)])
    header = ["trace", "caches", "capacity", "over permuted labels, points", "p (Holm)", "over one category, points"]
    return markdown(header, rows)


def categories(folder: Path) -> str:
    """The mean gain of the labels over the capacities of each trace and mode, and the rows that are significant."""
    comparisons = gains_of_labels(folder)
    rows = []
    for trace in comparisons[0].traces:
        for mode in dict.fromkeys(pair.mode for pair in comparisons[0].of(trace=trace).pairs):
            row = [trace, mode.replace("_", " ")]
            for found in comparisons:
                chosen = found.of(trace=trace, mode=mode)
                adjusted = zip(found.pairs, found.adjusted)
                significant = [pair for pair, p in adjusted if p < 0.05 and (pair.trace, pair.mode) == (trace, mode)]
                row += [points(chosen.over_cells()), f"{_balance(significant)} of {len(chosen.pairs)}"]
            rows.append(row)
    header = ["trace", "caches"]
    for name in ("permuted labels", "one category"):
        header += [f"over {name}, points", "significant"]
    return markdown(header, rows)


def costs(folder: Path) -> str:
    """The cells in which labels cost the most hits against the better of the two controls.

    The intervals hold for all cells and both controls together (Bonferroni).
    """
    comparisons = gains_of_labels(folder)
    level = 1 - 0.05 / sum(len(found.pairs) for found in comparisons)
    named = list(zip(comparisons, ("permuted labels", "one category")))
    cells = []
    for pair in comparisons[0].pairs:
        place = {"trace": pair.trace, "mode": pair.mode, "capacity": pair.capacity}
        arms = [(arm, name) for found, name in named for arm in found.of(**place).pairs]
        cells.append(min(arms, key=lambda arm: arm[0].difference))
    cells.sort(key=lambda cell: (cell[0].difference, cell[0].trace))
    rows = []
    for pair, name in cells[:WORST]:
        found = points(interval(pair.difference, pair.parts, level))
        rows.append([pair.trace, pair.mode.replace("_", " "), pair.capacity, name, found])
    return markdown(["trace", "caches", "capacity", "better control", "gain, points"], rows)


def _balance(pairs: Sequence[Pair]) -> str:
    """The number of pairs that won; those that lost with a minus sign."""
    won, lost = sum(pair.difference > 0 for pair in pairs), sum(pair.difference < 0 for pair in pairs)
    return f"{won} and −{lost}" if lost else str(won)
