"""Tables of the suite prefetch."""

from __future__ import annotations

from pathlib import Path

from lab.evidence.formats import CELL, markdown, stored


def prefetching(folder: Path) -> str:
    """The hit ratio in % with and without prefetching, by the time that a fetch takes."""
    results = stored(folder)
    rows = []
    for (trace, mode, capacity), cells in results.groupby(CELL, sort=False):
        without = cells[cells["prefetch"].isna()]["object_hit_ratio"].mean()
        row = [str(trace), str(mode).replace("_", " "), str(capacity), f"{100 * without:.1f}"]
        planner = cells[cells["prefetch"] == "planner"]
        for latency in (500_000, 2_000_000, 0):
            runs = planner[planner["prefetch_latency_us"] == latency]
            row.append("–" if runs.empty else f"{100 * runs['object_hit_ratio'].mean():.1f}")
        used = planner[planner["prefetch_latency_us"] == 500_000]
        precision = used["prefetches_used"].sum() / max(1, used["prefetched"].sum())
        row.append(f"{100 * precision:.0f}")
        rows.append(row)
    header = ["trace", "caches", "capacity", "none", "0.5 s", "2 s", "0 s (ideal)", "precision at 0.5 s, %"]
    return markdown(header, rows)
