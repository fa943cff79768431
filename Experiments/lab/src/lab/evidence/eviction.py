"""Tables of the suites of eviction policies: policies, ablation and cold-start."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.evidence.formats import OFFLINE, capacities_in_order, listed, misses_by_cell, ratio, signed, stored
from lab.tables import markdown


def policies(folder: Path) -> str:
    """The miss ratio of ``learned`` by trace and capacity, and its difference to the best other policy in %."""
    table = misses_by_cell(stored(folder))
    capacities = capacities_in_order(table.index.get_level_values("capacity"))
    rows = []
    for trace in dict.fromkeys(table.index.get_level_values("trace")):
        row = [str(trace)]
        by_capacity = pd.DataFrame(table.xs((trace, "shared"), level=("trace", "mode"))).to_dict("index")
        for capacity in capacities:
            cell = {str(name): float(miss) for name, miss in by_capacity[capacity].items()}
            learned = cell["learned"]
            name, best = min(
                ((name, miss) for name, miss in cell.items() if name != "learned" and name not in OFFLINE),
                key=lambda pair: pair[1],
            )
            row.append(f"{ratio(learned)} ({signed(100 * (learned / best - 1))}, {name})")
        rows.append(row)
    return markdown(["trace", *capacities], rows)


def ranking(folder: Path) -> str:
    """Each policy's miss ratio over that of the best policy of each cell, and over FIFO's."""
    table = misses_by_cell(stored(folder))
    online = table.drop(columns=[name for name in OFFLINE if name in table.columns])
    over_best = 100 * (online.div(online.min(axis=1), axis=0) - 1)
    over_fifo = 100 * (online.div(online["fifo"], axis=0) - 1)
    order = over_best.mean().sort_values().index
    rows = []
    for name in order:
        worst = over_fifo[name].groupby("trace").mean()
        rows.append(
            [
                str(name),
                signed(over_best[name].mean()),
                f"{int((over_best[name] <= 1e-9).sum())} of {len(online)}",
                signed(over_best[name].max()),
                signed(over_fifo[name].mean()),
                signed(worst.quantile(0.9)),
                f"{signed(worst.max())} ({worst.idxmax()})",
            ]
        )
    header = [
        "policy", "over the best of each cell, mean %", "best in", "worst cell, %", "over FIFO, mean %",
        "90th percentile of traces, %", "worst trace, %",
    ]  # fmt: skip
    return markdown(header, rows)


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
