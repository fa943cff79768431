"""Precision against coverage of prefetching between visits, drawn from stored results as SVG.

It is plain text without fonts or dates, as ``lab.overview``.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

import pandas as pd

from lab.evidence import visits
from lab.evidence.formats import newest, server
from lab.frames import load
from lab.overview import STYLE

#: The prices of planner(visits=on), from the lowest.
PRICES = ("0.003", "0.01", "0.03", "0.1", "0.3")
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 300, 190, 64, 84, 84
_COLUMNS = 3


@dataclass(frozen=True)
class Point:
    """One kind of prefetching on one trace, in %.

    Attributes:
        coverage: the share of the misses without prefetching that became hits; negative if hits were lost.
        precision: the share of the prefetched objects that were requested before they left the cache.
    """

    name: str
    coverage: float
    precision: float


def points(results: Path) -> dict[str, list[Point]]:
    """Returns the points of each trace, from the folder ``visits`` of results: planner(visits=on) by price, then the others. O(cells).

    Raises ``ResultsError`` if it has none.
    """
    cells = server(newest(load(results / "visits")))
    cells = cells[(cells["mode"] == "per_user") & (cells["capacity"] == "60") & (cells["label_control"] == "given")]
    cells = cells[(cells["seed"] == 1) & ~cells["trace"].str.endswith(visits.SHUFFLED)]
    found: dict[str, list[Point]] = {}
    for trace, own in cells.groupby("trace", sort=False):
        without = visits.arm(own, None)
        arms = [(f"price {price}", visits.arm(own, visits.VISITS, price=price)) for price in PRICES]
        arms += [(name, visits.arm(own, name)) for name in ("planner", "visit-refill")]
        found[str(trace)] = [_point(name, arm, without) for name, arm in arms if arm["prefetched"].sum() > 0]
    return found


def _point(name: str, arm: pd.DataFrame, without: pd.DataFrame) -> Point:
    misses = without["requests"].sum() - without["hits"].sum()
    coverage = 100 * (arm["hits"].sum() - without["hits"].sum()) / misses
    return Point(name, float(coverage), float(100 * arm["prefetches_used"].sum() / arm["prefetched"].sum()))


def frontier(results: Path) -> str:
    """Returns the picture. O(cells).

    Raises ``ResultsError`` if there are no results of the suite.
    """
    found = points(results)
    rows = -(-len(found) // _COLUMNS)
    width, height = _COLUMNS * (_WIDTH + _GAP) + 16, _TOP + rows * (_HEIGHT + _GAP)
    body = "".join(
        _panel(_LEFT + number % _COLUMNS * (_WIDTH + _GAP), _TOP + number // _COLUMNS * (_HEIGHT + _GAP), trace, of_trace)
        for number, (trace, of_trace) in enumerate(found.items())
    )
    title = "Precision against coverage when a fetch takes 1 s, server knowledge"
    note = (
        "blue: planner(visits=on), from price 0.003 (large dot) to 0.3; grey: planner (P) and visit-refill (R). "
        "Left of the dashed line hits are lost."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{title}</title><style>{STYLE}.curve{{fill:none;stroke:#0969da;stroke-width:1.5}}"
        f".zero{{stroke:#8c959f;stroke-dasharray:4 3}}</style>"
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>'
        f'<text class="title" x="16" y="26">{title}</text><text class="small" x="16" y="44">{escape(note)}</text>{body}</svg>\n'
    )


def _panel(left: float, top: float, trace: str, points: list[Point]) -> str:
    low, high = _axis([point.coverage for point in points])
    _, ceiling = _axis([point.precision for point in points])

    def x(coverage: float) -> float:
        return round(left + (coverage - low) / (high - low) * _WIDTH, 1)

    def y(precision: float) -> float:
        return round(top + _HEIGHT - precision / ceiling * _HEIGHT, 1)

    parts = [f'<text class="title" x="{left}" y="{top - 10}">{escape(trace)}</text>']
    for mark in range(5):
        at, above = low + mark * (high - low) / 4, mark * ceiling / 4
        parts.append(f'<line class="grid" x1="{x(at)}" x2="{x(at)}" y1="{top}" y2="{top + _HEIGHT}"/>')
        parts.append(f'<line class="grid" x1="{left}" x2="{left + _WIDTH}" y1="{y(above)}" y2="{y(above)}"/>')
        unit = " % covered" if mark == 4 else ""
        parts.append(f'<text class="small" x="{x(at)}" y="{top + _HEIGHT + 16}" text-anchor="middle">{_number(at)}{unit}</text>')
        parts.append(f'<text class="small" x="{left - 6}" y="{y(above) + 4}" text-anchor="end">{_number(above)} %</text>')
    parts.append(f'<line class="zero" x1="{x(0)}" x2="{x(0)}" y1="{top}" y2="{top + _HEIGHT}"/>')
    curve = [point for point in points if point.name.startswith("price")]
    line = " ".join(f"{x(point.coverage)},{y(point.precision)}" for point in curve)
    parts.append(f'<polyline class="curve" points="{line}"/>')
    for number, point in enumerate(curve):
        parts.append(_dot(x(point.coverage), y(point.precision), point, "ours", 5.5 if number == 0 else 4))
    for point in points[len(curve) :]:
        place = (x(point.coverage), y(point.precision))
        parts.append(_dot(*place, point, "other", 4))
        letter = "P" if point.name == "planner" else "R"
        parts.append(f'<text class="small" x="{place[0]}" y="{place[1] - 8}" text-anchor="middle">{letter}</text>')
    return "".join(parts)


def _dot(x: float, y: float, point: Point, kind: str, radius: float) -> str:
    shown = f"{point.name}: {point.coverage:.1f} % covered, precision {point.precision:.0f} %".replace("-", "−", 1)
    return f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius:g}"><title>{escape(shown)}</title></circle>'


def _axis(values: list[float]) -> tuple[float, float]:
    """Returns round ends, in four steps, of an axis that has 0 and all values."""
    low, high = min(0.0, *values), max(1.0, *values)
    steps = [one * 10**power for power in range(-1, 3) for one in (1, 2, 2.5, 5)]
    for step in steps:
        first = -(-low // step) if low >= 0 else low // step
        if (first + 4) * step >= high:
            return first * step, (first + 4) * step
    return low, high


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−")
