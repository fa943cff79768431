"""Where the package finds the command ``replay``."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import lab
from conftest import ROOT
from lab.command import find_replay


def executable(path: Path) -> str:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_argument_comes_before_the_variable_the_build_and_the_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {name: executable(tmp_path / name / "replay") for name in ("named", "variable", "path")}
    made["build"] = executable(tmp_path / "repository/.build/release/replay")
    inside = tmp_path / "repository/Notebooks"
    inside.mkdir()
    monkeypatch.chdir(inside)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("REPLAY", made["variable"])
    assert find_replay(made["named"]) == made["named"]
    assert find_replay("replay") == made["path"]
    assert find_replay() == made["variable"]
    monkeypatch.delenv("REPLAY")
    assert find_replay() == made["build"]
    assert find_replay(folder=tmp_path / "elsewhere") == made["path"]
    monkeypatch.chdir(tmp_path / "named")
    assert find_replay() == made["path"]


def test_a_missing_command_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("REPLAY", raising=False)
    sentence = "was not found; run 'make release', or give its path in the variable REPLAY or with --replay."
    with pytest.raises(lab.UsageError, match=f"the command 'replay' {sentence}"):
        find_replay()
    monkeypatch.setenv("REPLAY", "none/replay")
    with pytest.raises(lab.UsageError, match=f"the command 'none/replay' {sentence}"):
        find_replay()


#: Runs the command line where selenium is not installed, and prints its status and whether pandas was loaded.
WITHOUT_SELENIUM = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "selenium" else find(name, *rest)
from lab.__main__ import main
status = main(["screenshot", "page.html", "page.png"])
print(status, "pandas" in sys.modules)
"""


def test_a_picture_without_selenium_is_one_sentence_before_anything_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_SELENIUM], capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"
    assert done.stderr == "Error: a picture needs selenium; pip install -e 'Experiments/lab[screenshot]' installs it.\n"


def test_the_sentence_names_an_extra_of_the_package_that_installs_selenium() -> None:
    extras = tomllib.loads((ROOT / "Experiments/lab/pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(name.startswith("selenium==") for name in extras["screenshot"])
    assert "halcyon-lab[screenshot]" in extras["test"]
    assert "pip install -e 'Experiments/lab[screenshot]'" in (ROOT / "Experiments/lab/README.md").read_text()


def test_names_of_the_package_are_found_when_they_are_used() -> None:
    program = "import sys, lab; assert 'pandas' not in sys.modules; lab.contrasts.__call__; lab.load; print(len(dir(lab)) > 20)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert all(getattr(lab, name) is not None for name in lab.__all__)
    with pytest.raises(AttributeError, match="module 'lab' has no attribute 'plots'"):
        _ = lab.plots
