"""Tables of the suite prefetch."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.evidence.formats import CELL, device, fetched, precision, resolution, server, stored
from lab.tables import markdown

SECOND = 1_000_000
#: The columns with prefetching: the policy, and the duration of a prefetch in microseconds.
ARMS = [("planner", SECOND), ("planner", 2 * SECOND), ("markov", SECOND), ("popular", SECOND), ("planner", 0)]


def prefetching(folder: Path) -> str:
    """The hit ratio in % with and without prefetching, by policy and the time that a fetch takes, and its price."""
    results = stored(folder)
    rows = []
    for (trace, mode, capacity), cells in results.groupby(CELL, sort=False, observed=True):
        all_users, one_user = server(cells), device(cells)
        plain = all_users[all_users["prefetch"].isna()]
        row = [str(trace), str(mode).replace("_", " "), str(capacity), resolution(cells), _percent(plain)]
        row += [_percent(_arm(all_users, policy, latency)) for policy, latency in ARMS]
        used = _arm(all_users, "planner", SECOND)
        row.append("–" if used.empty else f"{fetched(plain):.2f} → {fetched(used):.2f}")
        rows.append([*row, precision(used), _percent(_arm(one_user, "planner", SECOND))])
    header = ["trace", "caches", "capacity", "resolution of times", "none", "planner, 1 s", "2 s", "markov, 1 s", "popular, 1 s"]
    header += ["planner, 0 s (ideal)", "objects fetched a request at 1 s", "precision at 1 s, %"]
    return markdown([*header, "device knowledge: planner, 1 s"], rows)


def _arm(cells: pd.DataFrame, policy: str, latency: int) -> pd.DataFrame:
    return cells[(cells["prefetch"] == policy) & (cells["prefetch_latency_us"] == latency)]


def _percent(cells: pd.DataFrame) -> str:
    return "–" if cells.empty else f"{100 * float(cells['object_hit_ratio'].mean()):.1f}"
