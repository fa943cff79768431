"""Tables of the suites of an app's cache: kingfisher and bytes."""

from __future__ import annotations

from pathlib import Path

from lab.evidence.formats import stored
from lab.tables import markdown


def apps(folder: Path) -> str:
    """Hit ratio, byte hit ratio and mean latency of an app's two tiers."""
    results = stored(folder)
    rows = []
    results = results.sort_values(["trace", "object_hit_ratio"], ascending=[True, False], kind="stable")
    for (trace, label), cells in results.groupby(["trace", "label"], sort=False):
        has_sizes = str(cells.iloc[0]["size_unit"]) == "bytes"
        rows.append(
            [
                str(trace),
                str(label),
                f"{100 * cells['memory_hits'].sum() / cells['requests'].sum():.1f}",
                f"{100 * cells['object_hit_ratio'].mean():.1f}",
                f"{100 * cells['byte_hit_ratio'].mean():.1f}" if has_sizes else "–",
                f"{cells['latency_mean_ms'].mean():.1f}",
            ]
        )
    return markdown(["trace", "policy", "from memory, %", "hit ratio, %", "byte hit ratio, %", "mean latency, ms"], rows)


def tiers(folder: Path) -> str:
    """The hit ratio of an app's two tiers by policy, and the mean latency of the first and the last policy."""
    results = stored(folder)
    names = ["kingfisher", "lru", "s3-fifo", "gdsf", "learned"]
    rows = []
    for trace, cells in results.groupby("trace", sort=True):
        means = cells.groupby("label")[["object_hit_ratio", "latency_mean_ms"]].mean()
        ratios = [f"{100 * float(means['object_hit_ratio'][name]):.1f}" for name in names]
        latencies = [f"{float(means['latency_mean_ms'][name]):.1f}" for name in (names[0], names[-1])]
        rows.append([str(trace), *ratios, *latencies])
    header = ["hit ratio, %", *names, f"latency of {names[0]}, ms", f"of {names[-1]}, ms"]
    return markdown(header, rows)


def smoke(folder: Path) -> str:
    """What the smoke test prints: hit ratios of two policies on the bundled traces."""
    results = stored(folder)
    rows = []
    for trace in ("shop", "feed"):
        for label in ("kingfisher", "learned"):
            cells = results[(results["trace"] == trace) & (results["label"] == label)]
            ratio = 100 * cells["object_hit_ratio"].mean()
            rows.append([f"{trace}, {label}", f"{ratio:.2f} %", f"{cells['latency_mean_ms'].mean():.1f} ms"])
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
    means = results.groupby(["trace", "capacity", "label"], sort=False)[["object_hit_ratio", "byte_hit_ratio"]].mean()
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
