"""The workspace of the notebooks, and the check of committed ones."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import ROOT
from matplotlib.figure import Figure
from PIL import Image

import lab
from lab.notebooks import Workspace, markdown_table, names, png, signed

EXECUTE = ROOT / "Notebooks" / "execute.py"


@pytest.fixture
def workspace(replay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    for name in ("HALCYON_NOTEBOOK_TRACE", "HALCYON_NOTEBOOK_SMALL", "HALCYON_RECORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPLAY", replay)
    return Workspace("test", root=tmp_path)


SUITE = """
schema: halcyon.suite/1
description: Two policies.
traces:
  - {{path: "{path}", name: {name}, limit: 2000}}
experiments:
  - {{name: shared, policies: [{policies}], capacities: [5%]}}
"""


def test_a_suite_returns_its_own_cells_under_its_own_names(workspace: Workspace) -> None:
    trace = workspace.generate("informative", requests=3_000)
    results = workspace.sweep(SUITE.format(path=trace, name="first", policies="lru, arc"))
    assert sorted(results["run"]) == ["arc", "lru"] and set(results["trace"]) == {"first"}
    # The same requests under another name, and fewer policies.
    results = workspace.sweep(SUITE.format(path=trace, name="second", policies="lru"))
    assert list(results["run"]) == ["lru"] and set(results["trace"]) == {"second"}


def test_a_suite_that_cannot_be_run_says_why(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "keys.csv").write_text("key\na\nb\na\n")
    suite = SUITE.format(path=tmp_path / "keys.csv", name="keys", policies="lru").replace("name: shared", "modes: per_user, name: u")
    with pytest.raises(lab.ReplayError, match="the suite 'suite' cannot be run: keys.*no users"):
        workspace.sweep(suite)
    with pytest.raises(lab.ReplayError, match="`replay generate` failed: "):
        workspace.generate("no-such-model")


def test_metrics_over_a_run_end_where_the_whole_run_ends(workspace: Workspace) -> None:
    trace = workspace.generate("informative", requests=8_000)
    found = workspace.over_run(trace, "learned", 300, 8_000, points=3)
    assert list(found["requests"]) == [4_000, 6_000, 8_000]
    whole = workspace.json("run", trace, "--policy", "learned", "--only", "--capacity", "300")["runs"][0]["metrics"]
    assert found["training_steps"].iloc[-1] == whole["training_steps"]
    assert found["training_steps"].nunique() == 3


def test_the_environment_decides(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not workspace.small and workspace.trace is None
    monkeypatch.setenv("HALCYON_NOTEBOOK_SMALL", "1")
    monkeypatch.setenv("HALCYON_NOTEBOOK_TRACE", str(tmp_path / "none.csv"))
    with pytest.raises(lab.UsageError, match="HALCYON_NOTEBOOK_TRACE names none.csv, which is no file"):
        Workspace("test", root=tmp_path)
    (tmp_path / "none.csv").write_text("key\na\n")
    again = Workspace("test", root=tmp_path)
    assert again.small and again.trace == tmp_path / "none.csv"
    with pytest.raises(lab.UsageError, match="RecordAndReplay is not built"):
        again.record("lru", 10)
    monkeypatch.setenv("REPLAY", str(tmp_path / "replay"))
    with pytest.raises(lab.UsageError, match="replay' was not found; run 'make release'"):
        Workspace("test", root=tmp_path)


def test_a_record_is_made_once_and_a_failure_has_the_sentence_of_the_example(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = tmp_path / "RecordAndReplay"
    example.write_text('#!/bin/sh\n[ "$1" = lru ] || { echo "no policy $1"; exit 64; }\necho "$2" >> "$3"\n')
    example.chmod(0o755)
    monkeypatch.setenv("HALCYON_RECORD", str(example))
    assert [workspace.record("lru", 10).read_text() for _ in range(2)] == ["10\n", "10\n"]
    with pytest.raises(lab.ReplayError, match="RecordAndReplay failed: no policy x"):
        workspace.record("x", 10)


def test_tables_and_words() -> None:
    frame = pd.DataFrame({"trace": ["a", "b"], "requests": [1200, 3], "gain": [-0.5, float("nan")]})
    assert markdown_table(frame) == (
        "| trace | requests | gain |\n| --- | --: | --: |\n| a | 1,200 | −0.50 |\n| b | 3 | – |"
    )
    assert markdown_table(pd.DataFrame({"x": [-0.001]})).endswith("| 0.00 |")
    assert [signed(value) for value in (0.5, -0.5, -0.001, 0.0)] == ["+0.50", "−0.50", "0.00", "0.00"]
    assert [names(list(text)) for text in ("", "a", "ab", "abcb")] == ["none", "a", "a and b", "a, b and c"]


def test_a_picture_is_small_and_keeps_its_colours() -> None:
    figure = Figure(figsize=(2, 1))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_facecolor("#D55E00")
    picture = Image.open(io.BytesIO(png(figure))).convert("RGB")
    assert picture.size == (200, 100)
    assert picture.getpixel((100, 50)) == (0xD5, 0x5E, 0x00)


def test_committed_notebooks_are_fit() -> None:
    done = subprocess.run(
        [sys.executable, EXECUTE, "--check", *sorted((ROOT / "Notebooks").glob("*.ipynb"))], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "5 notebooks, 0 findings\n")


def notebook() -> dict[str, Any]:
    """A notebook of two code cells that was executed."""
    sources = ["a = 1", "show(a)"]
    cells = [
        {"cell_type": "code", "id": "1", "metadata": {}, "execution_count": 1, "source": [sources[0]], "outputs": []},
        {
            "cell_type": "code", "id": "2", "metadata": {}, "execution_count": 2, "source": [sources[1]],
            "outputs": [{"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo="}}],
        },
    ]  # fmt: skip
    digest = hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16]
    return {"cells": cells, "metadata": {"halcyon": {"sources": digest}}, "nbformat": 4, "nbformat_minor": 5}


def without_outputs(one: dict[str, Any]) -> None:
    for cell in one["cells"]:
        cell.update(outputs=[], execution_count=None)


def with_error(one: dict[str, Any]) -> None:
    one["cells"][0]["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]


def with_other_code(one: dict[str, Any]) -> None:
    one["cells"][0]["source"] = ["a = 2"]


def with_a_path(one: dict[str, Any]) -> None:
    one["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["/" + "home/me/x.csv"]}]


def with_a_warning(one: dict[str, Any]) -> None:
    one["cells"][0]["outputs"] = [{"output_type": "stream", "name": "stderr", "text": ["careful"]}]


def too_large(one: dict[str, Any]) -> None:
    one["cells"][1]["outputs"][0]["data"]["image/png"] = "A" * 500_000


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        (without_outputs, "was not executed from top to bottom"), (without_outputs, "has no picture"),
        (with_error, "was saved with an error"), (with_other_code, "has outputs of other code than it shows"),
        (with_a_path, "names a path of a machine, /home/me/x.csv"), (with_a_warning, "has warnings"),
        (too_large, "bytes, 500,000 are allowed"),
    ],
)  # fmt: skip
def test_a_notebook_that_is_not_fit_is_found(tmp_path: Path, damage: Callable[[dict[str, Any]], None], finding: str) -> None:
    path = tmp_path / "one.ipynb"
    one = notebook()
    path.write_text(json.dumps(one))
    command = [sys.executable, str(EXECUTE), str(path), "--check"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    damage(one)
    path.write_text(json.dumps(one))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and re.search(re.escape(finding), done.stdout)


def test_wrong_usage_and_unreadable_notebooks(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, EXECUTE, "x.ipynb"], capture_output=True, text=True)
    assert done.returncode == 64 and "--folder" in done.stderr
    (tmp_path / "broken.ipynb").write_text("{")
    for name, sentence in (("broken.ipynb", "is no notebook of format 4"), ("none.ipynb", "cannot be read: No such file")):
        done = subprocess.run([sys.executable, EXECUTE, "--check", tmp_path / name], capture_output=True, text=True)
        assert done.returncode == 1 and sentence in done.stdout


def test_a_notebook_is_executed_and_a_failing_one_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    one = notebook()
    without_outputs(one)
    one["cells"][1]["source"] = ["import matplotlib.pyplot as plt\nplt.plot([1, a])\nplt.show()"]
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps(one))
    command = [sys.executable, str(EXECUTE), str(path), "--folder", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([sys.executable, EXECUTE, "--check", tmp_path / "out" / "one.ipynb"]).returncode == 0
    one["cells"][1]["source"] = ["1 / 0"]
    path.write_text(json.dumps(one))
    before = (tmp_path / "out" / "one.ipynb").read_bytes()
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert (tmp_path / "out" / "one.ipynb").read_bytes() == before
    assert not list((tmp_path / "out").glob(".*"))
