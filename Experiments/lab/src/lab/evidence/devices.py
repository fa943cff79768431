"""Tables of the suite devices: what a cache of one user can do with what it can know."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from lab.comparison import Interval, compare, pairing
from lab.evidence.formats import capacities_in_order, device, points, server, signed, stored
from lab.evidence.labels import CONTROLS
from lab.tables import markdown

#: The policies without a model; the best of them in each cell is the mark.
SIMPLE = ("lru", "lfu", "s3-fifo", "w-tinylfu")
#: The traces whose objects have random sizes.
SIZES = "_sizes"
#: The learner as it is by default, which begins with the shipped model on a device, and one that begins with nothing.
SHIPPED, NOTHING = "learned", "learned(model=none)"


def hit_ratios(folder: Path) -> pd.DataFrame:
    """The mean hit ratio in % of each cell, a column for each policy.

    The learner of a server is ``server``, and the one that begins with a model of other users of the same app ``same app``.
    """
    results = stored(folder)
    results = results[(results["label_control"] == "given") & ~results["trace"].str.endswith(SIZES)]
    given = results["pretrain"].notna()
    learners = results["label"].isin([SHIPPED, NOTHING]) & ~given
    alone = pd.concat([results[~learners & ~given], device(results[learners])])
    of_server = server(results[learners & (results["label"] == SHIPPED)]).assign(label="server")
    of_app = results[given].assign(label="same app")
    means = pd.concat([alone, of_server, of_app]).groupby(["trace", "capacity", "label"], sort=False)["object_hit_ratio"].mean()
    table = 100 * means.unstack("label", sort=False)
    return table if "same app" in table else table.assign(**{"same app": math.nan})


def closed(means: pd.DataFrame) -> pd.Series:
    """The share of the gap from LRU to Belady that each column of :func:`hit_ratios` closes, in %, as the mean of the cells."""
    return (100 * means.sub(means["lru"], axis=0).div(means["belady"] - means["lru"], axis=0)).mean()


def best_simple(means: pd.DataFrame) -> pd.Series:
    """The hit ratio of the best simple policy in each cell."""
    return means[list(SIMPLE)].max(axis=1)


def hits(folder: Path) -> str:
    """The hit ratio of each cell, and the share of the gap from LRU to Belady that the learners close."""
    means = hit_ratios(folder)
    simple, best = means[list(SIMPLE)], best_simple(means)
    columns = {"best simple policy": best, **{name: means[name] for name in (NOTHING, SHIPPED, "same app", "server", "belady")}}
    rows = []
    for trace in dict.fromkeys(means.index.get_level_values("trace")):
        for capacity in capacities_in_order(pd.Index(means.loc[trace].index)):
            cell = (trace, capacity)
            row = [str(trace), capacity, f"{means.loc[cell, 'lru']:.2f}"]
            row.append(f"{best[cell]:.2f} ({simple.loc[cell].idxmax()})")
            ours = [float(column[cell]) for name, column in columns.items() if name != "best simple policy"]
            row += ["–" if math.isnan(ratio) else f"{ratio:.2f}" for ratio in ours]
            rows.append([*row, signed(float(means.loc[cell, SHIPPED] - best[cell]), 2)])
    shares = closed(means.assign(**{"best simple policy": best}))
    last = ["**closed of the gap from lru to belady, mean**", "", "0.0 %"]
    last += [f"{shares[name]:.1f} %" + _of_some(column) for name, column in columns.items()]
    rows.append([*last, f"{signed(float((means[SHIPPED] - best).min()), 2)} at worst"])
    header = [
        "hit ratio, %", "objects", "lru", "best simple policy", "learned, from nothing", "learned, shipped model",
        "learned, model of the same app", "learned, server knowledge", "belady", "shipped − best simple, points",
    ]  # fmt: skip
    return markdown(header, rows)


def _of_some(column: pd.Series) -> str:
    """How many cells a mean is of, if some have no value."""
    return f", of {column.count()} cells" if column.isna().any() else ""


def labels_over(folder: Path, control: str) -> dict[tuple[str, str], Interval]:
    """What the labels add to the learner that starts with the shipped model over a control of labels, by trace and capacity."""
    results = device(stored(folder))
    learned = results[(results["label"] == SHIPPED) & results["pretrain"].isna() & ~results["trace"].str.endswith(SIZES)]
    given, other = (learned[learned["label_control"] == name] for name in ("given", control))
    (comparison,) = compare([pairing(given, other, compared=["label_control"])])
    return {(pair.trace, pair.capacity): pair.interval for pair in comparison.pairs}


def labels(folder: Path) -> str:
    """What the labels add to the learner that starts with the shipped model, beside both controls, by trace."""
    permuted, single = (labels_over(folder, control) for control in CONTROLS)
    rows = [[trace, capacity, points(found), points(single[trace, capacity])] for (trace, capacity), found in permuted.items()]
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
