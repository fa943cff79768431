"""Writes the page: the data as JSON, the sections that have data, the assets, and plotly.js."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from lab.cells import Folders
from lab.comparison import Measure
from lab.contrasting import OFFLINE
from lab.errors import ResultsError, UsageError
from lab.frames import frame
from lab.page import sections
from lab.page.arms import with_arms
from lab.page.calibration import read_runs
from lab.page.columns import cell_columns
from lab.page.reading import Stored, read
from lab.tables import write_text_beside

#: The scripts of the page in the order in which they run.
SCRIPTS = ("core.js", "controls.js", "charts.js", "table.js", "main.js")

_SECTION = re.compile(r"<!-- section: (?P<name>[a-z-]+) -->\n(?P<body>.*?)<!-- end -->\n", re.DOTALL)


def report(
    folders: Folders,
    path: str | os.PathLike[str],
    *,
    baseline: str | None = None,
    measure: Measure = "object",
    title: str = "Results",
    runs: Sequence[str | os.PathLike[str]] = (),
) -> int:
    """Writes an interactive page of the cells of one or several results folders, and returns their number.

    ``baseline`` is a value of the column ``run``; by default ``lru`` if it was run, else the first. ``measure`` is the
    hit ratio that the page shows first. ``runs`` are JSON results of `replay run` or `replay explain`, whose
    calibration is shown. The page holds the cells as columns of JSON in the element ``halcyon-cells``, for scripts. It
    loads nothing from elsewhere. It is written beside and renamed; its bytes depend on the results only. O(cells ×
    units).

    Raises ``ResultsError`` as ``load``, for a file of ``runs`` that cannot be used, and if there is no cell; and
    ``UsageError`` for an unknown baseline or measure.
    """
    if measure not in ("object", "byte"):
        raise UsageError(f"the measure is '{measure}'; 'object' or 'byte' is expected.")
    stored = read(folders)
    if not stored.cells:
        raise ResultsError(os.fspath(path), "there is no cell to report; run `replay sweep` first.")
    results = frame(stored.cells)
    calibrated = read_runs(runs)
    data = _data(stored, results, baseline, measure) | {"calibration": calibrated}
    missing = _missing(data)
    names = {"title": html.escape(title), "baseline": html.escape(data["baseline"])}
    left_out = {*missing, *(f"{name}-link" for name in missing), *(() if missing else ("absent",))}
    template = _SECTION.sub(lambda match: "" if match["name"] in left_out else match["body"], _asset("page.html"))
    parts = {
        "TITLE": names["title"],
        "BASELINE": names["baseline"],
        "SUMMARY": _summary(results),
        "OPTIMUM": _optimum(results),
        "ABSENT": "".join(f"<li><b>{html.escape(name)}</b>: {text}</li>" for name, text in missing.values()),
        "STYLE": _asset("page.css"),
        "CELLS": _json(cell_columns(results, stored.suites)),
        "DATA": _json(data),
        "PLOTLY": _script(_plotly()),
        "SCRIPTS": "\n".join(_script(_asset(name)) for name in SCRIPTS),
    }
    page = re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], template)
    write_text_beside(Path(path), page)
    return len(results)


def _data(stored: Stored, results: pd.DataFrame, baseline: str | None, measure: Measure) -> dict[str, Any]:
    """Returns what the scripts of the page draw."""
    arms = with_arms(results)
    labels = sorted(set(arms["run"]))
    reference = baseline if baseline else "lru" if "lru" in labels else labels[0]
    if reference not in labels:
        raise UsageError(f"no cell has the run '{reference}'; runs in these results: {', '.join(labels)}.")
    cells = {cell.hash: cell for cell in stored.cells}
    rows, places = sections.settings(arms)
    columns, drawn = sections.groups(arms, cells, reference, places)
    return {
        "baseline": reference,
        "measure": measure,
        "windowsPerPoint": sections.WINDOWS_PER_POINT,
        "settings": rows,
        "arms": drawn,
        "groups": columns,
        "gains": sections.gains(arms, places),
        "prefetch": sections.prefetching(arms, places),
        "worst": sections.worst_cases(arms, stored.suites),
        "costs": sections.costs(arms, stored.suites, reference),
        "provenance": _provenance(stored, results),
    }


def _missing(data: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Returns the sections without data: their titles, and why they are not shown, as HTML."""
    baseline = html.escape(data["baseline"])
    reasons = {
        "differences": (
            any(data["groups"]["object_difference"]), f"Difference to {baseline}",
            f"no other policy was run in the same setting as <code>{baseline}</code>.",
        ),
        "series": (
            any(data["groups"]["series"]), "Hit ratio over time", "the cells store no hits by window.",
        ),
        "worst": (data["worst"], "Worst case against FIFO", "no suite has <code>fifo</code> beside other policies."),
        "gains": (
            data["gains"], "Gain of categories",
            "no policy was run with <code>labels: [given, without]</code> or with permuted labels.",
        ),
        "prefetch": (data["prefetch"], "Prefetching", "no run with prefetching has its counterpart without."),
        "calibration": (
            data["calibration"], "Calibration",
            "stored cells hold no predictions. Run <code>replay run TRACE --prefetch planner --format json --output "
            "run.json</code> or <code>replay explain TRACE --format json --output run.json</code>, and give the file "
            "with <code>--run run.json</code> (<code>make report RUN=run.json</code>).",
        ),
        "costs": (
            data["costs"], "Cost against benefit",
            "speed is in the folders <code>provenance</code>, which the sweep writes and git ignores, and there is "
            f"none for <code>{baseline}</code> beside other policies.",
        ),
    }  # fmt: skip
    missing = {name: (title, reason) for name, (has, title, reason) in reasons.items() if not has}
    return missing


def _summary(results: pd.DataFrame) -> str:
    counts = (
        (results["hash"].nunique(), "cell", "cells"),
        (results["fingerprint"].nunique(), "selection of requests", "selections of requests"),
        (results["trace"].nunique(), "trace", "traces"),
        (results["policy"].nunique(), "policy", "policies"),
    )
    return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in counts)


def _optimum(results: pd.DataFrame) -> str:
    """Returns the sentence on policies that know the future, as HTML: a bound with uniform sizes, otherwise a mark."""
    cells = with_arms(results[results["label"].isin(OFFLINE)])
    if cells.empty:
        return ""
    bound = "where all sizes are equal, it is the bound for caches without prefetching"
    mark = "where sizes vary, it is a mark and not the optimum, which <code>belady-size</code> may exceed"
    kinds = [text for text, has in ((bound, cells["is_uniform"].any()), (mark, not cells["is_uniform"].all())) if has]
    return f" <code>belady</code> knows the future: {'; '.join(kinds)}."


def _provenance(stored: Stored, results: pd.DataFrame) -> dict[str, Any]:
    facts: list[list[Any]] = [["cells", [[f"{len(results):,}", None]]], ["hash of all cells", [[stored.digest, None]]]]
    suites: dict[str, int] = {}
    for found in stored.suites.values():
        for name in found:
            suites[name] = suites.get(name, 0) + 1
    facts.append(["suites", sorted([name, count] for name, count in suites.items())])
    for column, name in (
        ("result_version", "result versions"), ("build_id", "builds"), ("halcyon_version", "versions"),
        ("system", "systems"), ("cores", "cores"), ("kernels_used", "kernels"),
    ):  # fmt: skip
        counts = results[column].value_counts(dropna=True).sort_index()
        if len(counts):
            facts.append([name, [[str(value), int(count)] for value, count in counts.items() if str(value)]])
    unknown = int(results["build_id"].isna().sum())
    if unknown:
        facts.append(["without provenance (build and machine unknown)", [["cells", unknown]]])
    seconds = float(results["seconds"].sum())
    if seconds > 0:
        facts.append(["run time of all cells with provenance", [[f"{seconds:,.0f} s of one core", None]]])
    facts.append(["plotly.js", [[_plotly_version(), None]]])
    traces = []
    for _, row in results.drop_duplicates("fingerprint").sort_values("trace", kind="stable").iterrows():
        sizes = [row[f"trace_{name}"] for name in ("requests", "objects", "users", "categories")]
        unit = None if pd.isna(row["size_unit"]) else str(row["size_unit"])
        name = str(row["trace"])
        others = stored.aliases.get(str(row["fingerprint"]), [])
        if others:
            name += f" (also named {', '.join(others)})"
        traces.append([name, *(None if pd.isna(size) else int(size) for size in sizes), unit, str(row["fingerprint"])])
    return {"facts": [fact for fact in facts if fact[1]], "traces": traces}


def _json(value: Any) -> str:
    """Returns JSON that may stand in an element ``script``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _script(text: str) -> str:
    """Returns an element ``script``; a text that would end it early is changed where it stands in a string."""
    safe = re.sub("</(script)", r"<\\/\1", text, flags=re.IGNORECASE)
    return f"<script>{safe}</script>"


def _asset(name: str) -> str:
    return resources.files("lab.page").joinpath("assets", name).read_text(encoding="utf-8")


def _plotly() -> str:
    return resources.files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")


def _plotly_version() -> str:
    match = re.search(r"plotly\.js v([0-9.]+)", _plotly()[:400])
    return match[1] if match else "unknown"
