"""Tables of the suite devices: what a cache of one user can do with what it can know."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lab.comparison import compare, pairing
from lab.evidence.formats import capacities_in_order, device, points, server, signed, stored
from lab.evidence.labels import CONTROLS
from lab.tables import markdown

#: The policies without a model; the best of them in each cell is the mark.
SIMPLE = ("lru", "lfu", "s3-fifo", "w-tinylfu")
#: The traces whose objects have random sizes.
SIZES = "_sizes"
#: The learner as it is by default, which begins with the shipped model on a device, and one that begins with nothing.
SHIPPED, NOTHING = "learned", "learned(model=none)"


def _hit_ratios(folder: Path) -> pd.DataFrame:
    """The mean hit ratio in % of each cell, a column for each policy; the learner of a server is ``server``."""
    results = stored(folder)
    results = results[(results["label_control"] == "given") & ~results["trace"].str.endswith(SIZES)]
    learners = results["label"].isin([SHIPPED, NOTHING])
    alone = pd.concat([results[~learners], device(results[learners])])
    of_server = server(results[results["label"] == "learned"]).assign(label="server")
    means = pd.concat([alone, of_server]).groupby(["trace", "capacity", "label"], sort=False)["object_hit_ratio"].mean()
    return 100 * means.unstack("label", sort=False)


def hits(folder: Path) -> str:
    """The hit ratio of each cell, and the share of the gap from LRU to Belady that the learners close."""
    means = _hit_ratios(folder)
    simple = means[list(SIMPLE)]
    best, gap = simple.max(axis=1), means["belady"] - means["lru"]
    columns = {"best simple policy": best, **{name: means[name] for name in (NOTHING, SHIPPED, "server", "belady")}}
    rows = []
    for trace in dict.fromkeys(means.index.get_level_values("trace")):
        for capacity in capacities_in_order(pd.Index(means.loc[trace].index)):
            cell = (trace, capacity)
            row = [str(trace), capacity, f"{means.loc[cell, 'lru']:.2f}"]
            row.append(f"{best[cell]:.2f} ({simple.loc[cell].idxmax()})")
            row += [f"{column[cell]:.2f}" for name, column in columns.items() if name != "best simple policy"]
            rows.append([*row, signed(float(means.loc[cell, SHIPPED] - best[cell]), 2)])
    closed = {name: float((100 * (column - means["lru"]) / gap).mean()) for name, column in columns.items()}
    last = ["**closed of the gap from lru to belady, mean**", "", "0.0 %"]
    last += [f"{share:.1f} %" for share in closed.values()]
    rows.append([*last, f"{signed(float((means[SHIPPED] - best).min()), 2)} at worst"])
    header = [
        "hit ratio, %", "objects", "lru", "best simple policy", "learned, from nothing", "learned, shipped model",
        "learned, server knowledge", "belady", "shipped − best simple, points",
    ]  # fmt: skip
    return markdown(header, rows)


def labels(folder: Path) -> str:
    """What the labels add to the learner that starts with the shipped model, beside both controls, by trace."""
    results = device(stored(folder))
    learned = results[results["label"] == SHIPPED]
    given = learned[learned["label_control"] == "given"]
    pairings = [pairing(given, learned[learned["label_control"] == name], compared=["label_control"]) for name in CONTROLS]
    found = compare(pairings)
    cells = {(pair.trace, pair.capacity): pair for pair in found[0].pairs}
    others = {(pair.trace, pair.capacity): pair for pair in found[1].pairs}
    rows = [
        [trace, capacity, points(pair.interval), points(others[trace, capacity].interval)]
        for (trace, capacity), pair in cells.items()
    ]
    return markdown(["trace", "objects", "over permuted labels, points", "over one category, points"], rows)


def sizes(folder: Path) -> str:
    """The hit ratio of caches that count bytes, of objects with random sizes."""
    results = stored(folder)
    results = results[results["trace"].str.endswith(SIZES)]
    means = results.groupby(["trace", "capacity", "label"], sort=False)["object_hit_ratio"].mean()
    table = 100 * means.unstack("label", sort=False)
    simple = table[[*SIMPLE, "gdsf"]]
    rows = []
    for trace in dict.fromkeys(table.index.get_level_values("trace")):
        for capacity in capacities_in_order(pd.Index(table.loc[trace].index)):
            cell = (trace, capacity)
            best = float(simple.loc[cell].max())
            row = [str(trace).removesuffix(SIZES), capacity, f"{table.loc[cell, 'lru']:.2f}"]
            row.append(f"{best:.2f} ({simple.loc[cell].idxmax()})")
            row += [f"{table.loc[cell, name]:.2f}" for name in (NOTHING, SHIPPED)]
            rows.append([*row, signed(float(table.loc[cell, SHIPPED]) - best, 2)])
    header = [
        "hit ratio, %", "capacity", "lru", "best simple policy", "learned, from nothing", "learned, shipped model",
        "shipped − best simple, points",
    ]  # fmt: skip
    return markdown(header, rows)
