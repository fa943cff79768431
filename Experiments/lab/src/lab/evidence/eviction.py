"""Tables of the suites of eviction policies: policies, ablation and cold-start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lab.contrasting import against_others, excess, over_traces
from lab.evidence.claims import BASELINES
from lab.evidence.formats import CELL, capacities_in_order, listed, ratio, signed, stored
from lab.tables import markdown


def policies(folder: Path) -> str:
    """The miss ratio of ``learned`` by trace and capacity, and its difference to the best other policy in %."""
    found = against_others(stored(folder), "learned")
    capacities = capacities_in_order(pd.Index(found["capacity"]))
    rows = []
    for trace, cells in found.groupby("trace", sort=False):
        by_capacity = {str(cell["capacity"]): cell for cell in cells.to_dict("records")}
        row = [str(trace)]
        for capacity in capacities:
            cell = by_capacity[capacity]
            row.append(f"{ratio(cell['miss'])} ({signed(cell['excess'])}, {cell['against']})")
        rows.append(row)
    return markdown(["trace", *capacities], rows)


def ranking(folder: Path) -> str:
    """Each policy's miss ratio over that of the best policy of each cell, and over FIFO's.

    Means and percentiles are over traces: one with sizes and with uniform sizes counts once, as the mean of both.
    """
    over_best, over_fifo = (
        {str(name): own.set_index("trace")["excess"] for name, own in excess(stored(folder), reference).groupby("run")}
        for reference in ("best", "fifo")
    )
    means = {name: float(over_traces(own).mean()) for name, own in over_best.items()}
    rows = []
    for name in sorted(means, key=lambda name: means[name]):
        best, fifo = over_best[name], over_traces(over_fifo[name])
        worst = over_fifo[name].groupby(level="trace", sort=False).mean()
        rows.append(
            [
                name,
                signed(means[name]),
                f"{int((best <= 1e-9).sum())} of {len(best)}",
                signed(best.max()),
                signed(fifo.mean()),
                signed(float(fifo.quantile(0.9))),
                f"{signed(worst.max())} ({worst.idxmax()})",
            ]
        )
    header = [
        "policy", "over the best of each cell, mean %", "best in", "worst cell, %", "over FIFO, mean %",
        "90th percentile of traces, %", "worst trace, %",
    ]  # fmt: skip
    return markdown(header, rows)


def worst_cases(folder: Path) -> str:
    """Each policy's reduction of FIFO's misses at the smallest and at the largest capacity, and its worst loss.

    The reduction is in % of FIFO's misses: the mean, the 10th percentile and the worst of the traces, as the authors of
    S4-FIFO report it. A trace with sizes and with uniform sizes counts once, as the mean of both. The loss is the
    excess of misses over the best of four baselines, in the worst cell.
    """
    results = stored(folder)
    over_fifo = excess(results, "fifo")
    baselines = excess(results[results["run"].isin(BASELINES)])
    best = baselines[baselines["run"] == baselines["against"]].set_index(CELL)["miss"]
    capacities = capacities_in_order(pd.Index(over_fifo["capacity"]))
    ends = [capacities[0], capacities[-1]]
    cells = {end: over_fifo[over_fifo["capacity"] == end] for end in ends}
    at_ends = over_fifo[over_fifo["capacity"].isin(ends)]
    means = {str(name): float(over_traces(own.set_index("trace")["excess"]).mean()) for name, own in at_ends.groupby("run")}
    rows = []
    for name in sorted(means, key=lambda name: means[name]):
        row = [name]
        for end in ends:
            reduction = -cells[end][cells[end]["run"] == name].set_index("trace")["excess"]
            once = over_traces(reduction)
            row += [signed(once.mean()), signed(float(once.quantile(0.1))), f"{signed(reduction.min())} ({reduction.idxmin()})"]
        own = over_fifo[over_fifo["run"] == name].set_index(CELL)["miss"]
        loss = (100 * (own / best - 1)).dropna()
        worst: Any = loss.idxmax()
        trace, _, capacity = worst
        rows.append([*row, f"{signed(loss.max())} ({trace}, {capacity})"])
    header = ["policy"]
    for end in ends:
        header += [f"misses saved over FIFO at {end}, mean %", "10th percentile of traces, %", "worst trace, %"]
    return markdown([*header, f"over the best of {', '.join(BASELINES)}, worst cell, %"], rows)


def set_up(folder: Path) -> str:
    """The requests of each trace, and the capacities in objects: where sizes are known, in objects of mean size."""
    results = stored(folder)
    several = results["mode"].nunique() > 1
    rows = []
    for (trace, mode), cells in results.groupby(["trace", "mode"], sort=False):
        first = cells.iloc[0]
        sizes = cells.drop_duplicates("capacity").set_index("capacity")["capacity_size"]
        capacities = [int(sizes[name]) for name in capacities_in_order(sizes.index)]
        # Where every size is 1, bytes are objects.
        mean = int(first["trace_distinct_size"]) / int(first["trace_objects"])
        has_sizes = str(first["size_unit"]) == "bytes" and mean != 1
        objects = [round(size / mean) if has_sizes else size for size in capacities]
        rows.append(
            [str(trace)]
            + ([str(mode).replace("_", " ")] if several else [])
            + [f"{first[f'trace_{name}']:,}" for name in ("requests", "users", "objects", "categories")]
            + [listed(objects)]
            + [f"{mean:,.0f}" if has_sizes else "–", listed(capacities) if has_sizes else "–"]
        )
    header = ["trace", *(["caches"] if several else []), "requests", "users", "objects", "categories"]
    return markdown([*header, "capacities, objects", "mean size, bytes", "capacities, bytes"], rows)


def ablation(folder: Path) -> str:
    """The change of the hit ratio, in points, when a part of ``learned`` is left out."""
    results = stored(folder)
    means = results.groupby(["trace", "mode", "label"], sort=False)["object_hit_ratio"].mean().unstack("label", sort=False)
    changes = 100 * means.sub(means["learned"], axis=0)
    rows = []
    for label in changes.columns:
        if label == "learned":
            continue
        row = [str(label)]
        for mode in ("shared", "per_user"):
            cells = changes[changes.index.get_level_values("mode") == mode][label].dropna()
            row += ["–", "–"] if cells.empty else [signed(cells.mean(), 2), f"{signed(cells.min(), 2)} … {signed(cells.max(), 2)}"]
        rows.append(row)
    header = ["learner", "shared, mean", "shared, traces", "per user, mean", "per user, traces"]
    return markdown(header, rows)


def cold(folder: Path) -> str:
    """The hit ratio in % over the first requests of a cache that knows nothing."""
    results = stored(folder)
    means = results.groupby(["trace", "label"], sort=False)["object_hit_ratio"].mean().unstack("label", sort=False)
    rows = [[str(trace), *(f"{100 * value:.1f}" for value in row)] for trace, row in zip(means.index, means.values)]
    return markdown(["first requests of", *(str(name) for name in means.columns)], rows)
