"""Tables of documents, made from stored results.

A document marks a table with two comments; what stands between them is generated:

    <!-- table: policies -->
    <!-- end of table -->

``python -m lab evidence RESULTS DOCUMENT…`` writes the tables, and with ``--check`` fails if one differs.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from lab.cells import cell_path
from lab.errors import ResultsError, UsageError
from lab.frames import load, units
from lab.peer_tables import PEER_TABLES
from lab.planning import read_plan, run_replay
from lab.statistics import differences
from lab.tables import markdown, write_text_beside

_MARKED = re.compile(r"(<!-- table: (?P<name>[a-z0-9-]+) -->\n)(?P<body>.*?)(<!-- end of table -->)", re.DOTALL)

#: The settings of a row: everything but the policy and the seed.
_CELL = ["trace", "mode", "capacity"]


def fill(document: str, results: Path, *, source: str = "document") -> str:
    """Returns a document with its marked tables generated from the folders of results below ``results``.

    Raises ``UsageError`` for an unknown table, an open mark, or a document without any, and ``ResultsError`` if the
    results of a table are missing.
    """
    marks = len(re.findall(r"<!-- table: ", document))
    if marks == 0:
        raise UsageError(f"{source}: has no table to write; mark one with '<!-- table: NAME -->'.")

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            raise UsageError(f"{source}: there is no table '{name}'; there are {', '.join(TABLES)}.")
        suite, make = TABLES[name]
        folder = results / suite
        if not (folder / "cells").is_dir():
            raise ResultsError(folder, "has no results; run 'make evidence'")
        return f"{match[1]}{make(folder)}{match[4]}"

    filled, count = _MARKED.subn(table, document)
    if count != marks:
        raise UsageError(f"{source}: a table has no end; close it with '<!-- end of table -->'.")
    return filled


def write(results: Path, documents: list[Path], *, check: bool = False) -> list[Path]:
    """Writes the tables of documents and returns the documents that changed; with ``check``, only returns them."""
    changed = []
    for path in documents:
        text = path.read_text(encoding="utf-8")
        filled = fill(text, results, source=str(path))
        if filled != text:
            changed.append(path)
            if not check:
                write_text_beside(path, filled)
    return changed


def _means(results: pd.DataFrame) -> pd.DataFrame:
    """Returns the miss ratio of each policy in each cell, as the mean over seeds."""
    plain = results[(results["label_control"] == "given") & results["prefetch"].isna()]
    grouped = plain.groupby([*_CELL, "label"], sort=False)["object_hit_ratio"].mean().reset_index()
    grouped["miss"] = 1 - grouped["object_hit_ratio"]
    return grouped


def _by_cell(results: pd.DataFrame) -> pd.DataFrame:
    """Returns the miss ratios with a row for each cell and a column for each policy."""
    return _means(results).pivot_table(index=_CELL, columns="label", values="miss", sort=False)


def _capacities(index: pd.Index) -> list[str]:
    return sorted({str(name) for name in index}, key=lambda text: float(text.rstrip("%")))


def _signed(value: float, digits: int = 1) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _ratio(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else "1.000"


OFFLINE = ("belady", "belady(bypass=on)")


def _policies(folder: Path) -> str:
    """The miss ratio of ``learned`` by trace and capacity, and its difference to the best other policy in %."""
    table = _by_cell(load(folder))
    capacities = _capacities(table.index.get_level_values("capacity"))
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
            row.append(f"{_ratio(learned)} ({_signed(100 * (learned / best - 1))}, {name})")
        rows.append(row)
    return markdown(["trace", *capacities], rows)


def _ranking(folder: Path) -> str:
    """Each policy's miss ratio over that of the best policy of each cell, and over FIFO's."""
    table = _by_cell(load(folder))
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
                _signed(over_best[name].mean()),
                f"{int((over_best[name] <= 1e-9).sum())} of {len(online)}",
                _signed(over_best[name].max()),
                _signed(over_fifo[name].mean()),
                _signed(worst.quantile(0.9)),
                f"{_signed(worst.max())} ({worst.idxmax()})",
            ]
        )
    header = [
        "policy", "over the best of each cell, mean %", "best in", "worst cell, %", "over FIFO, mean %",
        "90th percentile of traces, %", "worst trace, %",
    ]  # fmt: skip
    return markdown(header, rows)


def _set_up(folder: Path) -> str:
    """The traces of the suite, with capacities in objects or bytes."""
    results = load(folder)
    rows = []
    for trace, cells in results.groupby("trace", sort=False):
        first = cells.iloc[0]
        sizes = cells.drop_duplicates("capacity").set_index("capacity")["capacity_size"]
        capacities = ", ".join(f"{sizes[name]:,}" for name in _capacities(sizes.index))
        rows.append(
            [str(trace)]
            + [f"{first[f'trace_{name}']:,}" for name in ("requests", "users", "objects", "categories")]
            + [str(first["size_unit"]), capacities]
        )
    return markdown(["trace", "requests", "users", "objects", "categories", "unit", "capacities"], rows)


def _gains(folder: Path) -> str:
    """The gain of the labels over one category for all objects, and over permuted labels, in points of hit ratio."""
    results = load(folder)
    by_unit = units(folder)
    learned = results[results["label"] == "learned"]
    rows = []
    for (trace, mode, capacity), cells in learned.groupby(_CELL, sort=False):
        row = [str(trace), str(mode).replace("_", " "), str(capacity)]
        for control in ("without", "permuted within=popularity,age,size"):
            # The labels take the place of the policy, so that the arms are paired in everything else.
            arms = cells[cells["label_control"].isin(["given", control])].copy()
            arms["run"] = arms["label"] = arms["label_control"]
            arms["label_control"] = "given"
            found = differences(arms, by_unit, control, candidates=["given"])
            difference, low, high = (100 * found.iloc[0][name] for name in ("difference", "low", "high"))
            row.append(f"{_signed(difference, 2)} ({_signed(low, 2)} … {_signed(high, 2)})")
        rows.append(row)
    return markdown(["trace", "caches", "capacity", "over one category, points", "over permuted labels, points"], rows)


def _prefetching(folder: Path) -> str:
    """The hit ratio in % with and without prefetching, by the time that a fetch takes."""
    results = load(folder)
    rows = []
    for (trace, mode, capacity), cells in results.groupby(_CELL, sort=False):
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


def _apps(folder: Path) -> str:
    """Hit ratio, byte hit ratio and mean latency of an app's two tiers."""
    results = load(folder)
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


def _cold(folder: Path) -> str:
    """The hit ratio in % over the first requests of a cache that knows nothing."""
    results = load(folder)
    means = results.groupby(["trace", "label"], sort=False)["object_hit_ratio"].mean().unstack("label", sort=False)
    rows = [[str(trace), *(f"{100 * value:.1f}" for value in row)] for trace, row in zip(means.index, means.values)]
    return markdown(["first requests of", *(str(name) for name in means.columns)], rows)


def rerun(
    suite: Path, results: Path, *, replay: str = "replay", cells: int = 5, seed: int = 0, traces: Sequence[str] = ()
) -> list[str]:
    """Runs some stored cells of a suite again, drawn at random, and returns the names of those whose bytes differ.

    ``traces`` are the only traces to draw from; by default all that can be read. Raises ``ResultsError`` if no stored
    cell can be run.
    """
    plan = read_plan(replay, suite.resolve(), results)
    stored = [
        cell
        for cell in plan.cells
        if cell_path(results, cell.hash).exists() and (not traces or cell.trace in traces)
    ]
    if not stored:
        raise ResultsError(results, f"has no cell of {suite} whose trace can be read")
    drawn = random.Random(seed).sample(sorted(stored, key=lambda cell: cell.hash), min(cells, len(stored)))
    different = []
    with tempfile.TemporaryDirectory(prefix="halcyon-lab-") as folder:
        for cell in drawn:
            run_replay(replay, ["sweep", str(suite), "--trace", cell.trace, "--cell", cell.hash, "--results", folder])
            again = cell_path(folder, cell.hash)
            if not again.exists() or again.read_bytes() != cell_path(results, cell.hash).read_bytes():
                different.append(cell.name)
    return different


def _ablation(folder: Path) -> str:
    """The change of the hit ratio, in points, when a part of ``learned`` is left out."""
    results = load(folder)
    means = results.groupby(["trace", "mode", "label"], sort=False)["object_hit_ratio"].mean().unstack("label", sort=False)
    changes = 100 * means.sub(means["learned"], axis=0)
    rows = []
    for label in changes.columns:
        if label == "learned":
            continue
        row = [str(label)]
        for mode in ("shared", "per_user"):
            cells = changes[changes.index.get_level_values("mode") == mode][label].dropna()
            row += ["–", "–"] if cells.empty else [_signed(cells.mean(), 2), f"{_signed(cells.min(), 2)} … {_signed(cells.max(), 2)}"]
        rows.append(row)
    header = ["learner", "shared, mean", "shared, traces", "per user, mean", "per user, traces"]
    return markdown(header, rows)


def _smoke(folder: Path) -> str:
    """What the smoke test prints: hit ratios of two policies on the bundled traces."""
    results = load(folder)
    rows = []
    for trace in ("shop", "feed"):
        for label in ("kingfisher", "learned"):
            cells = results[(results["trace"] == trace) & (results["label"] == label)]
            ratio = 100 * cells["object_hit_ratio"].mean()
            rows.append([f"{trace}, {label}", f"{ratio:.2f} %", f"{cells['latency_mean_ms'].mean():.1f} ms"])
    return markdown(["run", "hit ratio", "mean latency"], rows)


def _claims(folder: Path) -> str:
    """The claims with the command that checks each, and the figure to expect."""
    apps = load(folder.parent / "kingfisher")
    shop = apps[apps["trace"] == "shop"].groupby("label")["object_hit_ratio"].mean() * 100
    table = _by_cell(load(folder))
    online = table.drop(columns=[name for name in OFFLINE if name in table.columns])
    best = int((online["learned"] <= online.min(axis=1) + 1e-9).sum())
    over = 100 * (online.div(online.min(axis=1), axis=0) - 1)
    second = over.drop(columns="learned").mean().idxmin()
    prefetching = load(folder.parent / "prefetch")

    def hit_ratio(trace: str, latency: int | None) -> str:
        cells = prefetching[(prefetching["trace"] == trace) & (prefetching["mode"] == "per_user")]
        chosen = (
            cells[cells["prefetch"].isna()]
            if latency is None
            else cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == latency)]
        )
        return f"{100 * chosen['object_hit_ratio'].mean():.1f}"

    gains = {tuple(row.split(" | ")[:3]): row.split(" | ")[4] for row in _gains(folder.parent / "hypothesis").splitlines()}
    gain = gains[("| completejourney", "per user", "60")].rstrip(" |")
    news, shopping = ("globo_news", "onlineretail")
    rows = [
        [
            "An app's two tiers have the higher hit ratio under `learned` than under Kingfisher's policies (`shop`, bundled)",
            "`replay sweep Experiments/suites/kingfisher.yml --trace shop`", "10 s",
            f"{shop['learned']:.1f} and {shop['kingfisher']:.1f} %", "0",
        ],
        [
            "`learned` has the lowest miss ratio of 21 online policies, ties included, in most cells of a shared cache",
            "`replay sweep Experiments/suites/policies.yml`", "4 min", f"{best} of {len(online)} cells", "0",
        ],
        [
            f"Its mean excess over the best policy of each cell is the smallest; the next is that of {second}",
            "the same", "", f"{_signed(over['learned'].mean())} and {_signed(over[second].mean())} %", "0",
        ],
        [
            "Categories help in per-user caches of a grocer's customers (60 objects, over permuted labels)",
            "`replay sweep Experiments/suites/hypothesis.yml`", "3 min", f"{gain} points", "the interval",
        ],
        [
            "Prefetching helps readers of news, and not customers of a wholesale shop, when a fetch takes 0.5 s",
            "`replay sweep Experiments/suites/prefetch.yml`", "2 min",
            f"news {hit_ratio(news, None)} → {hit_ratio(news, 500_000)} %, "
            f"shop {hit_ratio(shopping, None)} → {hit_ratio(shopping, 500_000)} %", "0",
        ],
    ]  # fmt: skip
    return markdown(["claim", "command", "time", "expected", "tolerance"], rows)


#: The tables by name: the folder of results, and the function that makes the table.
TABLES: Mapping[str, tuple[str, Callable[[Path], str]]] = {
    "claims": ("policies", _claims),
    "smoke": ("kingfisher", _smoke),
    "set-up": ("policies", _set_up),
    "policies": ("policies", _policies),
    "ranking": ("policies", _ranking),
    "hypothesis": ("hypothesis", _gains),
    "ablation": ("ablation", _ablation),
    "prefetch": ("prefetch", _prefetching),
    "kingfisher": ("kingfisher", _apps),
    "cold-start": ("cold-start", _cold),
    **PEER_TABLES,
}
