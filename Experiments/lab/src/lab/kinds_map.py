"""The map of when categories pay for eviction, drawn from stored results as SVG.

It is plain text without fonts or dates, as ``lab.overview``.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from lab.comparison import Interval
from lab.evidence import kinds
from lab.overview import STYLE

_CELL, _HEIGHT, _LEFT, _TOP, _GAP = 62, 34, 92, 92, 40
#: The gain, in points, of the strongest colour.
_STRONGEST = 2.2


def kinds_map(results: Path) -> str:
    """Returns the picture from the folder ``kinds`` of results. O(cells).

    Raises ``ResultsError`` if it has no results.
    """
    folder = results / "kinds"
    gains, ratios = kinds.gains(folder), kinds.reuse_ratios(folder)
    factors = sorted({int(trace.removeprefix("R=")) for trace, _, _ in gains})
    capacities = sorted({capacity for _, capacity, _ in gains}, key=int)
    wide = _LEFT + len(factors) * _CELL + _GAP
    width, height = 2 * wide, _TOP + len(capacities) * _HEIGHT + 24 + 14 * len(ratios)
    shown = (("device", "on a device"), ("server", "on a server"))
    body = "".join(
        _panel(number * wide, knowledge, title, gains, factors, capacities) for number, (knowledge, title) in enumerate(shown)
    )
    title = "What labels add to learned, in points of hit ratio over permuted labels"
    note = "By how much the rates of reuse of four kinds of images differ. Bold: beyond chance. Marks below: R of real traces."
    marks = "".join(_marks(number * wide, ratios, factors, _TOP + len(capacities) * _HEIGHT) for number in range(len(shown)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'
        f"<title>{title}</title><style>{STYLE}.clear{{font-weight:600}}.square{{fill:#0969da}}</style>"
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>'
        f'<text class="title" x="16" y="26">{title}</text><text class="small" x="16" y="44">{escape(note)}</text>{body}{marks}</svg>\n'
    )


def _panel(
    left: int,
    knowledge: str,
    title: str,
    gains: dict[tuple[str, str, str], Interval],
    factors: list[int],
    capacities: list[str],
) -> str:
    parts = [f'<text class="title" x="{left + _LEFT}" y="{_TOP - 26}">{title}</text>']
    for column, factor in enumerate(factors):
        x = left + _LEFT + _CELL * (column + 0.5)
        parts.append(f'<text class="small" x="{x:g}" y="{_TOP - 8}" text-anchor="middle">R={factor}</text>')
    for row, capacity in enumerate(capacities):
        y = _TOP + row * _HEIGHT
        parts.append(f'<text x="{left + _LEFT - 10}" y="{y + 21}" text-anchor="end">{capacity} objects</text>')
        for column, factor in enumerate(factors):
            found = gains[f"R={factor}", capacity, knowledge]
            gain, x = 100 * found.difference, left + _LEFT + column * _CELL
            opacity = min(max(gain, 0) / _STRONGEST, 1) * 0.8
            text = f"{gain:+.2f}".replace("-", "−")
            kind = ' class="clear"' if found.low > 0 or found.high < 0 else ""
            parts.append(
                f'<rect class="square" x="{x + 1}" y="{y + 1}" width="{_CELL - 2}" height="{_HEIGHT - 2}" '
                f'fill-opacity="{opacity:.2f}" rx="3"/>'
                f'<text{kind} x="{x + _CELL / 2:g}" y="{y + 21}" text-anchor="middle">{text}</text>'
            )
    return "".join(parts)


def _marks(left: int, ratios: dict[str, float | None], factors: list[int], top: int) -> str:
    """The real traces below the columns, each at its R on an axis of powers of 2; those beyond it at its end."""
    parts = []
    named = sorted((ratio, name) for name, ratio in ratios.items() if ratio is not None)
    for number, (ratio, name) in enumerate(named):
        x = left + _LEFT + _CELL * (_place(ratio, factors) + 0.5)
        y = top + 20 + 14 * number
        side = "end" if x > left + _LEFT + _CELL * (len(factors) - 1.5) else "start"
        shift = -6 if side == "end" else 6
        parts.append(f'<circle class="other" cx="{x:.1f}" cy="{y - 4}" r="3"/>')
        parts.append(f'<text class="small" x="{x + shift:.1f}" y="{y}" text-anchor="{side}">{escape(name)}</text>')
    return "".join(parts)


def _place(ratio: float, factors: list[int]) -> float:
    """The column of a ratio, with fractions between two columns."""
    if ratio <= factors[0]:
        return 0
    for number, (low, high) in enumerate(zip(factors, factors[1:])):
        if ratio <= high:
            return number + (ratio - low) / (high - low)
    return len(factors) - 1
