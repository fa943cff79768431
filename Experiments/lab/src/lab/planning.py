"""The plan of a suite: which cells it has, as ``replay sweep --dry-run`` lists them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.command import last_sentence, run_replay
from lab.errors import ReplayError

PLAN_SCHEMA = "halcyon.plan/1"


@dataclass(frozen=True)
class PlannedCell:
    """One cell of a suite, before it is run."""

    #: The hash of its identity.
    hash: str
    #: The label of its run, such as ``s3-fifo(small=0.2)``.
    label: str
    #: The name of its trace.
    trace: str
    #: The capacity as asked, or a description of the tiers.
    capacity: str
    #: ``shared`` or ``per_user``.
    mode: str
    #: ``device`` or ``server``: what the learners of per-user caches see; None where nothing learns.
    knowledge: str | None
    #: The prefetch policy; None without.
    prefetch: str | None
    #: The label control.
    labels: str
    #: The seed; None for a run without random numbers.
    seed: int | None
    #: The estimated run time on one core, seconds.
    seconds: float
    #: The estimated resident memory, bytes.
    bytes: float

    @property
    def name(self) -> str:
        """A short description for messages."""
        parts = [f"{self.label} at {self.capacity}", self.mode.replace("_", " ")]
        parts += [f"{self.knowledge} knowledge"] if self.knowledge else []
        parts += [f"prefetch {self.prefetch}"] if self.prefetch else []
        parts += [] if self.labels == "given" else [f"labels {self.labels}"]
        parts += [] if self.seed is None else [f"seed {self.seed}"]
        return f"{self.trace}, {', '.join(parts)}"

    @property
    def setting(self) -> tuple[Any, ...]:
        """What a cell and its parts by user have in common."""
        return (
            self.label, self.trace, self.capacity, self.mode, self.knowledge, self.prefetch, self.labels, self.seed
        )  # fmt: skip


@dataclass(frozen=True)
class PlannedFailure:
    """A trace, or a cell, that cannot be run."""

    #: The name of the trace, and the cell if only one cannot be run.
    name: str
    #: The reason.
    sentence: str


@dataclass(frozen=True)
class Plan:
    """All cells of a suite."""

    cells: tuple[PlannedCell, ...]
    failed: tuple[PlannedFailure, ...]


@dataclass(frozen=True)
class Batch:
    """Cells of one trace that one task runs one after the other, so that the trace is read once for all of them."""

    trace: str
    cells: tuple[PlannedCell, ...]
    #: The part of the users, such as ``1/4``; None for all of them.
    users: str | None = None
    #: Whether it runs while nothing else does.
    is_alone: bool = False

    @property
    def seconds(self) -> float:
        """The estimated run time, seconds."""
        return sum(cell.seconds for cell in self.cells)

    def singles(self, is_alone: bool = False) -> tuple[Batch, ...]:
        """Returns a batch for each cell."""
        return tuple(Batch(self.trace, (cell,), self.users, is_alone) for cell in self.cells)


def read_plan(
    replay: str, suite: str | os.PathLike[str], results: str | os.PathLike[str], users: str | None = None
) -> Plan:
    """Returns the plan of a suite, by ``replay sweep SUITE --dry-run --format json``.

    ``users`` is a part of the users, such as ``1/4``. Raises ``ReplayError`` with the command's own sentence if it
    fails, and if its output is no plan.
    """
    arguments = ["sweep", os.fspath(suite), "--results", os.fspath(results), "--dry-run", "--format", "json"]
    if users is not None:
        arguments += ["--users", users]
    done = run_replay(replay, arguments)
    try:
        document = json.loads(done.stdout)
        if document["schema"] != PLAN_SCHEMA:
            raise ReplayError(f"the plan's schema is {document['schema']!r}; this version reads '{PLAN_SCHEMA}'.")
        cells = tuple(_planned_cell(cell) for cell in document["cells"])
        failed = tuple(
            PlannedFailure(
                ", ".join(failure[key] for key in ("trace", "cell") if failure.get(key)), failure["sentence"]
            )
            for failure in document["failures"]
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        reason = last_sentence(done.stderr) or f"it exited with {done.returncode} and printed no plan."
        raise ReplayError(f"`{Path(replay).name} {' '.join(arguments)}` failed: {reason}") from None
    return Plan(cells, failed)


def batches(cells: Iterable[PlannedCell], *, workers: int, seconds: float, users: str | None = None) -> list[Batch]:
    """Divides cells into batches of one trace each, the longest first.

    A batch holds about ``seconds`` of estimated time, and less if there would be fewer than four batches per worker;
    one cell is never divided. The result depends on the arguments only, not on the order of the cells.
    """
    by_trace: dict[str, list[PlannedCell]] = {}
    for cell in sorted(cells, key=lambda cell: (-cell.seconds, cell.hash)):
        by_trace.setdefault(cell.trace, []).append(cell)
    total = sum(cell.seconds for group in by_trace.values() for cell in group)
    limit = min(seconds, total / (4 * max(1, workers)))
    result: list[Batch] = []
    for trace, group in by_trace.items():
        most = max(1, -(-len(group) // (4 * max(1, workers)))) if limit <= 0 else len(group)
        part: list[PlannedCell] = []
        for cell in group:
            if part and (sum(other.seconds for other in part) + cell.seconds > limit > 0 or len(part) >= most):
                result.append(Batch(trace, tuple(part), users))
                part = []
            part.append(cell)
        result.append(Batch(trace, tuple(part), users))
    return sorted(result, key=lambda batch: (-batch.seconds, batch.trace, batch.cells[0].hash))


def _planned_cell(cell: dict[str, Any]) -> PlannedCell:
    seed = cell.get("seed")
    return PlannedCell(
        hash=str(cell["hash"]),
        label=str(cell["label"]),
        trace=str(cell["trace"]),
        capacity=str(cell["capacity"]),
        mode=str(cell["mode"]),
        knowledge=cell.get("knowledge"),
        prefetch=cell.get("prefetch"),
        labels=str(cell["labels"]),
        seed=None if seed is None else int(seed),
        seconds=float(cell.get("estimated_seconds") or 0),
        bytes=float(cell.get("estimated_bytes") or 0),
    )
