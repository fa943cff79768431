"""Tables of the suites of an app's cache: kingfisher and bytes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd

from lab.evidence.formats import stored
from lab.tables import markdown

#: The policies that serve both tiers.
POLICIES = ("lru", "s3-fifo", "gdsf", "learned")


def with_lifetimes(cells: pd.DataFrame, lifetimes: bool) -> pd.DataFrame:
    """Returns the cells of two tiers whose entries expire, or those whose entries do not."""
    has = cells["tiers"].map(lambda text: any(name.endswith("_lifetime_us") for name in json.loads(text)))
    return cells[has.astype("bool") == lifetimes]


def of_mode(folder: Path, mode: str = "shared") -> pd.DataFrame:
    """Returns the cells of the tiers that all users share, or of those of each device (``per_user``)."""
    results = stored(folder)
    return results[results["mode"] == mode]


def hit_ratios(folder: Path, *, lifetimes: bool, mode: str = "shared") -> pd.DataFrame:
    """The mean hit ratio in % of two tiers, a row for each trace and a column for each policy.

    Kingfisher's policies have lifetimes of their own, and no others.
    """
    own = of_mode(folder, mode)
    cells = with_lifetimes(own, lifetimes)
    if cells.empty:
        return pd.DataFrame(index=sorted(set(own["trace"])))
    return 100 * cells.groupby(["trace", "label"])["object_hit_ratio"].mean().unstack("label")


def expired(folder: Path) -> dict[str, float]:
    """The requests of each trace for entries that had expired under Kingfisher's policies, in % of all."""
    cells = of_mode(folder)
    counts = cells[cells["label"] == "kingfisher"].groupby("trace")[["stale", "requests"]].sum()
    return {str(trace): 100 * float(stale) / float(all) for trace, stale, all in counts.itertuples()}


def apps(folder: Path) -> str:
    """Hit ratio, byte hit ratio and mean latency of an app's two tiers."""
    results = of_mode(folder)
    rows = []
    for lifetimes in (True, False):
        results_of = with_lifetimes(results, lifetimes)
        for (trace, label), cells in results_of.groupby(["trace", "label"], sort=False):
            has_sizes = str(cells.iloc[0]["size_unit"]) == "bytes"
            own = lifetimes or label == "kingfisher"
            rows.append(
                [
                    str(trace),
                    str(label),
                    "Kingfisher's" if own else "none",
                    f"{100 * cells['memory_hits'].sum() / cells['requests'].sum():.1f}",
                    f"{100 * cells['object_hit_ratio'].mean():.1f}",
                    f"{100 * cells['byte_hit_ratio'].mean():.1f}" if has_sizes else "–",
                    f"{cells['latency_mean_ms'].mean():.1f}",
                ]
            )
    rows.sort(key=lambda row: (row[0], row[2], -float(row[4])))
    header = ["trace", "policy", "lifetimes", "from memory, %", "hit ratio, %", "byte hit ratio, %", "mean latency, ms"]
    return markdown(header, rows)


def device_tiers(folder: Path) -> str:
    """The hit ratio of the two tiers of each device, as :func:`tiers`."""
    return tiers(folder, "per_user")


def tiers(folder: Path, mode: str = "shared") -> str:
    """The hit ratio of an app's two tiers by policy: with Kingfisher's lifetimes for all policies, and without."""
    results = of_mode(folder, mode)
    kingfisher = results[results["label"] == "kingfisher"]
    rows = []
    for trace, cells in results.groupby("trace", sort=True):
        theirs = kingfisher[kingfisher["trace"] == trace]
        base = 100 * float(theirs["object_hit_ratio"].mean())
        for words, has in (("the same", True), ("none", False)):
            means = with_lifetimes(cells, has).groupby("label")[["object_hit_ratio", "latency_mean_ms"]].mean()
            if not has or not means.empty:
                ratios = {name: 100 * float(means["object_hit_ratio"].get(name, math.nan)) for name in POLICIES}
                row = [str(trace), words, f"{base:.1f}", *(_or_dash(ratio, "{:.1f}") for ratio in ratios.values())]
                row += [_or_dash(ratios[name] - base, "{:+.2f}") for name in ("lru", "learned")]
                latency = float(means["latency_mean_ms"].get("learned", math.nan))
                rows.append([*row, f"{float(theirs['latency_mean_ms'].mean()):.1f}", _or_dash(latency, "{:.1f}")])
    header = ["hit ratio, %", "lifetimes", "kingfisher", *POLICIES, "lru − kingfisher, points", "learned − kingfisher, points"]
    return markdown([*header, "latency of kingfisher, ms", "of learned, ms"], rows)


def _or_dash(value: float, form: str) -> str:
    return "–" if math.isnan(value) else form.format(value).replace("-", "−")


def smoke(folder: Path) -> str:
    """What the smoke test prints: hit ratios of three rows on the bundled traces."""
    results = of_mode(folder)
    rows = []
    for trace in ("shop", "feed"):
        of_trace = results[results["trace"] == trace]
        for label, has, words in (("kingfisher", False, ""), ("learned", True, ", the same lifetimes"), ("learned", False, ", no lifetimes")):
            cells = with_lifetimes(of_trace[of_trace["label"] == label], has)
            if cells.empty:
                continue
            ratio = 100 * cells["object_hit_ratio"].mean()
            rows.append([f"{trace}, {label}{words}", f"{ratio:.2f} %", f"{cells['latency_mean_ms'].mean():.1f} ms"])
    return markdown(["run", "hit ratio", "mean latency"], rows)


def bytes_by_policy(folder: Path) -> str:
    """The hit ratio, the byte hit ratio and the traffic of one cache of 1 % and 10 % of the bytes."""
    results = stored(folder)
    results = results[results["tiers"].isna()]
    rows = []
    for trace, cells in results.groupby("trace", sort=False):
        for label, runs in cells.groupby("label", sort=False):
            row = [str(trace), str(label)]
            for capacity in ("1%", "10%"):
                own = runs[runs["capacity"] == capacity]
                hit, byte = (100 * float(own[name].mean()) for name in ("object_hit_ratio", "byte_hit_ratio"))
                row += [f"{hit:.1f}", f"{byte:.1f}", f"{100 - byte:.1f}"]
            rows.append(row)
    header = ["trace", "policy"]
    for capacity in ("1 %", "10 %"):
        header += [f"hit ratio at {capacity}", "byte hit ratio", "traffic"]
    return markdown(header, rows)


def bytes_over_traces(folder: Path) -> str:
    """The mean hit ratio and byte hit ratio of each policy over the traces, and on how many it saves the most bytes."""
    results = stored(folder)
    results = results[results["tiers"].isna()]
    means = results.groupby(["trace", "capacity", "label"], sort=False, observed=True)[["object_hit_ratio", "byte_hit_ratio"]].mean()
    byte = means["byte_hit_ratio"].unstack("label", sort=False)
    online = byte.drop(columns="belady")
    rows = []
    for label in byte.columns:
        row = [str(label)]
        for capacity in ("1%", "10%"):
            own = means.xs((capacity, label), level=("capacity", "label"))
            row += [f"{100 * float(own[name].mean()):.1f}" for name in ("object_hit_ratio", "byte_hit_ratio")]
        best = "–" if label == "belady" else f"{int((online[label] >= online.max(axis=1)).sum())} of {len(online)}"
        rows.append([*row, best])
    header = ["policy", "hit ratio at 1 %", "byte hit ratio", "hit ratio at 10 %", "byte hit ratio", "most bytes saved"]
    return markdown(header, rows)


def decoded_tiers(folder: Path) -> str:
    """Hits from memory, the hit ratio, traffic and the mean latency of two tiers whose memory counts decoded bytes."""
    results = stored(folder)
    results = results[results["tiers"].notna()]
    rows = []
    for (trace, memory, label), cells in results.groupby(["trace", "memory_capacity_size", "label"], sort=False):
        share = 100 * float(cells["memory_hits"].sum()) / float(cells["requests"].sum())
        hit, byte = (100 * float(cells[name].mean()) for name in ("object_hit_ratio", "byte_hit_ratio"))
        latency = float(cells["latency_mean_ms"].mean())
        row = [f"{share:.1f}", f"{hit:.1f}", f"{100 - byte:.1f}", f"{latency:.1f}"]
        rows.append([str(trace), f"{int(str(memory)):,}", str(label), *row])
    rows.sort(key=lambda row: (row[0], int(row[1].replace(",", ""))))
    header = ["trace", "memory, decoded bytes", "policy", "from memory, %", "hit ratio, %", "traffic, %", "mean latency, ms"]
    return markdown(header, rows)
