"""Comparisons against those of ``replay compare``, an implementation of its own in Swift, on the committed results."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lab
from conftest import ROOT
from lab.comparison import Comparison, compare
from lab.evidence import fill
from lab.variance import Interval, holm

RESULTS = ROOT / "Experiments/results"
PERMUTED = "permuted within=popularity,age,size"


@lru_cache
def frames(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return lab.load(folder), lab.units(folder)


def reference(replay: str, a: str, b: str, folder: Path, conditions: Sequence[str] = ()) -> dict[str, Any]:
    command = [replay, "compare", a, b, "--results", str(folder), "--format", "json"]
    for condition in conditions:
        command += ["--where", condition]
    document = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(document))


def bounds(found: Interval) -> list[float]:
    return [found.difference, found.low, found.high]


def stated(document: dict[str, Any], interval: str = "interval") -> list[float]:
    return [document["difference"], document[interval]["low"], document[interval]["high"]]


def agree(found: Comparison, document: dict[str, Any]) -> None:
    assert len(found.pairs) == len(document["cells"]) > 0
    adjusted = dict(zip([(pair.trace, pair.mode, pair.capacity) for pair in found.pairs], found.adjusted))
    for cell in document["cells"]:
        where = (cell["trace"], cell["a"]["mode"])
        # Two tiers have no capacity of their own, and one row for each trace.
        capacity = {pair.capacity for pair in found.of(trace=where[0], mode=where[1]).pairs} & {cell["a"]["capacity"], "<NA>"}
        (pair,) = found.of(trace=where[0], mode=where[1], capacity=capacity.pop()).pairs
        assert bounds(pair.interval) == pytest.approx(stated(cell), abs=1e-10)
        assert adjusted[(pair.trace, pair.mode, pair.capacity)] == pytest.approx(cell["adjusted_p_value"], abs=1e-9)
    assert found.traces == [trace["trace"] for trace in document["traces"]]
    for trace in document["traces"]:
        assert bounds(found.of(trace=trace["trace"]).over_cells()) == pytest.approx(stated(trace), abs=1e-10)
    within, over = found.over_traces()
    assert bounds(within) == pytest.approx(stated(document["pooled"], "interval_of_these_traces"), abs=1e-10)
    assert bounds(over) == pytest.approx(stated(document["pooled"], "interval_over_traces"), abs=1e-10)


@pytest.mark.parametrize("rival", ["s3-fifo", "lru", "cacheus"])
def test_policies_compare_as_in_the_command(replay: str, rival: str) -> None:
    results, units = frames(RESULTS / "policies")
    found = compare(results[results["run"] == "learned"], results[results["run"] == rival], units)
    agree(found, reference(replay, "learned", rival, RESULTS / "policies"))


@pytest.mark.parametrize("control", ["without", PERMUTED])
def test_labels_compare_as_in_the_command(replay: str, control: str) -> None:
    results, units = frames(RESULTS / "hypothesis")
    learned = results[results["label"] == "learned"]
    sides = [learned[learned["label_control"] == name] for name in ("given", control)]
    found = compare(sides[0], sides[1], units, compared=["label_control"])
    agree(found, reference(replay, "labels=given", f"labels={control}", RESULTS / "hypothesis"))


def test_tiers_compare_as_in_the_command(replay: str) -> None:
    results, units = frames(RESULTS / "kingfisher")
    sides = [results[results["label"] == label] for label in ("learned", "kingfisher")]
    found = compare(sides[0], sides[1], units, compared=["tiers"])
    agree(found, reference(replay, "learned", "kingfisher", RESULTS / "kingfisher"))


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[+-]?\d+\.\d+", text.replace("−", "-"))]


@pytest.mark.parametrize("mode", ["per_user", "shared"])
def test_the_table_of_categories_has_the_means_of_the_command(replay: str, mode: str) -> None:
    table = fill("<!-- table: categories -->\n<!-- end of table -->\n", RESULTS)
    rows = [[part.strip() for part in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if row[1] == mode.replace("_", " ")]
    for control, column in ((PERMUTED, 2), ("without", 4)):
        labels = f"labels={control}"
        document = reference(replay, "labels=given", labels, RESULTS / "hypothesis", [f"mode={mode}"])
        means = {trace["trace"]: [100 * value for value in stated(trace)] for trace in document["traces"]}
        assert [row[0] for row in rows] == list(means)
        whole = reference(replay, "labels=given", labels, RESULTS / "hypothesis")
        for row in rows:
            assert numbers(row[column]) == pytest.approx(means[row[0]], abs=0.0051)
            cells = [c for c in whole["cells"] if c["trace"] == row[0] and c["a"]["mode"] == mode]
            significant = sum(cell["adjusted_p_value"] < 0.05 for cell in cells)
            assert row[column + 1] == f"{significant} of {len(cells)}"


def test_a_changed_cell_changes_the_comparison() -> None:
    results, units = frames(RESULTS / "kingfisher")
    sides = [results[results["label"] == label] for label in ("learned", "kingfisher")]
    before = compare(sides[0], sides[1], units, compared=["tiers"]).over_traces()[0]
    changed = units.copy()
    changed.loc[(units["label"] == "learned") & (units["unit"] % 2 == 0), "hits"] = 0
    after = compare(sides[0], sides[1], changed, compared=["tiers"]).over_traces()[0]
    assert after.high - after.low > 1.01 * (before.high - before.low)


def test_holm_multiplies_the_smallest_value_by_the_number_of_values() -> None:
    # By hand: 4 × 0.01, then 3 × 0.02, then 2 × 0.03, then the greater of 0.06 and 0.04.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_sides_without_a_partner_and_with_several_runs_are_one_sentence() -> None:
    results, units = frames(RESULTS / "kingfisher")
    learned = results[results["label"] == "learned"]
    with pytest.raises(lab.UsageError, match="no cell of the first side has a partner"):
        compare(learned, results[results["label"] == "lru"], units)
    with pytest.raises(lab.UsageError, match="several runs in one setting: gdsf, kingfisher, learned, lru, s3-fifo"):
        compare(learned, results, units, compared=["tiers"])
