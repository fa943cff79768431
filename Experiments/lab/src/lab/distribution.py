"""Runs the cells of a suite as tasks of Dask, on this machine or on many."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
from distributed import Client, KilledWorker, LocalCluster
from distributed.comm.core import CommClosedError

from lab.cells import cell_path, is_results_folder, parse_cell, provenance_path, read_cell, stored_cell
from lab.command import find_replay, last_sentence, run_replay
from lab.errors import LabError, ReplayError, ResultsError, UsageError
from lab.planning import Batch, Plan, PlannedCell, batches, read_plan
from lab.worker import Delivery, ReplayKilled, run_batch

#: Receives one line of progress.
Progress = Callable[[str], None]

_POLL_SECONDS = 0.02
_MOST_SUBMITTED = 1_000
_LOST = ("cancelled", "lost")


@dataclass(frozen=True)
class FailedCell:
    """A cell that could not be run."""

    #: The hash; empty if a whole trace failed.
    hash: str
    #: A description of the cell or the trace.
    name: str
    #: The reason.
    sentence: str


@dataclass
class Distribution:
    """What ``distribute`` did."""

    #: The cells of the suite.
    cells: int = 0
    #: The cells that were stored before.
    stored_before: int = 0
    #: The cells that were run and stored.
    stored: int = 0
    #: The cells that arrived once more, with the same bytes.
    repeated: int = 0
    #: The batches that were submitted again, since a worker, the scheduler or the connection was lost.
    resubmitted: int = 0
    #: The parts by user that were run, with ``users``.
    parts: int = 0
    #: The cells that failed.
    failed: list[FailedCell] = field(default_factory=list)
    #: The time that it took, seconds.
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether all cells of the suite are stored."""
        return not self.failed


def distribute(
    suite: str | os.PathLike[str],
    results: str | os.PathLike[str],
    *,
    replay: str | None = None,
    client: Client | str | None = None,
    workers: int = 2,
    retries: int = 3,
    users: int | None = None,
    batch_seconds: float = 30.0,
    reconnect_seconds: float = 300.0,
    progress: Progress | None = None,
) -> Distribution:
    """Runs the cells of a suite that are not stored yet, as tasks of Dask, and stores them.

    The results folder ends up with the same cells, byte for byte, as ``replay sweep SUITE --results RESULTS`` writes
    in one process, whatever the number of workers, their order, and whatever was lost and repeated on the way. Each
    cell is a file of its own until all have been run; ``replay results RESULTS --pack`` then makes one file of them.
    Stored cells are not run again, so that an interrupted call goes on where it was; at most the running batches are
    lost.

    - ``suite``: the suite file. With workers on other machines, the suite, its traces and ``replay`` must have the
      same paths there. Workers need this package; nothing else is sent to them.
    - ``results``: the results folder. Only this process writes to it.
    - ``replay``: the command, or its path; see ``lab.command.find_replay``.
    - ``client``: None starts ``workers`` processes on this machine and ends them afterwards; an address such as
      ``tcp://host:8786`` uses a running scheduler; a ``distributed.Client`` is used and left open.
    - ``workers``: processes to start, or the number of workers that the batches are made for.
    - ``retries``: how often a task is repeated whose worker or ``replay`` was killed; a running scheduler has a limit
      of its own for killed workers (``distributed.scheduler.allowed-failures``). The cells of a batch that is killed
      still are run one at a time at the end, so that a cell that needs too much memory fails alone.
    - ``users``: splits cells of per-user caches into this many parts by user (``replay sweep --users i/n``), and adds
      the parts up with ``replay merge``. Cells that cannot be split, such as those of a model that users share, are
      run whole. Parts are kept in ``RESULTS/parts-N`` until the cell is stored.
    - ``batch_seconds``: the estimated time of a task, seconds. A batch reads its trace once.
    - ``reconnect_seconds``: how long to wait for a lost scheduler, seconds. Lost tasks are submitted again.
    - ``progress``: receives lines of progress; None is silent.

    A script that calls this without ``client`` needs ``if __name__ == "__main__":`` around the call, since worker
    processes import the script.

    Raises ``ReplayError`` if the suite cannot be planned, ``UsageError`` for arguments out of range, ``ResultsError``
    if a stored cell is broken or if a delivered cell has other bytes than the stored one (the new file is kept in
    ``RESULTS/conflicts`` and both are named), and ``LabError`` if the scheduler stays away. A failed cell is no
    exception: it is listed in the result.
    """
    start = time.monotonic()
    for name, value, least in (("workers", workers, 1), ("retries", retries, 0), ("users", users or 1, 1)):
        if value < least:
            raise UsageError(f"{name} is {value}; an integer from {least} is expected.")
    say = progress or (lambda line: None)
    suite_path, folder = Path(suite).resolve(), Path(results)
    command = _command(replay, is_local=client is None)
    plan = read_plan(command, suite_path, folder)
    outcome = Distribution(cells=len(plan.cells))
    outcome.failed += [FailedCell("", failure.name, failure.sentence) for failure in plan.failed]
    missing = _missing(folder, plan.cells)
    outcome.stored_before = len(plan.cells) - len(missing)
    say(f"{len(plan.cells)} cells, {outcome.stored_before} stored, {len(missing)} to run")

    whole, parts = missing, _Parts()
    if users is not None and users > 1:
        parts = _Parts.planned(command, suite_path, folder, users, missing)
        whole = [cell for cell in missing if cell.hash not in parts.of]
    work = batches(whole, workers=workers, seconds=batch_seconds)
    for part, cells in parts.missing.items():
        work += batches(cells, workers=max(1, workers // (users or 1)), seconds=batch_seconds, users=part)
    if work:
        with _connection(client, workers, retries, reconnect_seconds) as connection:
            run = _Run(command, suite_path, folder, parts.folder, connection, retries, outcome, say)
            run.all(sorted(work, key=lambda batch: (-batch.seconds, batch.trace, batch.cells[0].hash)))
    if parts.of:
        parts.merge(command, folder, outcome)
    _pack(command, folder)
    outcome.seconds = time.monotonic() - start
    return outcome


def store(
    folder: str | os.PathLike[str], content: bytes, provenance: bytes | None, source: str, name: str | None = None
) -> bool:
    """Stores a cell in a results folder, and returns False if it was there already with the same bytes.

    The file is written beside and linked, so that it is complete and never replaced. ``source`` describes where the
    bytes came from and ``name`` is the expected hash. Raises ``ResultsError`` if the bytes are no valid cell or the
    stored cell has other bytes; the new ones are then kept in ``FOLDER/conflicts``.
    """
    cell = parse_cell(content, source, name)
    path = cell_path(folder, cell.hash)
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = stored_cell(folder, cell.hash)
    if stored is None and not _create(path, content):
        stored = stored_cell(folder, cell.hash)
    if stored is not None:
        if stored[0] == content:
            return False
        conflict = Path(folder) / "conflicts" / path.name
        conflict.parent.mkdir(exist_ok=True)
        conflict.write_bytes(content)
        raise ResultsError(
            stored[1],
            f"differs from the same cell of {source}, kept as {conflict}; equal identities must give equal bytes.",
        )
    if provenance is not None:
        sidecar = provenance_path(folder, cell.hash)
        sidecar.parent.mkdir(parents=True, exist_ok=True)
        _create(sidecar, provenance)
    return True


def _create(path: Path, content: bytes) -> bool:
    """Writes a complete new file, and returns False if one exists."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        part.chmod(0o666 & ~mask)
        try:
            os.link(part, path)
        except FileExistsError:
            return False
        except OSError:  # A file system without hard links.
            if path.exists():
                return False
            part.replace(path)
        return True
    finally:
        part.unlink(missing_ok=True)


class _Run:
    """Submits batches and stores what they deliver."""

    def __init__(
        self, replay: str, suite: Path, results: Path, parts: Path | None, connection: _Connection, retries: int,
        outcome: Distribution, say: Progress,
    ) -> None:  # fmt: skip
        self.replay = replay
        self.suite = suite
        self.results = results
        self.parts = parts
        self.connection = connection
        self.retries = retries
        self.outcome = outcome
        self.say = say
        self.waiting: deque[Batch] = deque()
        self.submitted: dict[Any, Batch] = {}
        #: Cells that were killed, or whose neighbours on a worker were. They run one at a time at the end.
        self.suspects: deque[Batch] = deque()

    def all(self, work: Sequence[Batch]) -> None:
        """Runs all batches. Returns when each cell is stored or listed as failed."""
        self.waiting = deque(work)
        total, start = sum(len(batch.cells) for batch in work), time.monotonic()
        try:
            while self.waiting or self.submitted or self.suspects:
                if not self.connection.is_open:
                    self._reconnect()
                while self.waiting and len(self.submitted) < _MOST_SUBMITTED:
                    self._submit(self.waiting.popleft())
                if self.suspects and not self.submitted:
                    self._submit(self.suspects.popleft())
                finished = [future for future in self.submitted if future.status != "pending"]
                for future in finished:
                    self._take(future, self.submitted.pop(future))
                if finished:
                    rest = (*self.waiting, *self.submitted.values(), *self.suspects)
                    left = sum(len(batch.cells) for batch in rest)
                    seconds = (time.monotonic() - start) / max(1, total - left) * left
                    self.say(f"{total - left} of {total} cells, about {seconds:.0f} s left")
                else:
                    time.sleep(_POLL_SECONDS)
        finally:
            for future in self.submitted:
                with contextlib.suppress(Exception):
                    future.cancel()

    def _submit(self, batch: Batch) -> None:
        hashes = [cell.hash for cell in batch.cells]
        names = [f"{cell.label} at {cell.capacity}" for cell in batch.cells]
        future = self.connection.client.submit(
            run_batch, self.replay, os.fspath(self.suite), batch.trace, hashes, names, batch.users,
            pure=False, retries=self.retries,
        )  # fmt: skip
        self.submitted[future] = batch

    def _reconnect(self) -> None:
        """Waits for the scheduler, and puts back the batches that it had."""
        self.say("the scheduler is gone; waiting for it")
        lost = list(self.submitted.values())
        self.submitted.clear()
        self.connection.reopen()
        for batch in lost:
            self._repeat(batch)

    def _repeat(self, batch: Batch) -> None:
        self.outcome.resubmitted += 1
        (self.suspects if batch.is_alone else self.waiting).append(batch)

    def _take(self, future: Any, batch: Batch) -> None:
        """Stores what a task delivered, or puts its batch back."""
        try:
            if future.status in _LOST:
                raise CancelledError
            deliveries: list[Delivery] = future.result(timeout=60)
        except (CancelledError, TimeoutError, CommClosedError, ConnectionError):
            self._repeat(batch)
            return
        except (KilledWorker, ReplayKilled) as error:
            self._after_kill(batch, error)
            return
        except Exception as error:
            raise LabError(
                f"a worker cannot run tasks ({type(error).__name__}: {error}); "
                "workers need this package and the client's versions of its dependencies."
            ) from error
        for cell, delivery in zip(batch.cells, deliveries, strict=True):
            self._receive(cell, delivery, batch)

    def _after_kill(self, batch: Batch, error: Exception) -> None:
        """Puts the cells of a batch among the suspects, or lists the cell that was killed while it ran alone."""
        if not batch.is_alone:
            for single in batch.singles(is_alone=True):
                self._repeat(single)
            return
        killed = "its worker was killed at each attempt; it may need more memory than the machine has."
        sentence = killed if isinstance(error, KilledWorker) else str(error)
        self.outcome.failed.append(FailedCell(batch.cells[0].hash, batch.cells[0].name, sentence))

    def _receive(self, cell: PlannedCell, delivery: Delivery, batch: Batch) -> None:
        if delivery.cell is None:
            sentence = delivery.sentence or "the worker gave no reason."
            self.outcome.failed.append(FailedCell(cell.hash, cell.name, sentence))
            return
        folder = self.results if batch.users is None else self.parts
        if folder is None:
            raise LabError("a part by user arrived and no folder of parts was made.")
        source = f"the delivery of {delivery.worker}"
        try:
            parse_cell(delivery.cell, source, cell.hash)
        except ResultsError as error:
            self.outcome.failed.append(FailedCell(cell.hash, cell.name, str(error)))
            return
        is_new = store(folder, delivery.cell, delivery.provenance, source, cell.hash)
        if batch.users is not None:
            self.outcome.parts += is_new
        elif is_new:
            self.outcome.stored += 1
        else:
            self.outcome.repeated += 1


@dataclass
class _Parts:
    """The cells that are split by user, and their parts."""

    #: The folder of the parts, itself a results folder.
    folder: Path | None = None
    #: The hashes of the parts of each cell.
    of: dict[str, list[str]] = field(default_factory=dict)
    #: The cells that are split.
    cells: dict[str, PlannedCell] = field(default_factory=dict)
    #: The parts to run, by ``i/n``.
    missing: dict[str, list[PlannedCell]] = field(default_factory=dict)

    @classmethod
    def planned(cls, replay: str, suite: Path, results: Path, count: int, cells: Sequence[PlannedCell]) -> _Parts:
        """Returns the parts of those cells that can be split into ``count``."""
        parts = cls(folder=results / f"parts-{count}")
        splittable = {cell.setting: cell for cell in cells if cell.mode == "per_user"}
        if not splittable or parts.folder is None:
            return parts
        plans = {}
        for index in range(1, count + 1):
            name = f"{index}/{count}"
            plan = read_plan(replay, suite, parts.folder, users=name)
            plans[name] = {cell.setting: cell for cell in plan.cells if cell.setting in splittable}
        for setting, cell in splittable.items():
            of_cell = {name: plan[setting] for name, plan in plans.items() if setting in plan}
            hashes = {part.hash for part in of_cell.values()}
            if len(of_cell) < count or cell.hash in hashes or len(hashes) < count:
                continue
            parts.cells[cell.hash] = cell
            parts.of[cell.hash] = [part.hash for part in of_cell.values()]
            for name, part in of_cell.items():
                if not _is_stored(parts.folder, part.hash):
                    parts.missing.setdefault(name, []).append(part)
        return parts

    def merge(self, replay: str, results: Path, outcome: Distribution) -> None:
        """Adds up the parts of each cell with ``replay merge``, stores the sums, and deletes the parts if all are
        there.

        The parts are merged in a folder of their own, so that other results do not matter to ``replay merge``.
        """
        if self.folder is None:
            return
        parts = self.folder
        message = ""
        if any(all(_is_stored(parts, part) for part in hashes) for hashes in self.of.values()):
            with tempfile.TemporaryDirectory(prefix=".merged-", dir=parts) as merged:
                done = run_replay(replay, ["merge", merged, os.fspath(parts)])
                message = last_sentence(done.stderr) or last_sentence(done.stdout)
                for name in self.of:
                    if (sum_of_parts := stored_cell(merged, name)) is not None:
                        store(results, sum_of_parts[0], None, "the sum of its parts", name)
        broken = {failure.hash for failure in outcome.failed}
        for name, hashes in self.of.items():
            if _is_stored(results, name):
                outcome.stored += 1
            elif not broken & set(hashes):
                sentence = f"`replay merge` did not add up its parts: {message or 'it said nothing.'}"
                outcome.failed.append(FailedCell(name, self.cells[name].name, sentence))
        if all(_is_stored(results, name) for name in self.of):
            shutil.rmtree(parts)


class _Connection:
    """A client, and how to get another one when the scheduler comes back."""

    def __init__(self, client: Client, address: str | None, reconnect_seconds: float) -> None:
        self.client = client
        self.address = address
        self.reconnect_seconds = reconnect_seconds

    @property
    def is_open(self) -> bool:
        """Whether the scheduler is connected."""
        return bool(self.client.status == "running")

    def reopen(self) -> None:
        """Waits until the scheduler is back. Raises ``LabError`` after ``reconnect_seconds``."""
        deadline = time.monotonic() + self.reconnect_seconds
        while time.monotonic() < deadline:
            if self.is_open:
                return
            if self.client.status == "closed":
                if self.address is None:
                    break
                with contextlib.suppress(OSError, TimeoutError):
                    self.client = _client(self.address, timeout=min(5.0, self.reconnect_seconds))
                    return
            time.sleep(0.1)
        raise LabError(
            f"the scheduler did not come back within {self.reconnect_seconds:.0f} s; "
            "what has arrived is stored, run the same command again to go on."
        )


@contextlib.contextmanager
def _connection(
    client: Client | str | None, workers: int, retries: int, reconnect_seconds: float
) -> Iterator[_Connection]:
    if isinstance(client, str):
        try:
            opened = _client(client, timeout=10)
        except (OSError, TimeoutError, ValueError):
            raise UsageError(
                f"no scheduler answers at '{client}'; an address as tcp://HOST:8786 is expected."
            ) from None
        connection = _Connection(opened, client, reconnect_seconds)
        try:
            yield connection
        finally:
            with contextlib.suppress(Exception):
                connection.client.close()  # type: ignore[no-untyped-call]
    elif client is not None:
        yield _Connection(client, None, reconnect_seconds)
    else:
        settings = {"distributed.worker.memory.terminate": False, "distributed.scheduler.allowed-failures": retries}
        with contextlib.ExitStack() as stack:
            stack.enter_context(dask.config.set(settings))
            cluster = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=workers, threads_per_worker=1, processes=True, memory_limit=0,
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )  # fmt: skip
            stack.enter_context(cluster)
            local = stack.enter_context(_client(cluster, timeout=30))
            yield _Connection(local, None, reconnect_seconds)


def _client(address: str | LocalCluster, timeout: float) -> Client:
    return Client(address, timeout=timeout, set_as_default=False)  # type: ignore[no-untyped-call]


def _command(replay: str | None, is_local: bool) -> str:
    found = find_replay(replay)
    # A name without a folder is searched for on each machine.
    return replay if replay and not is_local and os.sep not in replay else found


def _missing(folder: Path, cells: Sequence[PlannedCell]) -> list[PlannedCell]:
    return [cell for cell in cells if not _is_stored(folder, cell.hash)]


def _is_stored(folder: Path, name: str) -> bool:
    if stored_cell(folder, name) is None:
        return False
    read_cell(folder, name)
    return True


def _pack(replay: str, folder: Path) -> None:
    """Makes one file of the stored cells. Raises ``ReplayError`` with the command's sentence if it fails."""
    if not is_results_folder(folder):
        return
    done = run_replay(replay, ["results", os.fspath(folder), "--pack"])
    if done.returncode != 0:
        raise ReplayError(f"`replay results --pack` failed: {last_sentence(done.stderr)}")


__all__ = ["Distribution", "FailedCell", "Plan", "distribute", "store"]
