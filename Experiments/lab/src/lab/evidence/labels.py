"""Tables of the suite hypothesis: what the labels of a trace add."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from lab.comparison import Pair, Pairing, compare, pairing
from lab.evidence.formats import device, points, server, stored
from lab.tables import markdown

#: The controls of the hypothesis: permuted labels first, because the difference to these is the headline.
CONTROLS = ("permuted within=popularity,age,size", "without")

#: The rows of ``costs``.
WORST = 8
#: The capacity at which each user has a model as well.
DEVICE_CAPACITY = "60"


def pairs_of_labels(folder: Path, knowledge: Callable[[pd.DataFrame], pd.DataFrame] = server) -> list[Pairing]:
    """The learner with the labels of the trace, paired with the learner under each control."""
    results = knowledge(stored(folder))
    learned = results[results["label"] == "learned"]
    arms = {name: learned[learned["label_control"] == name] for name in ("given", *CONTROLS)}
    return [pairing(arms["given"], arms[name], compared=["label_control"]) for name in CONTROLS]


def device_gains(folder: Path) -> dict[str, Pair]:
    """The gain of the labels over permuted labels by trace, with a model for each user; empty if that was not run."""
    if not device_has_both(folder):
        return {}
    (found,) = compare(pairs_of_labels(folder, device)[:1])
    return {pair.trace: pair for pair in found.pairs}


def device_has_both(folder: Path) -> bool:
    """Whether cells with a model for each user are stored, with the labels of a trace and with permuted ones."""
    cells = device(stored(folder))
    given, permuted = (set(cells[cells["label_control"] == name]["trace"]) for name in ("given", CONTROLS[0]))
    return bool(given & permuted)


def _of_device(gains: dict[str, Pair], trace: str, mode: str, capacity: str = DEVICE_CAPACITY) -> str:
    has = mode == "per_user" and capacity == DEVICE_CAPACITY and trace in gains
    return points(gains[trace].interval) if has else "–"


def gains(folder: Path) -> str:
    """The gain of the labels over permuted labels and over one category for all objects, by row."""
    permuted, without = compare(pairs_of_labels(folder))
    own, rows = device_gains(folder), []
    for pair in permuted.pairs:
        (other,) = without.of(trace=pair.trace, mode=pair.mode, capacity=pair.capacity)
        probability = "< 0.001" if pair.adjusted < 0.001 else f"{pair.adjusted:.3f}"
        row = [pair.trace, pair.mode.replace("_", " "), pair.capacity, points(pair.interval), probability]
        rows.append([*row, points(other.interval), _of_device(own, pair.trace, pair.mode, pair.capacity)])
    header = ["trace", "caches", "capacity", "over permuted labels, points", "p (Holm)", "over one category, points"]
    return markdown([*header, "device knowledge: over permuted labels"], rows)


def categories(folder: Path) -> str:
    """The mean gain of the labels over the capacities of each trace and mode, and the rows that are significant."""
    pairings = pairs_of_labels(folder)
    traces = dict.fromkeys(sides.trace for sides in pairings[0].sides)
    places = [(trace, mode) for trace in traces for mode in dict.fromkeys(s.mode for s in pairings[0].of(trace=trace).sides)]
    parts = [each.of(trace=trace, mode=mode) for trace, mode in places for each in pairings]
    found = compare([*pairings, *parts])
    whole, means = found[: len(pairings)], iter(found[len(pairings) :])
    own, rows = device_gains(folder), []
    for trace, mode in places:
        row = [trace, mode.replace("_", " ")]
        for each in whole:
            pairs = each.of(trace=trace, mode=mode)
            significant = [pair for pair in pairs if pair.adjusted < 0.05]
            row += [points(next(means).these), f"{_balance(significant)} of {len(pairs)}"]
        rows.append([*row, _of_device(own, trace, mode)])
    header = ["trace", "caches"]
    for name in ("permuted labels", "one category"):
        header += [f"over {name}, points", "significant"]
    return markdown([*header, f"device knowledge, {DEVICE_CAPACITY} objects: over permuted labels"], rows)


def knowledge(folder: Path) -> str:
    """The hit ratio in % of per-user caches: of LRU, and of the learner with server and with device knowledge."""
    results = stored(folder)
    results = results[
        (results["mode"] == "per_user") & (results["capacity"] == DEVICE_CAPACITY) & (results["label_control"] == "given")
    ]
    learned = results[results["label"] == "learned"]
    arms = [results[results["label"] == "lru"], server(learned), device(learned)]
    means = [100 * cells.groupby("trace", sort=False)["object_hit_ratio"].mean() for cells in arms]
    rows = []
    for trace in means[1].index:
        ratios = [float(mean.get(trace, float("nan"))) for mean in means]
        rows.append([str(trace), *("–" if ratio != ratio else f"{ratio:.2f}" for ratio in ratios)])
    return markdown(["hit ratio, %", "lru", "learned, server knowledge", "learned, device knowledge"], rows)


def costs(folder: Path) -> str:
    """The cells in which labels cost the most hits against the better of the two controls.

    The intervals hold for all cells and both controls together (Bonferroni).
    """
    pairings = pairs_of_labels(folder)
    (found,) = compare([Pairing([sides for each in pairings for sides in each.sides])])
    names = [name for each, name in zip(pairings, ("permuted labels", "one category")) for _ in each.sides]
    named = list(zip(found.pairs, names))
    cells = []
    for pair in found.pairs[: len(pairings[0].sides)]:
        place = (pair.trace, pair.mode, pair.capacity)
        arms = [arm for arm in named if (arm[0].trace, arm[0].mode, arm[0].capacity) == place]
        cells.append(min(arms, key=lambda arm: arm[0].difference))
    cells.sort(key=lambda cell: (cell[0].difference, cell[0].trace))
    rows = []
    for pair, name in cells[:WORST]:
        rows.append([pair.trace, pair.mode.replace("_", " "), pair.capacity, name, points(pair.family)])
    return markdown(["trace", "caches", "capacity", "better control", "gain, points"], rows)


def _balance(pairs: Sequence[Pair]) -> str:
    """The number of pairs that won; those that lost with a minus sign."""
    won, lost = sum(pair.difference > 0 for pair in pairs), sum(pair.difference < 0 for pair in pairs)
    return f"{won} and −{lost}" if lost else str(won)
