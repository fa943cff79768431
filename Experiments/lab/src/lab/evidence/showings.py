"""Tables of the suite shown: what eviction gains by what lists showed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.comparison import compare, pairing
from lab.evidence.formats import points, stored
from lab.tables import markdown

#: What traces are called.
TRACES = {"news": "news", "news-60s": "news, opened after a minute", "feed": "short videos", "hotels": "hotels"}
#: The capacities of the shared cache.
CAPACITIES = ("0.5%", "1%", "2%", "5%")
SIMPLE = ("lru", "s3-fifo", "w-tinylfu")


def shared(folder: Path) -> str:
    """One cache of all users: the learner with and without what lists showed, beside simple policies and the optimum."""
    results = stored(folder)
    results = results[results["mode"] == "shared"]
    (comparison,) = compare([pairing(_of(results, "learned"), _of(results, "learned(shown=off)"))])
    gains = {(pair.trace, pair.capacity): pair.interval for pair in comparison.pairs}
    rows = []
    for trace, name in TRACES.items():
        for capacity in CAPACITIES:
            own = results[(results["trace"] == trace) & (results["capacity"] == capacity)]
            labels = ("lru", "learned(shown=off)", "learned", "belady")
            least, off, on, optimum = (_mean(_of(own, label)) for label in labels)
            best = max(_mean(_of(own, label)) for label in SIMPLE)
            closed = [_whole(100 * (hits - least) / (optimum - least)) for hits in (off, on)]
            figures = [f"{100 * hits:.1f}" for hits in (least, best, off, on, optimum)]
            rows.append([name, capacity, *figures, points(gains[trace, capacity]), *closed])
    header = ["requests that are hits, %", "capacity", "lru", "best simple policy", "learned, without lists", "learned", "belady"]
    return markdown([*header, "lists add, points", "of the gap from lru to belady, without, %", "with, %"], rows)


def on_device(folder: Path) -> str:
    """Caches of one user, without prefetching and with it."""
    results = stored(folder)
    results = results[results["mode"] == "per_user"]
    rows = []
    for trace in ("news", "hotels"):
        for fetches, name in ((False, "none"), (True, "lists, 4 of a list")):
            own = results[(results["trace"] == trace) & (results["prefetch"].notna() == fetches)]
            labels = ("lru", "learned(model=none,shown=off)", "learned(model=none)", "belady")
            figures = [_of(own, label) for label in labels]
            rows.append([TRACES[trace], name, *("–" if found.empty else f"{100 * _mean(found):.2f}" for found in figures)])
    return markdown(["requests that are hits, %", "prefetching", "lru", "learned, without lists", "learned", "belady"], rows)


def _whole(number: float) -> str:
    return f"{round(number) or 0}".replace("-", "−")


def _of(results: pd.DataFrame, label: str) -> pd.DataFrame:
    return results[results["label"] == label]


def _mean(results: pd.DataFrame) -> float:
    return float(results["object_hit_ratio"].mean())
