"""Where the package finds the command ``replay``."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
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
