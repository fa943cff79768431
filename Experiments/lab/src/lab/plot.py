"""Figures of stored results. Every function returns a ``matplotlib.figure.Figure`` and leaves no global state.

``figure.savefig("curves.svg")`` writes one; in a notebook the figure as the last value of a cell is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from lab.comparison import SETTING, Measure
from lab.errors import UsageError

#: Colours that people with colour-vision deficiency can tell apart: those of Okabe and Ito (2008) without yellow, and
#: violet.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7700DD")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: The line styles: the first eight lines have the first one, the next eight the second.
LINES = ("-", "--", ":", "-.")

#: Cells are in one panel if they agree in these columns.
PANEL = tuple(name for name in SETTING if name not in ("capacity", "tiers"))


def curves(results: pd.DataFrame, *, measure: Measure = "object", labels: Sequence[str] | None = None) -> Figure:
    """Returns hit ratios by capacity: one panel per trace, mode, label control and prefetch policy, one line per
    label.

    A line is the mean over seeds and permutations; the band reaches from the smallest to the largest of them.
    ``results`` is a frame of ``lab.load``, ``labels`` are values of the column ``run``: the lines and their order
    (default: all, sorted). Cells with tiers have no single capacity and are left out. Raises ``UsageError`` if no cell
    is left.
    """
    column = _column(measure)
    shown, chosen = _shown(results, labels)
    figure, panels = _panels(shown)
    for axes, (title, cells) in panels:
        for place, label in enumerate(chosen):
            _line(axes, cells[cells["run"] == label], column, label, place)
        _finish(axes, title, cells, f"{measure} hit ratio")
    return figure


def difference(
    results: pd.DataFrame, baseline: str, *, measure: Measure = "object", labels: Sequence[str] | None = None
) -> Figure:
    """Returns differences to a baseline by capacity, in points of hit ratio, with panels and bands as ``curves``.

    The baseline's mean over its own seeds is subtracted from every run. Panels in which the baseline was not run are
    left out. Raises ``UsageError`` if the baseline has no cell.
    """
    column = _column(measure)
    shown, chosen = _shown(results, labels)
    keys = [*PANEL, "capacity_size"]
    reference = results[results["run"] == baseline].groupby(keys, dropna=False, observed=True)[column].mean()
    if reference.empty:
        raise UsageError(f"no cell has the run '{baseline}'; runs in these results: {', '.join(chosen)}.")
    joined = shown.merge(reference.rename("reference").reset_index(), on=keys, how="inner")
    joined["points"] = 100 * (joined[column] - joined["reference"])
    figure, panels = _panels(joined)
    for axes, (title, cells) in panels:
        for place, label in enumerate(chosen):
            if label != baseline:
                _line(axes, cells[cells["run"] == label], "points", label, place)
        axes.axhline(0, color="0.4", linewidth=1, linestyle="--", label=baseline)
        _finish(axes, title, cells, f"{measure} hit ratio minus {baseline}, points")
    return figure


def forest(differences: pd.DataFrame) -> Figure:
    """Returns a forest plot: one row per difference of ``lab.differences``, with its interval, in points of hit ratio.

    A row whose interval excludes 0 has a filled marker. A row without an interval has a marker only. Raises
    ``UsageError`` if there is no row.
    """
    if differences.empty:
        raise UsageError("there is no difference to plot; two policies with equal settings are needed.")
    rows = differences.reset_index(drop=True)
    figure = _figure(8, 0.9 + 0.3 * len(rows))
    axes = figure.subplots()
    for place, row in rows.iterrows():
        height = -float(str(place))
        centre, low, high = (100 * float(row[name]) for name in ("difference", "low", "high"))
        colour = COLOURS[0] if centre >= 0 else COLOURS[1]
        clear = low > 0 or high < 0
        if not np.isnan(low):
            axes.plot([low, high], [height, height], color=colour, linewidth=1.6)
        axes.plot([centre], [height], marker="o", color=colour, markerfacecolor=colour if clear else "white")
    axes.axvline(0, color="0.4", linewidth=1, linestyle="--")
    axes.set_yticks([-place for place in range(len(rows))], row_names(rows))
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_xlabel(f"hit ratio minus {rows['baseline'].iloc[0]}, points")
    _tidy(axes)
    return figure


def _column(measure: str) -> Literal["object_hit_ratio", "byte_hit_ratio"]:
    if measure == "object":
        return "object_hit_ratio"
    if measure == "byte":
        return "byte_hit_ratio"
    raise UsageError(f"the measure is '{measure}'; 'object' or 'byte' is expected.")


def _shown(results: pd.DataFrame, labels: Sequence[str] | None) -> tuple[pd.DataFrame, list[str]]:
    known = sorted(set(results["run"]))
    chosen = known if labels is None else list(labels)
    for label in chosen:
        if label not in known:
            raise UsageError(f"no cell has the run '{label}'; runs in these results: {', '.join(known) or 'none'}.")
    shown = results[results["run"].isin(chosen) & results["tiers"].isna() & results["capacity_size"].notna()]
    if shown.empty:
        raise UsageError("there is no cell with a capacity to plot.")
    return shown, chosen


def _panels(cells: pd.DataFrame) -> tuple[Figure, list[tuple[Axes, tuple[str, pd.DataFrame]]]]:
    groups = panels(cells)
    columns = min(2, len(groups)) or 1
    rows = max(1, -(-len(groups) // columns))
    figure = _figure(5.2 * columns, 3.4 * rows)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid[len(groups) :]:
        axes.remove()
    return figure, list(zip(grid, groups))


def panels(cells: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Returns the cells by the columns of ``PANEL``, each group with its name, so that no mean mixes settings."""
    groups = cells.groupby(list(PANEL), dropna=False)
    return [(panel_name(group.iloc[0], varying(cells)), group) for _, group in groups]


def varying(cells: pd.DataFrame) -> list[str]:
    """Returns those columns of ``PANEL`` that a name need not mention unless they differ between cells."""
    columns = [name for name in ("warmup", "result_version") if cells[name].nunique(dropna=False) > 1]
    by_trace = cells.groupby(["trace", "mode"])["fingerprint"].nunique()
    return columns + (["fingerprint"] if (by_trace > 1).any() else [])


def panel_name(row: "pd.Series[Any]", varying: Sequence[str]) -> str:
    """Returns the name of a setting: trace, mode, and what is unusual or differs between cells."""
    name = f"{row['trace']}, {str(row['mode']).replace('_', ' ')}"
    if row["label_control"] != "given":
        name += f", labels {row['label_control']}"
    if not pd.isna(row["prefetch"]):
        latency = float(row["prefetch_latency_us"]) / 1000
        name += f", prefetch {row['prefetch']} {row['prefetch_budget']} {latency:g} ms"
        if row["prefetch_parameters"] != "{}":
            name += f" {row['prefetch_parameters']}"
        if not pd.isna(row["announce"]):
            name += f", announced {row['announce']}"
    if not pd.isna(row["pretrain"]):
        name += f", trained on {row['pretrain']}"
    if not pd.isna(row["restart"]):
        name += f", restart {row['restart']}"
    if not pd.isna(row["users_part"]):
        name += f", users {row['users_part']}"
    several = {"fingerprint": "requests", "warmup": "warm-up", "result_version": "result version"}
    for column in varying:
        name += f", {several[column]} {row[column]}"
    return name


def row_names(differences: pd.DataFrame) -> list[str]:
    """Returns a name for each row of ``lab.differences``."""
    several = varying(differences)
    names = []
    for _, row in differences.iterrows():
        capacity = "tiers" if pd.isna(row["capacity"]) else row["capacity"]
        names.append(f"{row['run']}: {panel_name(row, several)}, {capacity}")
    return names


def _line(axes: Axes, cells: pd.DataFrame, column: str, label: str, place: int) -> None:
    if cells.empty:
        return
    grouped = cells.assign(capacity_size=cells["capacity_size"].astype("int64")).groupby("capacity_size")[column]
    spread = grouped.agg(["mean", "min", "max"]).sort_index()
    x = spread.index.to_numpy(dtype=np.float64)
    again, colour = place // len(COLOURS), COLOURS[place % len(COLOURS)]
    axes.plot(
        x, spread["mean"].to_numpy(), color=colour, marker=MARKERS[(again + place) % len(MARKERS)], markersize=4,
        linestyle=LINES[again % len(LINES)], linewidth=1.4, label=label,
    )  # fmt: skip
    axes.fill_between(x, spread["min"].to_numpy(), spread["max"].to_numpy(), color=colour, alpha=0.18, linewidth=0)


def _finish(axes: Axes, title: str, cells: pd.DataFrame, ylabel: str) -> None:
    units = sorted(set(cells["size_unit"].dropna()))
    axes.set_xscale("log")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(f"capacity, {' or '.join(units) or 'objects'}")
    axes.set_ylabel(ylabel)
    axes.legend(fontsize=7, frameon=False)
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.grid(True, color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
