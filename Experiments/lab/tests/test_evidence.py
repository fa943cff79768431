"""Tables of documents from stored results, and stored cells that are run again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import lab
from conftest import ROOT, cell_bytes, documents
from lab.evidence import fill, write
from lab.rerun import rerun

SUITE = """\
schema: halcyon.suite/1
traces: [{{path: {root}/Traces/shop.csv, limit: 4000}}]
experiments:
  - {{name: a, policies: [fifo, lru, s3-fifo, learned, belady], capacities: [1%, 10%], seeds: 2}}
"""
LABELS = """\
schema: halcyon.suite/1
traces: [{{path: {root}/Traces/shop.csv, limit: 6000}}]
experiments:
  - {{name: a, policies: [learned], capacities: [1%, 10%], seeds: 2, labels: [given, without]}}
  - {{name: b, policies: [learned], capacities: [1%, 10%], labels: ["permuted within=popularity,age,size"], permutations: 2}}
"""
DEVICES = """\
schema: halcyon.suite/1
traces: [{{path: {root}/Traces/shop.csv, limit: 6000}}]
experiments:
  - name: device
    modes: per_user
    knowledge: device
    policies: [lru, lfu, s3-fifo, w-tinylfu, belady, learned, "learned(model=none)"]
    capacities: [10, 20]
    seeds: 2
  - {{name: server, modes: per_user, knowledge: server, policies: [learned], capacities: [10, 20], seeds: 2}}
  - name: control
    modes: per_user
    policies: [learned]
    capacities: [10, 20]
    seeds: 2
    labels: [without]
  - name: permuted
    modes: per_user
    policies: [learned]
    capacities: [10, 20]
    labels: ["permuted within=popularity,age,size"]
    permutations: 2
"""
MARKED = "before\n<!-- table: {name} -->\nold\n<!-- end of table -->\nafter\n"


@pytest.fixture(scope="module")
def results(replay: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of folders of results, with the suite beside it."""
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "policies.yml").write_text(SUITE.format(root=ROOT))
    command = [replay, "sweep", str(folder / "policies.yml"), "--results", str(folder / "policies")]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def hits(results: Path, label: str, capacity: str) -> float:
    """The miss ratio of a policy, read from the files without the package."""
    cells = documents(results / "policies")
    chosen = [c["counts"] for c in cells if c["label"] == label and c["identity"]["capacity"] == capacity]
    assert chosen
    return float(1 - sum(c["hits"] / c["requests"] for c in chosen) / len(chosen))


def test_a_table_is_written_between_its_marks(results: Path) -> None:
    text = fill(MARKED.format(name="policies"), results)
    rows = [line for line in text.splitlines() if line.startswith("| shop")]
    learned, best = hits(results, "learned", "10%"), min(hits(results, name, "10%") for name in ("lru", "fifo", "s3-fifo"))
    expected = f"{learned:.3f}".lstrip("0") + f" ({100 * (learned / best - 1):+.1f}".replace("-", "−")
    assert len(rows) == 1 and expected in rows[0]
    assert text.startswith("before\n<!-- table: policies -->\n") and text.endswith("<!-- end of table -->\nafter\n")
    assert "old" not in text
    assert fill(text, results) == text


def test_the_ranking_is_over_the_best_of_each_cell(results: Path) -> None:
    text = fill(MARKED.format(name="ranking"), results)
    row = next(line for line in text.splitlines() if line.startswith("| fifo"))
    over = [
        100 * (hits(results, "fifo", capacity) / min(hits(results, n, capacity) for n in ("fifo", "lru", "s3-fifo", "learned")) - 1)
        for capacity in ("1%", "10%")
    ]
    assert f"{sum(over) / 2:+.1f}" in row
    assert row.split(" | ")[4] == "0.0"
    assert "belady" not in text


def test_the_worst_cases_are_reductions_of_the_misses_of_fifo(results: Path) -> None:
    text = fill(MARKED.format(name="worst-cases"), results)
    header, _, *rows = [line for line in text.splitlines() if line.startswith("|")]
    assert "at 1%" in header and "at 10%" in header
    assert {row.split(" | ")[0].removeprefix("| ") for row in rows} == {"fifo", "lru", "s3-fifo", "learned"}
    for name in ("lru", "s3-fifo", "learned"):
        cells = next(row for row in rows if row.startswith(f"| {name} |")).split(" | ")
        for capacity, first in (("1%", 1), ("10%", 4)):
            saved = f"{100 * (1 - hits(results, name, capacity) / hits(results, 'fifo', capacity)):+.1f}".replace("-", "−")
            # There is one trace.
            assert cells[first : first + 2] == [saved, saved] and cells[first + 2].startswith(f"{saved} (")
        best = {c: min(hits(results, n, c) for n in ("lru", "s3-fifo")) for c in ("1%", "10%")}
        loss, capacity = max((100 * (hits(results, name, c) / best[c] - 1), c) for c in best)
        assert cells[7].startswith(f"{loss:+.1f} (".replace("-", "−") if round(loss, 9) else "0.0 (")
        assert cells[7].rstrip(" |").endswith(f", {capacity})")


def test_the_costs_of_labels_are_those_over_the_better_control(replay: str, tmp_path: Path) -> None:
    suite = tmp_path / "labels.yml"
    suite.write_text(LABELS.format(root=ROOT))
    command = [replay, "sweep", str(suite), "--results", str(tmp_path / "hypothesis")]
    subprocess.run(command, check=True, capture_output=True)
    cells = documents(tmp_path / "hypothesis")

    def mean(labels: str, capacity: str) -> float:
        chosen = [
            c["counts"]["hits"] / c["counts"]["requests"]
            for c in cells
            if c["identity"]["labels"].startswith(labels) and c["identity"]["capacity"] == capacity
        ]
        return float(100 * sum(chosen) / len(chosen))

    text = fill(MARKED.format(name="categories-costs"), tmp_path)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| shop")]
    expected = sorted(
        (mean("given", c) - max(mean("permuted", c), mean("without", c)), c) for c in ("1%", "10%")
    )
    assert [row[2] for row in rows] == [capacity for _, capacity in expected]
    for row, (gain, capacity) in zip(rows, expected):
        assert row[3] == ("permuted labels" if mean("permuted", capacity) > mean("without", capacity) else "one category")
        assert row[4].startswith(f"{gain:+.2f} (".replace("-", "−"))


def test_check_names_documents_that_differ_and_writes_nothing(results: Path, tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(MARKED.format(name="ranking"))
    assert write(results, [document], check=True) == [document]
    assert "old" in document.read_text()
    assert write(results, [document]) == [document]
    assert write(results, [document], check=True) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("no marks\n", "has no table to write"),
        (MARKED.format(name="unknown"), "there is no table 'unknown'; there are claims, smoke, set-up, policies"),
        ("<!-- table: ranking -->\n", "a table has no end"),
        (MARKED.format(name="hypothesis"), "hypothesis: has no results; run 'make evidence'"),
    ],
)
def test_wrong_documents_are_one_sentence(results: Path, text: str, sentence: str) -> None:
    with pytest.raises(lab.LabError, match=sentence):
        fill(text, results)


def test_stored_cells_are_run_again_and_an_edited_one_is_found(replay: str, results: Path, tmp_path: Path) -> None:
    suite, folder = results / "policies.yml", results / "policies"
    assert rerun(suite, folder, replay=replay, cells=3, seed=1) == (3, [])
    copy = tmp_path / "edited" / "cells"
    copy.mkdir(parents=True)
    for name, content in cell_bytes(folder).items():
        (copy / name).write_bytes(content.replace(b'"evictions":', b'"evictions":1'))
    assert len(rerun(suite, copy.parent, replay=replay, cells=2, seed=1)[1]) == 2
    with pytest.raises(lab.ResultsError, match="has no cell"):
        rerun(suite, tmp_path / "none", replay=replay)


def test_the_table_of_devices_has_the_hits_of_its_cells(replay: str, tmp_path: Path) -> None:
    (tmp_path / "devices.yml").write_text(DEVICES.format(root=ROOT))
    command = [replay, "sweep", str(tmp_path / "devices.yml"), "--results", str(tmp_path / "devices")]
    subprocess.run(command, check=True, capture_output=True)
    cells = documents(tmp_path / "devices")

    def mean(label: str, capacity: str, knowledge: str | None) -> float:
        chosen = [
            c["counts"]
            for c in cells
            if c["label"] == label
            and c["identity"]["capacity"] == capacity
            and c["identity"].get("knowledge") == knowledge
            and c["identity"]["labels"] == "given"
        ]
        assert chosen
        return float(100 * sum(c["hits"] / c["requests"] for c in chosen) / len(chosen))

    table = [line.split("|")[1:-1] for line in fill(MARKED.format(name="devices"), tmp_path).splitlines() if "| shop" in line]
    shares = []
    for row, capacity in zip(table, ("10", "20"), strict=True):
        lru, best, nothing, shipped, same_app, server, belady = (cell.split()[0] for cell in row[2:9])
        assert same_app == "–"
        assert float(lru) == pytest.approx(mean("lru", capacity, None), abs=0.005)
        simple = [mean(name, capacity, None) for name in ("lru", "lfu", "s3-fifo", "w-tinylfu")]
        assert float(best) == pytest.approx(max(simple), abs=0.005)
        assert float(nothing) == pytest.approx(mean("learned(model=none)", capacity, "device"), abs=0.005)
        assert float(shipped) == pytest.approx(mean("learned", capacity, "device"), abs=0.005)
        assert float(server) == pytest.approx(mean("learned", capacity, "server"), abs=0.005)
        assert float(belady) == pytest.approx(mean("belady", capacity, None), abs=0.005)
        gap = mean("belady", capacity, None) - mean("lru", capacity, None)
        shares.append(100 * (mean("learned", capacity, "device") - mean("lru", capacity, None)) / gap)
    filled = fill(MARKED.format(name="devices"), tmp_path)
    assert f"| {sum(shares) / 2:.1f} % |" in filled
    assert fill(MARKED.format(name="devices-labels"), tmp_path).count("| shop |") == 2
