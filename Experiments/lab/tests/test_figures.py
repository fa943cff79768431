"""Figures."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from conftest import make_cell, write_cell
from matplotlib.lines import Line2D

import lab
from lab import plot


def xs(line: Line2D) -> list[float]:
    """The horizontal positions of a line."""
    return [float(x) for x in np.asarray(line.get_xdata(), dtype=float)]


def ys(line: Line2D) -> list[float]:
    """The vertical positions of a line."""
    return [float(y) for y in np.asarray(line.get_ydata(), dtype=float)]


def results(folder: Path) -> None:
    """lru and a learner with two seeds at two capacities; 12 counted requests each."""
    for capacity, size, lru, learned in (("1%", 5, 3, (4, 6)), ("10%", 50, 6, (9, 9))):
        for policy, seed, hits in (("lru", None, lru), ("learned", 1, learned[0]), ("learned", 2, learned[1])):
            write_cell(
                folder,
                make_cell(
                    identity__policy=policy, label=policy, identity__seed=seed, identity__capacity=capacity,
                    capacity=size, counts__hits=hits, counts__hit_size=hits,
                    units={"kind": "users", "requests": [6, 4, 2], "hits": [hits // 2, hits // 3, 0]},
                ),
                {"build_id": "ab12", "seconds": 0.5},
            )  # fmt: skip


def test_curves_show_means_and_bands_of_seeds(tmp_path: Path) -> None:
    results(tmp_path)
    (axes,) = plot.curves(lab.load(tmp_path)).axes
    lines = {line.get_label(): line for line in axes.lines}
    assert sorted(map(str, lines)) == ["learned", "lru"]
    assert xs(lines["learned"]) == [5, 50]
    assert ys(lines["learned"]) == pytest.approx([5 / 12, 9 / 12])
    assert ys(lines["lru"]) == pytest.approx([3 / 12, 6 / 12])
    band = axes.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((4 / 12, 9 / 12))


def test_difference_is_in_points_over_the_baseline(tmp_path: Path) -> None:
    results(tmp_path)
    (axes,) = plot.difference(lab.load(tmp_path), "lru").axes
    (line,) = [line for line in axes.lines if line.get_label() == "learned"]
    assert ys(line) == pytest.approx([100 * 2 / 12, 100 * 3 / 12])


def test_forest_has_a_row_per_difference_with_its_interval(tmp_path: Path) -> None:
    results(tmp_path)
    found = lab.differences(lab.load(tmp_path), "lru")
    (axes,) = plot.forest(found).axes
    bars = [line for line in axes.lines if len(xs(line)) == 2 and line.get_linestyle() == "-"]
    spans = [tuple(xs(line)) for line in bars]
    assert spans == [pytest.approx((100 * low, 100 * high)) for low, high in zip(found["low"], found["high"])]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["learned: shop, shared, 1%", "learned: shop, shared, 10%"]


#: What people with protanopia, deuteranopia and tritanopia see, in linear RGB (Machado, Oliveira and Fernandes 2009).
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}


def seen(colour: str, deficiency: str) -> npt.NDArray[np.float64]:
    """A colour in CIELAB, whose distances are those that people see: 2.3 can just be noticed."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    shown = np.clip(DEFICIENCIES[deficiency] @ linear, 0, 1)
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]])
    xyz = to_xyz @ shown / np.array([0.95047, 1, 1.08883])
    roots = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * roots[1] - 16, 500 * (roots[0] - roots[1]), 200 * (roots[1] - roots[2])])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_eight_colours_can_be_told_apart(deficiency: str) -> None:
    assert len(set(plot.COLOURS)) == 8
    for one, other in itertools.combinations(plot.COLOURS, 2):
        assert np.linalg.norm(seen(one, deficiency) - seen(other, deficiency)) > 15, (one, other)


def test_twelve_policies_have_twelve_styles_and_the_first_eight_their_own_colour(tmp_path: Path) -> None:
    for number in range(12):
        name = f"p{number:02d}"
        write_cell(tmp_path, make_cell(identity__policy=name, label=name, counts__hits=number, units=None))
    (axes,) = plot.curves(lab.load(tmp_path)).axes
    styles = [(str(line.get_color()), str(line.get_linestyle()), str(line.get_marker())) for line in axes.lines]
    assert len(styles) == 12
    assert len({colour for colour, _, _ in styles[:8]}) == 8
    assert len({(colour, line) for colour, line, _ in styles}) == 12


def test_nothing_to_plot_is_an_error_that_says_so(tmp_path: Path) -> None:
    results(tmp_path)
    frame = lab.load(tmp_path)
    with pytest.raises(lab.UsageError, match="no cell has the run 'x'; runs in these results: learned, lru"):
        plot.curves(frame, labels=["x"])
    with pytest.raises(lab.UsageError, match="no cell with a capacity"):
        plot.curves(frame.iloc[:0])
    with pytest.raises(lab.UsageError, match="no cell has the run 'x'"):
        plot.difference(frame, "x")
    with pytest.raises(lab.UsageError, match="no difference to plot"):
        plot.forest(lab.differences(frame, "lru").iloc[:0])


def test_settings_are_not_mixed_in_one_line(tmp_path: Path) -> None:
    for warmup, budget, hits in (("0", "1/request", 2), ("0", "2/request", 6), ("0.5", "2/request", 9)):
        prefetch = {"policy": "planner", "parameters": {}, "budget": budget, "latency_us": 500_000}
        write_cell(
            tmp_path,
            make_cell(
                identity__warmup=warmup, identity__prefetch=prefetch, counts__hits=hits, counts__hit_size=hits,
                units={"kind": "users", "requests": [12], "hits": [hits]},
            ),
        )  # fmt: skip
    shown = {axes.get_title(): ys(axes.lines[0]) for axes in plot.curves(lab.load(tmp_path)).axes}
    assert shown == {
        "shop, shared, prefetch planner 1/request 500 ms, warm-up 0.0": [pytest.approx(2 / 12)],
        "shop, shared, prefetch planner 2/request 500 ms, warm-up 0.0": [pytest.approx(6 / 12)],
        "shop, shared, prefetch planner 2/request 500 ms, warm-up 0.5": [pytest.approx(9 / 12)],
    }
