"""Figures that answer one question over several traces: panels side by side, one legend, a title, and units on the axes.

``lab.plot`` draws stored cells as they are; the functions here draw frames of ``lab.contrasts`` as well. Each returns
a ``matplotlib.figure.Figure`` and leaves no global state.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from lab.contrasting import OFFLINE, calibration_error, over_traces
from lab.errors import UsageError
from lab.frames import capacity_key
from lab.plot import COLOURS, LINES, MARKERS

#: What ``policies`` shows: miss ratios, differences to a baseline, or the share of the gap to the optimum.
Show = Literal["miss", "points", "gap"]

#: The places of common policies among the colours, so that each has one colour in all figures.
_PLACES = {"lru": 0, "learned": 1, "s3-fifo": 2, "arc": 3, "w-tinylfu": 4, "gdsf": 5}
_GREY = "0.55"


def policies(
    results: pd.DataFrame,
    show: Show = "points",
    *,
    highlight: Sequence[str],
    baseline: str = "lru",
    optimum: str = "belady",
    title: str = "",
    columns: int = 4,
) -> Figure:
    """Returns what policies reach by capacity, one panel per trace and mode, means over seeds.

    ``miss`` shows miss ratios in percent; ``points`` hit ratios minus the baseline's in points; ``gap`` the share of
    the gap between baseline and optimum that a policy closes, in percent. The lines are ``highlight``; the others are
    a grey area from the lowest to the highest of them, cut where it leaves the range of the lines. Capacities are percentages if all are given as such, otherwise
    sizes. Raises ``UsageError`` if a highlighted policy, or the baseline or optimum where it is needed, has no cell.
    """
    present = set(results["run"])
    needed = {"miss": (), "points": (baseline,), "gap": (baseline, optimum)}[show]
    for label in (*highlight, *needed):
        if label not in present:
            raise UsageError(f"no cell has the run '{label}'; runs in these results: {', '.join(sorted(present))}.")
    cells = results.assign(x=_capacity(results), panel=_setting(results))
    texts = {float(x): str(text) for x, text in zip(cells["x"], cells["capacity"])}
    table = cells.groupby(["panel", "x", "run"], sort=False)["object_hit_ratio"].mean().unstack("run") * 100
    if show == "miss":
        shown, ylabel = 100 - table, "miss ratio, %"
    elif show == "points":
        shown, ylabel = table.sub(table[baseline], axis=0), f"hit ratio minus {baseline}'s, points"
    else:
        gap = table[optimum] - table[baseline]
        shown = table.sub(table[baseline], axis=0).div(gap.where(gap > 0), axis=0) * 100
        ylabel = f"closed of the gap\nfrom {baseline} to {optimum}, %"
    left_out = {"miss": set(), "points": {baseline}, "gap": {baseline, optimum}}[show]
    others = [run for run in shown.columns if run not in {*highlight, *left_out, *OFFLINE}]
    lines = [run for run in highlight if run not in left_out]
    names = list(dict.fromkeys(cells["panel"]))
    figure, grid = _grid(len(names), 3.5, 3.3, columns=columns, title=title)
    for axes, name in zip(grid, names):
        of_panel = shown.xs(name, level="panel").sort_index()
        x = of_panel.index.to_numpy(dtype=np.float64)
        if others:
            rest = of_panel[others].to_numpy(dtype=np.float64)
            low, high = rest.min(axis=1), rest.max(axis=1)
            axes.fill_between(x, low, high, color="0.88", linewidth=0, label=f"range of {len(others)} other policies")
        for run, place in zip(lines, _places(lines)):
            axes.plot(x, of_panel[run].to_numpy(), label=run, **_line(run, place))
        drawn = of_panel[lines].to_numpy(dtype=np.float64)
        if show != "miss":
            axes.axhline(0, color="0.3", linewidth=1, linestyle="--", label=baseline)
            drawn = np.append(drawn, 0.0)
        if not np.isnan(drawn).all():
            least, most = float(np.nanmin(drawn)), float(np.nanmax(drawn))
            room = 0.12 * (most - least) or 1.0
            axes.set_ylim(least - room, most + room)
        axes.set_xscale("log")
        axes.set_xticks(x, [texts[value].rstrip("%") for value in x])
        axes.minorticks_off()
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(_capacity_label(results))
        _tidy(axes)
    for row in range(0, len(names), columns):
        grid[row].set_ylabel(ylabel)
    _legend(figure, grid)
    return figure


def intervals(
    frame: pd.DataFrame,
    *,
    row: str,
    xlabel: str,
    panel: str | None = None,
    series: str | None = None,
    value: str = "difference",
    low: str = "low",
    high: str = "high",
    scale: float = 100,
    zero: float | None = 0,
    marks: Mapping[str, float] | None = None,
    title: str = "",
    ylabel: str = "",
    columns: int = 4,
    width: float = 3.3,
) -> Figure:
    """Returns values with their intervals: a panel per value of ``panel``, a line of text per ``row``, a colour per
    ``series``, all in order of first appearance.

    Values are multiplied by ``scale``. A marker is filled if its interval excludes ``zero``, and open otherwise; with
    ``zero=None`` all are filled. ``marks`` are further vertical lines with their names. Raises ``UsageError`` for an
    empty frame.
    """
    if frame.empty:
        raise UsageError("there is no value to draw.")
    rows = list(dict.fromkeys(frame[row]))
    kinds = list(dict.fromkeys(frame[series])) if series else [""]
    names = list(dict.fromkeys(frame[panel])) if panel else [""]
    figure, grid = _grid(
        len(names), width, 1.3 + 0.24 * len(rows) * max(1.4, len(kinds)), columns=columns, title=title, sharex=True
    )
    for axes, name in zip(grid, names):
        of_panel = frame[frame[panel] == name] if panel else frame
        if zero is not None:
            axes.axvline(zero * scale, color="0.3", linewidth=1, linestyle="--")
        for text, place in (marks or {}).items():
            axes.axvline(place, color=_GREY, linewidth=1, linestyle=":", label=text)
        for number, (kind, place) in enumerate(zip(kinds, _places(kinds))):
            shift = 0 if len(kinds) == 1 else 0.5 * (number / (len(kinds) - 1) - 0.5)
            chosen = of_panel[of_panel[series] == kind] if series else of_panel
            colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
            for _, drawn in chosen.iterrows():
                height = rows.index(drawn[row]) + shift
                centre, least, most = (scale * float(drawn[column]) for column in (value, low, high))
                clear = zero is None or least > zero * scale or most < zero * scale
                if not np.isnan(least):
                    axes.plot([least, most], [height, height], color=colour, linewidth=1.8)
                axes.plot(
                    [centre], [height], color=colour, marker=marker, markersize=5.5, linestyle="none",
                    markerfacecolor=colour if clear else "white",
                )  # fmt: skip
            axes.plot([], [], color=colour, marker=marker, linewidth=1.8, label=kind)
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(xlabel)
        _tidy(axes)
    _share_rows(grid, len(names), columns, ylabel)
    if series or marks:
        _legend(figure, grid)
    return figure


def curves(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    series: str,
    xlabel: str,
    ylabel: str,
    panel: str | None = None,
    low: str | None = None,
    high: str | None = None,
    scale: float = 100,
    zero: bool = False,
    title: str = "",
    columns: int = 4,
    width: float = 4.2,
    height: float = 3.4,
) -> Figure:
    """Returns lines over steps named by ``x``, at equal distances in order of first appearance, a line per ``series``.

    ``low`` and ``high`` are the columns of an interval, drawn as bars. ``zero`` adds a horizontal line at 0. A panel has
    the steps that occur in it. If no line occurs in two panels, each has its own legend. Raises ``UsageError`` for an
    empty frame.
    """
    if frame.empty:
        raise UsageError("there is no value to draw.")
    all_steps = list(dict.fromkeys(frame[x]))
    names = list(dict.fromkeys(frame[panel])) if panel else [""]
    parts = [frame[frame[panel] == name] if panel else frame for name in names]
    kinds = [list(dict.fromkeys(part[series])) for part in parts]
    is_disjoint = len(names) > 1 and len({kind for one in kinds for kind in one}) == sum(map(len, kinds))
    if not is_disjoint:
        kinds = [list(dict.fromkeys(frame[series]))] * len(names)
    figure, grid = _grid(len(names), width, height, columns=columns, title=title)
    for axes, name, part, shown in zip(grid, names, parts, kinds):
        steps = [step for step in all_steps if (part[x] == step).any()]
        if zero:
            axes.axhline(0, color="0.3", linewidth=1, linestyle="--")
        for number, (kind, place) in enumerate(zip(shown, _places(shown))):
            line = part[part[series] == kind]
            shift = 0.04 * (number - (len(shown) - 1) / 2)
            places = np.asarray([steps.index(step) + shift for step in line[x]], dtype=np.float64)
            values = scale * line[y].to_numpy(dtype=np.float64)
            style = _line(str(kind), place)
            axes.plot(places, values, label=kind, **style)
            if low and high:
                ends = [scale * line[column].to_numpy(dtype=np.float64) for column in (low, high)]
                axes.vlines(places, ends[0], ends[1], color=style["color"], linewidth=1.4)
        axes.set_xticks(range(len(steps)), steps)
        axes.set_xlim(-0.4, len(steps) - 0.6)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(xlabel)
        if is_disjoint:
            axes.legend(fontsize=8, frameon=False)
        _tidy(axes)
    for place in range(0, len(names), columns):
        grid[place].set_ylabel(ylabel)
    if not is_disjoint:
        _legend(figure, grid)
    return figure


def dots(
    frame: pd.DataFrame, *, row: str, series: str, measures: Mapping[str, str], scale: float = 100, title: str = "",
    width: float = 4.4,
) -> Figure:  # fmt: skip
    """Returns several measures of the same rows side by side: a panel per measure, a colour per ``series``.

    ``measures`` are columns by the text of their axis; each has its own axis with a line at 0. Raises ``UsageError``
    for an empty frame.
    """
    if frame.empty:
        raise UsageError("there is no value to draw.")
    rows, kinds = list(dict.fromkeys(frame[row])), list(dict.fromkeys(frame[series]))
    figure, grid = _grid(len(measures), width, 1.3 + 0.34 * len(rows), columns=len(measures), title=title)
    for axes, (label, column) in zip(grid, measures.items()):
        axes.axvline(0, color="0.3", linewidth=1, linestyle="--")
        for kind, place in zip(kinds, _places(kinds)):
            points = frame[frame[series] == kind]
            heights = [rows.index(one) for one in points[row]]
            axes.plot(
                scale * points[column].to_numpy(dtype=np.float64), heights, color=COLOURS[place % len(COLOURS)],
                marker=MARKERS[place % len(MARKERS)], markersize=6.5, linewidth=0, alpha=0.9, label=kind,
            )  # fmt: skip
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel(label)
        _tidy(axes)
    _share_rows(grid, len(measures), len(measures), "")
    _legend(figure, grid)
    return figure


def scatter(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    series: str,
    xlabel: str,
    ylabel: str,
    panel: str | None = None,
    label: str | None = None,
    join: bool = False,
    scale: tuple[float, float] = (100, 100),
    zero: bool = False,
    title: str = "",
    columns: int = 3,
    width: float = 3.9,
    height: float = 3.6,
) -> Figure:
    """Returns points of two measures, a colour and a marker per ``series``; ``join`` connects those of one series.

    ``label`` is the column of a short text beside each point, ``scale`` multiplies the two measures, ``zero`` adds a
    horizontal line at 0. Raises ``UsageError`` for an empty frame.
    """
    if frame.empty:
        raise UsageError("there is no value to draw.")
    kinds = list(dict.fromkeys(frame[series]))
    names = list(dict.fromkeys(frame[panel])) if panel else [""]
    figure, grid = _grid(len(names), width, height, columns=columns, title=title)
    for axes, name in zip(grid, names):
        of_panel = frame[frame[panel] == name] if panel else frame
        if zero:
            axes.axhline(0, color="0.3", linewidth=1, linestyle="--")
        for kind, place in zip(kinds, _places(kinds)):
            points = of_panel[of_panel[series] == kind]
            across, up = (points[column].to_numpy(dtype=np.float64) for column in (x, y))
            axes.plot(
                scale[0] * across, scale[1] * up, color=COLOURS[place % len(COLOURS)],
                marker=MARKERS[place % len(MARKERS)], markersize=6, linewidth=1.2 if join else 0, label=kind,
            )  # fmt: skip
            if label:
                for text, at, height in zip(points[label], scale[0] * across, scale[1] * up):
                    axes.annotate(str(text), (at, height), xytext=(5, 4), textcoords="offset points", fontsize=7)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel(xlabel)
        axes.margins(x=0.1)
        _tidy(axes)
    for place in range(0, len(names), columns):
        grid[place].set_ylabel(ylabel)
    if len(kinds) > 1:
        _legend(figure, grid)
    return figure


def ranking(panels: Mapping[str, pd.DataFrame], *, highlight: str = "learned", title: str = "") -> Figure:
    """Returns the excess of each policy in every setting, with mean, 90th percentile and worst case.

    ``panels`` are frames of ``lab.excess`` by the text of their axis; policies are sorted by their mean in the first.
    A point is a setting. The worst one of each policy is named. The mean is that over traces: one with its sizes and
    with every size 1 counts once. The axis is linear up to 10 % and logarithmic beyond.
    """
    first = next(iter(panels.values()))
    means = {str(run): _mean(cells) for run, cells in first.groupby("run")}
    order = sorted(means, key=lambda run: means[run])
    figure, grid = _grid(len(panels), 5.8, 1.2 + 0.27 * len(order), columns=len(panels), title=title)
    for axes, (xlabel, frame) in zip(grid, panels.items()):
        axes.set_xscale("symlog", linthresh=10, linscale=1.2)
        for height, run in enumerate(order):
            cells = frame[frame["run"] == run]
            if cells.empty:
                continue
            values = cells["excess"].to_numpy(dtype=np.float64)
            colour = COLOURS[1] if run == highlight else COLOURS[0]
            axes.plot(values, np.full(len(values), float(height)), ".", color=colour, alpha=0.22, markersize=5)
            axes.plot([_mean(cells)], [height], "o", color=colour, markersize=6)
            axes.plot([np.quantile(values, 0.9)], [height], "|", color=colour, markersize=11, markeredgewidth=2)
            worst = cells.iloc[int(values.argmax())]
            if not values.any():
                continue
            axes.annotate(
                f" {worst['trace']} {worst['capacity']}", (float(worst["excess"]), height), fontsize=6.5,
                va="center", color="0.35", xytext=(3, 0), textcoords="offset points",
            )  # fmt: skip
        axes.axvline(0, color="0.3", linewidth=1, linestyle="--")
        axes.set_yticks(range(len(order)), order)
        axes.set_ylim(len(order) - 0.4, -0.6)
        axes.set_xlabel(xlabel)
        least, most = axes.get_xlim()
        axes.set_xlim(least, most * 6)
        ticks = [tick for tick in (-90, -30, -10, -5, 0, 5, 10, 30, 100, 300, 1000, 3000) if least <= tick <= most * 2]
        axes.set_xticks(ticks, [f"{tick:+d}".replace("-", "−") if tick else "0" for tick in ticks])
        axes.minorticks_off()
        _tidy(axes)
    grid[0].plot([], [], ".", color=_GREY, label="a trace at a capacity")
    grid[0].plot([], [], "o", color=_GREY, label="mean")
    grid[0].plot([], [], "|", color=_GREY, markersize=11, markeredgewidth=2, linestyle="none", label="90th percentile")
    _share_rows(grid, len(panels), len(panels), "")
    _legend(figure, grid)
    return figure


def _mean(cells: pd.DataFrame) -> float:
    """Returns the mean excess over traces."""
    return float(over_traces(cells.set_index("trace")["excess"]).mean())


def against(frame: pd.DataFrame, *, title: str = "", limit: float = 10) -> Figure:
    """Returns a map of ``lab.against_others``: traces by capacities, blue where the policy is ahead.

    Each field has the excess over the best other policy in percent of its miss ratio, and that policy's name where the
    policy is behind. Colours end at ± ``limit`` percent. Traces are sorted by their worst field.
    """
    if frame.empty:
        raise UsageError("there is no value to draw.")
    capacities = sorted(dict.fromkeys(str(text) for text in frame["capacity"]), key=capacity_key)
    order = frame.groupby("trace")["excess"].max().sort_values(ascending=False).index
    figure, grid = _grid(1, 2.6 + 1.35 * len(capacities), 1.5 + 0.3 * len(order), columns=1, title=title)
    axes = grid[0]
    values = frame.pivot_table(index="trace", columns="capacity", values="excess", sort=False, observed=True)
    values = values.reindex(index=order, columns=pd.Index(capacities))
    names = frame.set_index(["trace", "capacity"])["against"].to_dict()
    norm = TwoSlopeNorm(0, -limit, limit)
    image = axes.imshow(values.to_numpy(), cmap="RdBu_r", norm=norm, aspect="auto")
    for (across, down), excess in zip(np.ndindex(values.shape), values.to_numpy().ravel()):
        trace, capacity = order[across], capacities[down]
        if np.isnan(excess):
            continue
        text = "0" if abs(excess) < 0.05 else f"{excess:+.1f}".replace("-", "−")
        if excess >= 0.05:
            text += f"  {names[trace, capacity]}"
        dark = abs(excess) > 0.7 * limit
        axes.text(down, across, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
    axes.set_xticks(range(len(capacities)), capacities)
    axes.set_yticks(range(len(order)), list(order))
    axes.set_xlabel("capacity, share of the distinct objects or bytes")
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02, extend="both")
    bar.set_label("miss ratio over that of the best other policy, %")
    return figure


def calibration(panels: Mapping[str, pd.DataFrame], *, title: str = "", columns: int = 4) -> Figure:
    """Returns predicted probabilities against observed frequencies, with intervals, and the samples of each bin.

    ``panels`` are frames of ``lab.calibration`` by name. A bin whose interval includes the mean prediction is filled,
    the others are open. The counts have a logarithmic axis.
    """
    if not panels:
        raise UsageError("there is no value to draw.")
    figure = _new(3.1 * len(panels) + 0.4, 4.3, title)
    grid = figure.subplots(2, len(panels), squeeze=False, sharex=True, sharey="row", height_ratios=[3, 1])
    for (axes, below), (name, bins) in zip(grid.T, panels.items()):
        axes.plot([0, 100], [0, 100], color="0.3", linewidth=1, linestyle="--", label="predicted = observed")
        for agrees, label in ((True, "interval includes the prediction"), (False, "interval does not")):
            chosen = bins[bins["agrees"] == agrees]
            x, y = 100 * chosen["predicted"].to_numpy(), 100 * chosen["observed"].to_numpy()
            colour = COLOURS[0] if agrees else COLOURS[1]
            axes.vlines(x, 100 * chosen["low"], 100 * chosen["high"], color=colour, linewidth=1.6)
            axes.plot(
                x, y, "o" if agrees else "s", color=colour, markersize=5,
                markerfacecolor=colour if agrees else "white", label=label,
            )  # fmt: skip
        axes.set_title(f"{name}\nmean error {100 * calibration_error(bins):.1f} points", fontsize=10)
        edges, widths = 100 * bins["from"].to_numpy(), 100 * (bins["to"] - bins["from"]).to_numpy()
        below.bar(edges, bins["samples"], width=widths, align="edge", color="0.7", edgecolor="white")
        below.set_yscale("log")
        below.set_xlabel("predicted probability, %")
        for one in (axes, below):
            _tidy(one)
    grid[0][0].set_ylabel("requested again\nwithin the window, %")
    grid[1][0].set_ylabel("samples")
    _legend(figure, list(grid[0]))
    return figure


def _capacity(results: pd.DataFrame) -> "pd.Series[float]":
    texts = results["capacity"].astype("string")
    if bool(texts.str.endswith("%").all()):
        return texts.str.rstrip("%").astype("float64")
    return results["capacity_size"].astype("float64")


def _capacity_label(results: pd.DataFrame) -> str:
    if bool(results["capacity"].astype("string").str.endswith("%").all()):
        return "capacity, % of the distinct\nobjects or bytes (log scale)"
    units = sorted(set(results["size_unit"].dropna()) - {"bytes"})
    return f"capacity{''.join(f', {unit}' for unit in units)} (log scale)"


def _setting(results: pd.DataFrame) -> "pd.Series[str]":
    names = results["trace"].astype("string")
    if results["mode"].nunique() > 1:
        names = names + ", " + results["mode"].astype("string").str.replace("_", " ")
    return names


def _places(names: Sequence[str]) -> list[int]:
    """Returns a place among the colours for each name; common policies have their own."""
    taken = {_PLACES[name] for name in names if name in _PLACES}
    free = iter(place for place in range(len(names) + len(_PLACES)) if place not in taken)
    return [_PLACES[name] if name in _PLACES else next(free) for name in names]


def _line(run: str, place: int) -> dict[str, Any]:
    if run in OFFLINE:
        return {"color": "black", "linewidth": 1.6, "linestyle": ":"}
    return {
        "color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)], "markersize": 4.5,
        "linewidth": 1.6, "linestyle": LINES[2 * (place // len(COLOURS) % 2) + place // 3 % 2],
    }  # fmt: skip


def _grid(
    count: int, width: float, height: float, *, columns: int, title: str, sharex: bool = False
) -> tuple[Figure, list[Axes]]:
    across = min(columns, count)
    rows = -(-count // across)
    figure = _new(width * across + 1, height * rows + 0.5, title)
    grid = list(figure.subplots(rows, across, squeeze=False, sharex=sharex).ravel())
    for axes in grid[count:]:
        axes.remove()
    return figure, grid[:count]


def _new(width: float, height: float, title: str) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained", dpi=100)
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle("\n".join(textwrap.wrap(title, max(40, int(width * 10)))), fontsize=11, fontweight="bold")
    return figure


def _share_rows(grid: Sequence[Axes], count: int, columns: int, ylabel: str) -> None:
    """Leaves the names of rows to the first panel of each line of panels."""
    for place in range(count):
        if place % columns:
            grid[place].set_yticklabels([])
        elif ylabel:
            grid[place].set_ylabel(ylabel)


def _legend(figure: Figure, grid: Sequence[Axes]) -> None:
    entries: dict[str, Any] = {}
    for axes in grid:
        for handle, text in zip(*axes.get_legend_handles_labels()):
            if text:
                entries.setdefault(str(text), handle)
    if entries:
        figure.legend(
            list(entries.values()), list(entries), loc="outside lower center", fontsize=8, frameon=False,
            ncols=min(len(entries), max(2, int(figure.get_figwidth() // 2))),
        )  # fmt: skip


def _tidy(axes: Axes) -> None:
    axes.grid(True, color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
