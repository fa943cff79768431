"""Plans and batches."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import lab
from lab.planning import PlannedCell, batches, read_plan


def planned(name: str, trace: str, seconds: float) -> PlannedCell:
    return PlannedCell(name, "lru", trace, "1%", "shared", None, None, "given", None, seconds, 0)


def some_cells() -> list[PlannedCell]:
    generator = random.Random(1)
    return [planned(f"{i:03}", generator.choice("abc"), generator.choice([0.5, 2, 40])) for i in range(100)]


def test_batches_hold_each_cell_once_and_one_trace_each() -> None:
    cells = some_cells()
    work = batches(cells, workers=2, seconds=30)
    assert sorted(cell.hash for batch in work for cell in batch.cells) == [cell.hash for cell in cells]
    assert all(cell.trace == batch.trace for batch in work for cell in batch.cells)
    assert all(batch.seconds <= 30 or len(batch.cells) == 1 for batch in work)
    assert [batch.seconds for batch in work] == sorted((batch.seconds for batch in work), reverse=True)


def test_batches_do_not_depend_on_the_order_of_the_cells() -> None:
    cells = some_cells()
    expected = batches(cells, workers=3, seconds=30)
    for seed in range(5):
        random.Random(seed).shuffle(cells)
        assert batches(cells, workers=3, seconds=30) == expected


def test_short_suites_still_give_every_worker_four_batches() -> None:
    cells = [planned(f"{i:03}", "a", 0.01) for i in range(64)]
    assert len(batches(cells, workers=4, seconds=30)) >= 16
    unknown = [planned(f"{i:03}", "a", 0) for i in range(64)]
    assert len(batches(unknown, workers=4, seconds=30)) == 16
    assert batches([], workers=4, seconds=30) == []


def test_plan_is_that_of_the_command(replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path) -> None:
    plan = read_plan(replay, suite, tmp_path / "results")
    assert sorted(f"{cell.hash}.json" for cell in plan.cells) == sorted(reference)
    assert plan.failed == ()
    assert {cell.trace for cell in plan.cells} == {"shop", "feed"}
    assert sorted(cell.seed for cell in plan.cells if cell.seed is not None) == [1, 2]


def test_plan_lists_a_trace_that_is_not_there(replay: str, suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "suite.yml"
    path.write_text(suite.read_text().replace("feed.csv", "absent.csv"))
    plan = read_plan(replay, path, tmp_path / "results")
    assert len(plan.cells) == 12
    assert [failure.name for failure in plan.failed] == ["feed"]
    assert "absent.csv" in plan.failed[0].sentence


def test_unusable_suite_gives_the_sentence_of_the_command(replay: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.yml"
    path.write_text("schema: halcyon.suite/9\n")
    with pytest.raises(lab.ReplayError, match=r"suite\.yml") as caught:
        read_plan(replay, path, tmp_path / "results")
    assert "halcyon.suite/1" in str(caught.value)
    with pytest.raises(lab.ReplayError, match="cannot be run"):
        read_plan(str(tmp_path / "absent"), path, tmp_path / "results")
