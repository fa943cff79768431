"""Writes stored results as one HTML page that needs no other file and no network."""

from __future__ import annotations

import html
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from lab import plot
from lab.cells import Folders
from lab.errors import ResultsError, UsageError
from lab.frames import load, units
from lab.statistics import Measure, differences
from lab.tables import write_text_beside

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #222; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; padding-bottom: .3rem; }
table { border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #eee; text-align: right; }
th:first-child, td:first-child { text-align: left; } td.best { font-weight: 600; }
figure { margin: 1rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; }
.note { color: #555; } code { font-size: .92em; }
@media (prefers-color-scheme: dark) {
  body { background: #161616; color: #ddd; } th, td, h2 { border-color: #333; } .note { color: #aaa; }
  figure { background: #fff; }
}
"""


def report(
    folders: Folders,
    path: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    measure: Measure = "object",
    title: str = "Results",
) -> int:
    """Writes a page with tables, figures, differences to a baseline and provenance, and returns the number of cells.

    ``baseline`` is a value of the column ``run``; by default ``lru`` if it was run, else the first. The page holds the
    cells' rows as JSON in the element ``halcyon-cells``, for scripts. It is written beside and renamed; its bytes
    depend on the results only. Raises ``ResultsError`` as ``load`` and if there is no cell, and ``UsageError`` for an
    unknown baseline.
    """
    results = load(folders)
    if results.empty:
        raise ResultsError(os.fspath(path), "there is no cell to report; run `replay sweep` first.")
    labels = sorted(set(results["run"]))
    reference = baseline or ("lru" if "lru" in labels else labels[0])
    if reference not in labels:
        raise UsageError(f"no cell has the run '{reference}'; runs in these results: {', '.join(labels)}.")
    body = [f"<h1>{_text(title)}</h1>", _summary(results)]
    body += _ratio_tables(results, measure)
    body += _figures(results, measure)
    body += _differences(results, units(folders), reference, measure)
    body += _provenance(results)
    rows = results.drop(columns=["folder"]).to_json(orient="records", double_precision=15)
    data = (rows or "[]").replace("<", "\\u003c")
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + f'\n<script type="application/json" id="halcyon-cells">{data}</script>\n</body>\n</html>\n'
    )
    write_text_beside(Path(path), page)
    return len(results)


def _summary(results: pd.DataFrame) -> str:
    counts = (
        (results["hash"].nunique(), "cell"),
        (results["fingerprint"].nunique(), "trace"),
        (results["policy"].nunique(), "policy"),
    )
    text = ", ".join(f"{count:,} {_plural(noun, count)}" for count, noun in counts)
    seconds = results["seconds"].sum()
    return f"<p>{text}. Run time of all cells: {seconds:,.1f} s of one core.</p>"


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else "policies" if noun == "policy" else f"{noun}s"


def _ratio_tables(results: pd.DataFrame, measure: Measure) -> list[str]:
    column = f"{measure}_hit_ratio"
    parts = [
        f"<h2>{measure.capitalize()} hit ratios</h2>",
        '<p class="note">Percent; means over seeds and permutations. The highest of a column is bold.</p>',
    ]
    for name_of_panel, group in plot.panels(results):
        shown = group.assign(capacity=group["capacity"].fillna(group["tiers"]))
        order = shown.sort_values("capacity_size")["capacity"].dropna().unique()
        means = shown.groupby(["run", "capacity"])[column].mean().unstack("capacity")
        rows = []
        for label, row in means.sort_index().iterrows():
            cells = [(_percent(row[name]), row[name] == means[name].max()) for name in order]
            rows.append((str(label), cells))
        parts += [f"<h3>{_text(name_of_panel)}</h3>", _table(["policy", *order], rows)]
    return parts


def _figures(results: pd.DataFrame, measure: Measure) -> list[str]:
    parts = ["<h2>Hit ratios by capacity</h2>"]
    for trace, cells in results.groupby("trace"):
        try:
            figure = plot.curves(cells, measure=measure)
        except UsageError:
            continue
        parts.append(_figure(figure, f"Hit ratios by capacity on {trace}"))
    if len(parts) == 1:
        return []
    parts.append('<p class="note">The bands reach from the lowest to the highest seed or permutation.</p>')
    return parts


def _differences(results: pd.DataFrame, by_unit: pd.DataFrame, baseline: str, measure: Measure) -> list[str]:
    found = differences(results, by_unit, baseline, measure=measure)
    if found.empty:
        return []
    rows = [
        (
            name,
            [(_points(row[name]), False) for name in ("difference", "low", "high")]
            + [(str(row["runs"]), False), (f"{row['units']} {str(row['unit_kind']).replace('_', ' ')}", False)],
        )
        for name, (_, row) in zip(plot.row_names(found), found.iterrows())
    ]
    return [
        f"<h2>Differences to {_text(baseline)}</h2>",
        '<p class="note">Points of hit ratio, with 95 % intervals for each row alone. '
        "<code>replay compare</code> pools traces and corrects for the number of cells.</p>",
        _figure(plot.forest(found), f"Differences to {baseline}"),
        _table(["policy and setting", "difference", "low", "high", "runs", "units"], rows),
    ]


def _provenance(results: pd.DataFrame) -> list[str]:
    traces = results.drop_duplicates("fingerprint").sort_values("trace")
    rows = [
        (
            str(row["trace"]),
            [(_integer(row[f"trace_{name}"]), False) for name in ("requests", "objects", "users", "categories")]
            + [(f"<code>{_text(row['fingerprint'])}</code>", False)],
        )
        for _, row in traces.iterrows()
    ]
    lines = []
    for column, name in (
        ("build_id", "Builds"), ("halcyon_version", "Versions"), ("result_version", "Result versions"),
        ("kernels_used", "Kernels"), ("system", "Systems"), ("suite", "Suites"),
    ):  # fmt: skip
        counts = results[column].value_counts(dropna=True).sort_index()
        if len(counts):
            text = ", ".join(f"<code>{_text(value)}</code> ({count:,} cells)" for value, count in counts.items())
            lines.append(f"<li>{name}: {text}</li>")
    missing = int(results["build_id"].isna().sum())
    if missing:
        lines.append(f"<li>Cells without a sidecar, of unknown build: {missing:,}</li>")
    return [
        "<h2>Provenance</h2>",
        _table(["trace", "requests", "objects", "users", "categories", "fingerprint"], rows, escaped=True),
        f"<ul>{''.join(lines)}</ul>",
    ]


def _table(header: Sequence[str], rows: Iterable[tuple[str, list[tuple[str, bool]]]], *, escaped: bool = False) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in header)
    lines = []
    for name, cells in rows:
        fields = "".join(
            ('<td class="best">' if best else "<td>") + (text if escaped else _text(text)) + "</td>"
            for text, best in cells
        )
        lines.append(f"<tr><td>{_text(name)}</td>{fields}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _figure(figure: Figure, caption: str) -> str:
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": caption, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    return f'<figure role="img" aria-label="{_text(caption)}">{svg[svg.index("<svg") :]}</figure>'


def _text(value: object) -> str:
    return html.escape(str(value))


def _percent(value: float) -> str:
    return "" if pd.isna(value) else f"{100 * value:.2f}"


def _points(value: float) -> str:
    return "" if pd.isna(value) else f"{100 * value:+.2f}"


def _integer(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
