"""Figures that compare traces: what is drawn, read back from the figure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle
from test_contrasts import ranked
from test_figures import xs, ys

import lab
from lab import charts


def test_policies_show_misses_points_and_the_gap(tmp_path: Path) -> None:
    ranked(tmp_path)
    results = lab.load(tmp_path)
    expected = {
        "miss": [100 * 6 / 12, 100 * 6 / 12],
        "points": [100 * (6 - 2) / 12, 100 * (6 - 8) / 12],
        "gap": [100 * (6 - 2) / (9 - 2), 100 * (6 - 8) / (10 - 8)],
    }
    for show, values in expected.items():
        (axes,) = charts.policies(results, show, highlight=["learned"], title="A title").axes  # type: ignore[arg-type]
        (line,) = [line for line in axes.lines if line.get_label() == "learned"]
        assert xs(line) == pytest.approx([1, 10]) and ys(line) == pytest.approx(values)
        assert axes.get_ylabel() and "%" in axes.get_xlabel()
        assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "10"]
    with pytest.raises(lab.UsageError, match="no cell has the run 'arc'; runs in these results: belady, fifo, learned, lru"):
        charts.policies(results, highlight=["arc"])


def test_other_policies_are_an_area_and_a_policy_keeps_its_colour(tmp_path: Path) -> None:
    ranked(tmp_path)
    results = lab.load(tmp_path)
    (axes,) = charts.policies(results, highlight=["learned"]).axes
    area = axes.collections[0]
    assert area.get_label() == "range of 1 other policies"
    extent = area.get_paths()[0].get_extents()
    assert (extent.y0, extent.y1) == pytest.approx((100 * (4 - 8) / 12, 100 * (0 - 2) / 12))
    other = charts.policies(results, "miss", highlight=["fifo", "lru", "learned"]).axes[0]
    colours = [line.get_color() for one in (axes, other) for line in one.lines if line.get_label() == "learned"]
    assert colours[0] == colours[1]


def gains() -> pd.DataFrame:
    return pd.DataFrame({
        "trace": ["a", "a", "b", "b"], "cache": ["1%", "5%", "1%", "5%"], "difference": [0.01, 0.002, -0.01, 0.0],
        "low": [0.005, -0.001, -0.02, 0.0], "high": [0.015, 0.005, -0.001, 0.0], "arm": ["x", "x", "x", "x"],
    })  # fmt: skip


def test_intervals_are_filled_if_they_exclude_zero() -> None:
    figure = charts.intervals(
        gains(), row="cache", panel="trace", series="arm", xlabel="points", marks={"margin": 0.5}, title="Gains"
    )
    drawn = []
    for axes in figure.axes:
        assert axes.get_xlabel() == "points"
        bars = [xs(line) for line in axes.lines if len(xs(line)) == 2 and line.get_linestyle() == "-"]
        points = [line for line in axes.lines if len(xs(line)) == 1]
        drawn += [(bar, xs(point)[0], point.get_markerfacecolor() != "white") for bar, point in zip(bars, points)]
    assert [bar for bar, _, _ in drawn] == [pytest.approx(one) for one in ([0.5, 1.5], [-0.1, 0.5], [-2, -0.1], [0, 0])]
    assert [(round(point, 9), filled) for _, point, filled in drawn] == [(1, True), (0.2, False), (-1, True), (0, False)]
    assert figure.get_suptitle() == "Gains"


def test_curves_have_equal_steps_and_bars() -> None:
    frame = gains().assign(step=["0 s", "2 s", "0 s", "2 s"])
    (axes,) = charts.curves(
        frame, x="step", y="difference", series="trace", low="low", high="high", xlabel="latency", ylabel="points"
    ).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0 s", "2 s"]
    first = next(line for line in axes.lines if line.get_label() == "a")
    assert ys(first) == pytest.approx([1, 0.2]) and xs(first) == pytest.approx([0, 1], abs=0.1)
    bars = next(one for one in axes.collections if isinstance(one, LineCollection))
    assert [tuple(segment[:, 1]) for segment in bars.get_segments()] == [pytest.approx((0.5, 1.5)), pytest.approx((-0.1, 0.5))]


def test_scatter_and_dots_have_the_points_of_each_series() -> None:
    frame = gains()
    (axes,) = charts.scatter(frame, x="low", y="high", series="trace", xlabel="across", ylabel="up").axes
    assert [str(line.get_label()) for line in axes.lines] == ["a", "b"]
    assert [*xs(axes.lines[0]), *xs(axes.lines[1])] == pytest.approx([0.5, -0.1, -2, 0])
    assert [*ys(axes.lines[0]), *ys(axes.lines[1])] == pytest.approx([1.5, 0.5, -0.1, 0])
    left, right = charts.dots(frame, row="cache", series="trace", measures={"low, points": "low", "high, points": "high"}).axes
    assert (left.get_xlabel(), right.get_xlabel()) == ("low, points", "high, points")
    line = next(one for one in right.lines if one.get_label() == "b")
    assert xs(line) == pytest.approx([-0.1, 0]) and ys(line) == [0, 1]


def test_ranking_sorts_by_mean_and_names_the_worst_cell(tmp_path: Path) -> None:
    ranked(tmp_path)
    frame = lab.excess(lab.load(tmp_path))
    (axes,) = charts.ranking({"over the best, %": frame}).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["learned", "lru", "fifo"]
    means = [xs(line)[0] for line in axes.lines if line.get_marker() == "o" and len(xs(line)) == 1]
    assert means == pytest.approx([25, 100 * (10 / 6 - 1) / 2, 100])
    assert [text.get_text().strip() for text in axes.texts] == ["shop 10%", "shop 1%", "shop 1%"]


def test_the_map_names_the_policy_that_is_ahead(tmp_path: Path) -> None:
    ranked(tmp_path)
    axes = charts.against(lab.against_others(lab.load(tmp_path), "learned")).axes[0]
    (image,) = [child for child in axes.get_children() if isinstance(child, AxesImage)]
    values = image.get_array()
    assert values is not None and values.ravel().tolist() == pytest.approx([-40, 50])
    assert [text.get_text() for text in axes.texts] == ["−40.0", "+50.0  lru"]


def test_calibration_has_intervals_and_counts() -> None:
    bins = lab.calibration([
        {"from": 0, "to": 0.1, "samples": 7, "predicted": 0.05, "observed": 2 / 7},
        {"from": 0.2, "to": 0.3, "samples": 70, "predicted": 0.25, "observed": 2 / 7},
    ])  # fmt: skip
    above, below = charts.calibration({"shop": bins}).axes
    spans = [tuple(segment[:, 1]) for one in above.collections if isinstance(one, LineCollection) for segment in one.get_segments()]
    expected = [tuple(100 * bound for bound in lab.proportion_interval(hits, samples)) for hits, samples in ((20, 70), (2, 7))]
    assert spans == [pytest.approx(one) for one in expected]
    assert [patch.get_height() for patch in below.patches if isinstance(patch, Rectangle)] == [7, 70]
    assert "mean error" in above.get_title()


def test_nothing_to_draw_is_an_error_that_says_so() -> None:
    empty = gains().iloc[:0]
    drawings: list[Callable[[], Figure]] = [
        lambda: charts.intervals(empty, row="cache", xlabel="x"),
        lambda: charts.curves(empty, x="cache", y="low", series="arm", xlabel="x", ylabel="y"),
        lambda: charts.scatter(empty, x="low", y="high", series="arm", xlabel="x", ylabel="y"),
        lambda: charts.dots(empty, row="cache", series="arm", measures={"x": "low"}),
        lambda: charts.against(empty),
        lambda: charts.calibration({}),
    ]
    for draw in drawings:
        with pytest.raises(lab.UsageError, match="there is no value to draw"):
            draw()
