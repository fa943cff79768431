"""Stored cells run again and compared, byte for byte."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lab.cells import stored_cell
from lab.command import find_replay, run_replay
from lab.errors import ResultsError
from lab.planning import read_plan


def rerun(
    suite: Path, results: Path, *, replay: str | None = None, cells: int = 5, seed: int = 0, traces: Sequence[str] = ()
) -> tuple[int, list[str]]:
    """Runs some stored cells of a suite again, drawn at random, and returns their number and the names of those whose bytes differ.

    ``traces`` are the only traces to draw from; by default all that can be read. Raises ``ResultsError`` if no stored
    cell can be run.
    """
    command = find_replay(replay)
    plan = read_plan(command, suite.resolve(), results)
    stored = [
        cell
        for cell in plan.cells
        if stored_cell(results, cell.hash) and (not traces or cell.trace in traces)
    ]
    if not stored:
        raise ResultsError(results, f"has no cell of {suite} whose trace can be read")
    drawn = random.Random(seed).sample(sorted(stored, key=lambda cell: cell.hash), min(cells, len(stored)))
    different = []
    with tempfile.TemporaryDirectory(prefix="halcyon-lab-") as folder:
        for cell in drawn:
            run_replay(command, ["sweep", str(suite), "--trace", cell.trace, "--cell", cell.hash, "--results", folder])
            again, before = stored_cell(folder, cell.hash), stored_cell(results, cell.hash)
            if again is None or before is None or again[0] != before[0]:
                different.append(cell.name)
    return len(drawn), different
