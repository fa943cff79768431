"""Tables of the confirmatory suite: its three questions, by the rules that were written down before it was run."""

from __future__ import annotations

from pathlib import Path

from lab.comparison import Interval, compare, pairing
from lab.evidence.formats import PREFETCHING, points, stored
from lab.tables import markdown

#: The policies that the first question names.
RIVALS = ("lru", "s3-fifo", "w-tinylfu", "gdsf")
PERMUTED = "permuted within=popularity,age,size"
#: What a row of the third question may lose, in hit ratio.
HARMLESS = 0.001


def _side(found: Interval) -> str:
    return "higher" if found.low > 0 else "lower" if found.high < 0 else "undecided"


def eviction(folder: Path) -> str:
    """The first question: the learner and each rival, as the mean over the traces and their capacities."""
    results = stored(folder)
    plain = results[(results["mode"] == "shared") & results["prefetch"].isna() & (results["warmup"] == 0)]
    learned = plain[plain["label"] == "learned"]
    rows = []
    for rival, found in zip(RIVALS, compare(pairing(learned, plain[plain["label"] == rival]) for rival in RIVALS)):
        won = f"{sum(pair.difference > 0 for pair in found.pairs)} of {len(found.pairs)}"
        rows.append([f"`learned` − `{rival}`", points(found.these), points(found.sample), won, _side(found.these)])
    header = ["difference, points", "these traces", "as a sample of traces", "cells won", "hit ratio of `learned`"]
    return markdown(header, rows)


def labels(folder: Path) -> str:
    """The second question: the labels and permuted labels, by row, with Holm's correction over the rows."""
    results = stored(folder)
    learned = results[(results["label"] == "learned") & (results["warmup"] > 0)]
    arms = [learned[learned["label_control"] == name] for name in ("given", PERMUTED)]
    (found,) = compare([pairing(arms[0], arms[1], compared=["label_control"])])
    rows = []
    for pair in found.pairs:
        answer = "none shown" if pair.adjusted >= 0.05 else "a gain" if pair.difference > 0 else "a loss"
        row = [pair.trace, pair.mode.replace("_", " "), pair.capacity, points(pair.interval)]
        rows.append([*row, f"{pair.adjusted:.3f}", answer])
    return markdown(["trace", "caches", "capacity", "over permuted labels, points", "p (Holm)", "answer"], rows)


def prefetching(folder: Path) -> str:
    """The third question: the planner at a fetch of one second and no prefetching, by row."""
    results = stored(folder)
    cells = results[(results["label"] == "lru") & (results["warmup"] > 0)]
    arms = [cells[cells["prefetch"] == "planner"], cells[cells["prefetch"].isna()]]
    (found,) = compare([pairing(arms[0], arms[1], compared=PREFETCHING)])
    rows = []
    for pair in found.pairs:
        ratios = [f"{100 * ratio:.1f}" for ratio in (pair.b, pair.a)]
        answer = "harmless" if pair.difference >= -HARMLESS else "a loss"
        row = [pair.trace, pair.mode.replace("_", " "), pair.capacity, *ratios, points(pair.interval), answer]
        rows.append(row)
    header = ["trace", "caches", "capacity", "without, %", "with, %", "difference, points", "answer"]
    return markdown(header, rows)
