"""A policy of one's own: the results that its program stored, as frames, a comparison and the report page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import lab

PACKAGE = ROOT / "Experiments" / "CustomPolicy"


@pytest.fixture(scope="module")
def myreplay() -> str:
    """The program of the package beside the root, which `make example` builds."""
    path = ROOT / ".build" / "debug" / "myreplay"
    if not path.is_file():
        pytest.skip(f"the program of {PACKAGE} is not built: no file {path}; `make example` builds it")
    return str(path)


@pytest.fixture(scope="module")
def results(myreplay: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own") / "results"
    subprocess.run([myreplay, "sweep", str(PACKAGE / "suite.yml"), "--results", str(folder)], check=True)
    return folder


def test_frame_names_the_policy_and_its_version(results: Path) -> None:
    cells = lab.load(results)
    own = cells[cells["policy"] == "second-glance"]
    assert len(own) == 2
    assert list(own["p_version"].astype(str)) == ["1", "1"]
    # It is CLOCK by another name.
    hits = cells.set_index(["policy", "capacity"])["hits"]
    assert hits["second-glance"].to_dict() == hits["clock"].to_dict()


@pytest.mark.parametrize("command", ["myreplay", "replay"])
def test_page_shows_the_policy(command: str, results: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    page = tmp_path / "page.html"
    environment = {**os.environ, "REPLAY": str(request.getfixturevalue(command))}
    subprocess.run([sys.executable, "-m", "lab", "report", str(results), str(page)], check=True, env=environment)
    text = page.read_text(encoding="utf-8")
    assert "second-glance" in text
    assert "clock" in text
