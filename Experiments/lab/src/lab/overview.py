"""The picture of the README, drawn from stored results as SVG.

It is plain text without fonts or dates, so that the same results give the same bytes, and it follows the reader's light or dark
colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pandas as pd

from lab.contrasting import over_traces
from lab.evidence import visits
from lab.evidence.formats import newest, server
from lab.frames import load

#: The policies of the picture: the common baselines, the learner and the optimum.
POLICIES = ("lru", "sieve", "arc", "w-tinylfu", "gdsf", "s3-fifo", "learned", "belady")
#: The duration of a prefetch in the picture, in microseconds.
LATENCY = 1_000_000

STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.small{font-size:11px;fill:#57606a}"
    ".grid{stroke:#d0d7de}.range{stroke:#8c959f;stroke-width:5;stroke-linecap:round}.link{stroke:#8c959f;stroke-width:2}"
    ".other{fill:#57606a}.ours{fill:#0969da}.page{fill:#ffffff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.grid{stroke:#30363d}.range,.link{stroke:#59636e}"
    ".other{fill:#9198a1}.ours{fill:#4493f8}.page{fill:#0d1117}}"
)
_ROW, _TOP, _LEFT, _PANEL, _GAP = 24, 64, 178, 262, 40
_WIDTH = 2 * (_LEFT + _PANEL + _GAP)


@dataclass(frozen=True)
class _Row:
    """A row of a panel: values on the axis, joined by a line or inside a range."""

    name: str
    low: float
    high: float
    dots: Sequence[tuple[float, str]]
    label: str


def overview(results: Path) -> str:
    """Returns the picture from the folders ``policies`` and ``visits`` of results. O(cells).

    Raises ``ResultsError`` if one of them has none.
    """
    eviction, prefetching = _eviction(newest(load(results / "policies"))), _prefetching(newest(load(results / "visits")))
    height = _TOP + _ROW * max(len(eviction), len(prefetching)) + 44
    body = _panel(
        0,
        "Misses relative to LRU, shared cache",
        "dot: mean over traces; bar: 10th to 90th percentile of traces",
        eviction,
        (-60, 20),
        20,
        "%",
        "range",
    ) + _panel(
        _LEFT + _PANEL + _GAP,
        "Hit ratio of per-user caches with prefetching, server knowledge",
        f"60 objects; grey: without; blue: with planner(visits=on), if a fetch takes {LATENCY / 1e6:g} s",
        prefetching,
        (0, 60),
        20,
        "%",
        "link",
    )
    title = "Halcyon's learned policy and planner on real traces"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img"><title>{title}</title><style>{STYLE}</style>'
        f'<rect class="page" width="{_WIDTH}" height="{height}" rx="6"/>{body}</svg>\n'
    )


def _eviction(results: pd.DataFrame) -> list[_Row]:
    cells = results[results["label"].isin(POLICIES)]
    misses = 1 - cells.pivot_table(index=["trace", "capacity"], columns="label", values="object_hit_ratio", sort=False, observed=True)
    relative = 100 * (misses.div(misses["lru"], axis=0) - 1)
    rows = []
    for name in POLICIES[1:]:
        by_trace = over_traces(relative[name])
        low, high, mean = by_trace.quantile(0.1), by_trace.quantile(0.9), by_trace.mean()
        text = f"{mean:+.1f}".replace("-", "−")
        shown = "belady (offline)" if name == "belady" else name
        rows.append(_Row(shown, float(low), float(high), [(float(mean), "ours" if name == "learned" else "other")], text))
    return rows


def _prefetching(results: pd.DataFrame) -> list[_Row]:
    cells = server(results)
    cells = cells[(cells["mode"] == "per_user") & (cells["capacity"] == "60") & ~cells["trace"].str.endswith(visits.SHUFFLED)]
    cells = cells[cells["label_control"] == "given"]
    rows = []
    for trace, own in cells.groupby("trace", sort=False):
        without = 100 * own[own["prefetch"].isna()]["object_hit_ratio"].mean()
        planner = visits.arm(own, visits.VISITS, LATENCY)
        if planner.empty:
            continue
        with_planner = 100 * planner["object_hit_ratio"].mean()
        text = f"{without:.1f} → {with_planner:.1f}"
        low, high = min(without, with_planner), max(without, with_planner)
        rows.append(_Row(str(trace), low, high, [(without, "other"), (with_planner, "ours")], text))
    return sorted(rows, key=lambda row: row.low - row.high)


def _panel(
    left: float, title: str, note: str, rows: Sequence[_Row], axis: tuple[int, int], step: int, unit: str, line: str
) -> str:
    start, bottom = left + _LEFT, _TOP + _ROW * len(rows)
    scale = (_PANEL - 60) / (axis[1] - axis[0])

    def place(value: float) -> float:
        return round(start + (min(max(value, axis[0]), axis[1]) - axis[0]) * scale, 1)

    parts = [
        f'<text class="title" x="{left + 16}" y="26">{escape(title)}</text>',
        f'<text class="small" x="{left + 16}" y="44">{escape(note)}</text>',
    ]
    for mark in range(axis[0], axis[1] + 1, step):
        x = place(mark)
        text = f"{mark}".replace("-", "−") + (f" {unit}" if mark in axis else "")
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text class="small" x="{x}" y="{bottom + 16}" text-anchor="middle">{text}</text>')
    for number, row in enumerate(rows):
        y = _TOP + _ROW * (number + 0.5)
        parts.append(f'<text x="{start - 12}" y="{y + 4}" text-anchor="end">{escape(row.name)}</text>')
        parts.append(f'<line class="{line}" x1="{place(row.low)}" x2="{place(row.high)}" y1="{y}" y2="{y}"/>')
        for value, kind in row.dots:
            parts.append(f'<circle class="{kind}" cx="{place(value)}" cy="{y}" r="5"/>')
        parts.append(f'<text class="small" x="{start + _PANEL - 52}" y="{y + 4}">{escape(row.label)}</text>')
    return "".join(parts)
