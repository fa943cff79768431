"""Fleets in parts by user on real worker processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import lab
from conftest import ROOT
from lab.fleet import COUNTS, add_up

TRACE = ROOT / "Traces" / "shop.csv"
OPTIONS = ["--limit", "20000"]


@pytest.fixture(scope="module")
def whole(replay: str) -> dict[str, int]:
    """The counts of one process, by the command itself."""
    command = [replay, str(TRACE), "--stream", "--per", "user", "--only", "-p", "lru", "-c", "20", "--format", "json"]
    output = subprocess.run([*command, *OPTIONS], check=True, capture_output=True).stdout
    run = json.loads(output)["runs"][0]
    return {name: run[name] for name in COUNTS}


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_parts_add_up_to_the_whole(replay: str, whole: dict[str, int], parts: int) -> None:
    total = lab.fleet(TRACE, policy="lru", parts=parts, options=OPTIONS, replay=replay)
    assert total.counts == whole
    assert sum(window["hits"] for window in total.windows) == whole["hits"]
    assert len(total.part_seconds) == parts


def test_a_shared_model_is_refused_in_parts_and_run_whole(replay: str) -> None:
    with pytest.raises(lab.ReplayError, match="--models own"):
        lab.fleet(TRACE, policy="learned", parts=2, options=OPTIONS, replay=replay)
    assert lab.fleet(TRACE, policy="learned", parts=1, options=OPTIONS, replay=replay).counts["requests"] == 20_000


def test_different_requests_do_not_add_up() -> None:
    run = {**dict.fromkeys(COUNTS, 1), "windows": []}
    documents = [{"trace": {"fingerprint": name}, "run": run} for name in ("a", "b")]
    with pytest.raises(lab.ReplayError, match="different requests, with the hashes a, b"):
        add_up(documents)


def test_wrong_arguments_are_named(replay: str, tmp_path: Path) -> None:
    with pytest.raises(lab.UsageError, match="parts is 0"):
        lab.fleet(TRACE, parts=0, replay=replay)
    with pytest.raises(lab.ReplayError, match="missing.csv"):
        lab.fleet(tmp_path / "missing.csv", replay=replay)
