"""Tables of the suite prefetch."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.evidence.formats import CELL, stored
from lab.tables import markdown

#: The columns with prefetching: the policy, and the duration of a prefetch in microseconds.
ARMS = [("planner", 500_000), ("planner", 2_000_000), ("markov", 500_000), ("popular", 500_000), ("planner", 0)]


def prefetching(folder: Path) -> str:
    """The hit ratio in % with and without prefetching, by policy and the time that a fetch takes."""
    results = stored(folder)
    rows = []
    for (trace, mode, capacity), cells in results.groupby(CELL, sort=False):
        row = [str(trace), str(mode).replace("_", " "), str(capacity)]
        row.append(_percent(cells[cells["prefetch"].isna()]))
        for policy, latency in ARMS:
            row.append(_percent(cells[(cells["prefetch"] == policy) & (cells["prefetch_latency_us"] == latency)]))
        used = cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == 500_000)]
        precision = used["prefetches_used"].sum() / max(1, used["prefetched"].sum())
        fetches = used["prefetched"].sum() / used["requests"].sum()
        rows.append([*row, f"{100 * precision:.0f}", f"{fetches:.2f}"])
    header = ["trace", "caches", "capacity", "none", "planner, 0.5 s", "2 s", "markov, 0.5 s", "popular, 0.5 s"]
    return markdown([*header, "planner, 0 s (ideal)", "precision at 0.5 s, %", "prefetches a request"], rows)


def _percent(cells: pd.DataFrame) -> str:
    return "–" if cells.empty else f"{100 * float(cells['object_hit_ratio'].mean()):.1f}"
