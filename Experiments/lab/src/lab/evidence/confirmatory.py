"""Tables of the confirmatory suite: its three questions, by the rules that were written down before it was run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.comparison import Comparison, Interval, Pair, compare, pairing
from lab.evidence.formats import PREFETCHING, every_version, points, server
from lab.tables import markdown

#: The policies that the first question names.
RIVALS = ("lru", "s3-fifo", "w-tinylfu", "gdsf")
PERMUTED = "permuted within=popularity,age,size"
#: What a row of the third question may lose, in hit ratio.
HARMLESS = 0.001


def _side(found: Interval) -> str:
    return "higher" if found.low > 0 else "lower" if found.high < 0 else "undecided"


def versions(folder: Path) -> list[tuple[int, pd.DataFrame]]:
    """The cells of each result version, the newest first."""
    results = server(every_version(folder))
    found = sorted({int(version) for version in results["result_version"]}, reverse=True)
    return [(version, results[(results["result_version"] == version).astype("bool")]) for version in found]


def _earlier(runs: list[tuple[int, pd.DataFrame]], what: str) -> list[str]:
    return [f"{what}, result version {version}" for version, _ in runs[1:]]


def _same(pair: Pair, run: Comparison) -> str:
    """The difference of the same row in an earlier run."""
    found = run.of(trace=pair.trace, mode=pair.mode, capacity=pair.capacity)
    return points(found[0].interval) if found else "–"


def eviction(folder: Path) -> str:
    """The first question: the learner and each rival, as the mean over the traces and their capacities."""
    runs = versions(folder)
    pairs = []
    for _, results in runs:
        plain = results[(results["mode"] == "shared") & results["prefetch"].isna() & (results["warmup"] == 0)]
        learned = plain[plain["label"] == "learned"]
        pairs += [pairing(learned, plain[plain["label"] == rival]) for rival in RIVALS]
    compared = compare(pairs)
    rows = []
    for place, rival in enumerate(RIVALS):
        found, *earlier = compared[place :: len(RIVALS)]
        won = f"{sum(pair.difference > 0 for pair in found.pairs)} of {len(found.pairs)}"
        row = [f"`learned` − `{rival}`", points(found.these), points(found.sample), won, _side(found.these)]
        rows.append([*row, *(points(one.these) for one in earlier)])
    header = ["difference, points", "these traces", "as a sample of traces", "cells won", "hit ratio of `learned`"]
    return markdown([*header, *_earlier(runs, "these traces")], rows)


def labels(folder: Path) -> str:
    """The second question: the labels and permuted labels, by row, with Holm's correction over the rows."""
    runs = versions(folder)
    pairs = []
    for _, results in runs:
        learned = results[(results["label"] == "learned") & (results["warmup"] > 0)]
        arms = [learned[learned["label_control"] == name] for name in ("given", PERMUTED)]
        pairs.append(pairing(arms[0], arms[1], compared=["label_control"]))
    found, *earlier = compare(pairs)
    rows = []
    for pair in found.pairs:
        answer = "none shown" if pair.adjusted >= 0.05 else "a gain" if pair.difference > 0 else "a loss"
        row = [pair.trace, pair.mode.replace("_", " "), pair.capacity, points(pair.interval)]
        rows.append([*row, f"{pair.adjusted:.3f}", answer, *(_same(pair, one) for one in earlier)])
    header = ["trace", "caches", "capacity", "over permuted labels, points", "p (Holm)", "answer"]
    return markdown([*header, *_earlier(runs, "points")], rows)


def prefetching(folder: Path) -> str:
    """The third question: the planner at a fetch of one second and no prefetching, by row."""
    runs = versions(folder)
    pairs = []
    for _, results in runs:
        cells = results[(results["label"] == "lru") & (results["warmup"] > 0)]
        arms = [cells[cells["prefetch"] == "planner"], cells[cells["prefetch"].isna()]]
        pairs.append(pairing(arms[0], arms[1], compared=PREFETCHING))
    found, *earlier = compare(pairs)
    rows = []
    for pair in found.pairs:
        ratios = [f"{100 * ratio:.1f}" for ratio in (pair.b, pair.a)]
        answer = "harmless" if pair.difference >= -HARMLESS else "a loss"
        row = [pair.trace, pair.mode.replace("_", " "), pair.capacity, *ratios, points(pair.interval), answer]
        rows.append([*row, *(_same(pair, one) for one in earlier)])
    header = ["trace", "caches", "capacity", "without, %", "with, %", "difference, points", "answer"]
    return markdown([*header, *_earlier(runs, "difference")], rows)
