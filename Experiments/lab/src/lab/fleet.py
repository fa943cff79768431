"""Streams a trace through per-user caches in parts by user, as tasks of Dask, and adds up the counts."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, as_completed

from lab.distribution import Progress, _command, _connection
from lab.errors import ReplayError, UsageError
from lab.planning import last_sentence
from lab.worker import ReplayKilled, _supervised

#: The counts of a run that add up over parts of the users.
COUNTS = (
    "requests", "hits", "bytes_fetched", "evictions", "admissions_refused", "refused_too_large", "stale",
    "warmup_requests", "caches",
)  # fmt: skip


@dataclass
class Fleet:
    """The counts of a fleet of per-user caches, added up over its parts."""

    #: The hash of the requests, which all parts must have read.
    fingerprint: str
    #: The sums of ``COUNTS``: whole numbers, the same for any number of parts.
    counts: dict[str, int]
    #: The sums over time: ``requests``, ``hits``, ``size`` and ``hit_size`` of each window of a million requests.
    windows: list[dict[str, int]]
    #: The wall time of each part on its worker, seconds.
    part_seconds: list[float] = field(default_factory=list)
    #: The wall time of the call, seconds.
    seconds: float = 0.0

    @property
    def object_hit_ratio(self) -> float:
        """Hits by requests, 0 to 1."""
        return self.counts["hits"] / max(1, self.counts["requests"])


def fleet(
    trace: str | os.PathLike[str],
    *,
    policy: str = "lru",
    capacity: str = "20",
    parts: int = 2,
    options: Sequence[str] = (),
    replay: str = "replay",
    client: Client | str | None = None,
    workers: int = 2,
    retries: int = 3,
    progress: Progress | None = None,
) -> Fleet:
    """Runs ``replay TRACE --stream --per user --users i/n`` for each part and adds up the counts.

    The sums do not depend on the number of parts. Every part reads the whole trace. A policy that shares a model between
    users cannot be split: ``replay`` says so, and ``parts=1`` runs it in one task.

    - ``trace``: the file, at the same path on all workers.
    - ``policy``, ``capacity``: of each user's cache, as in ``--policy`` and ``--capacity``.
    - ``options``: further options of ``replay run``, such as ``["--seed", "2"]``.
    - ``replay``, ``client``, ``workers``, ``retries``, ``progress``: as for ``lab.distribute``.

    Raises ``UsageError`` for arguments out of range, and ``ReplayError`` if a part fails or the parts read different
    requests.
    """
    start = time.monotonic()
    for name, value in (("parts", parts), ("workers", workers)):
        if value < 1:
            raise UsageError(f"{name} is {value}; an integer from 1 is expected.")
    say = progress or (lambda line: None)
    command = _command(replay, is_local=client is None)
    arguments = [
        os.fspath(Path(trace).resolve()), "--stream", "--per", "user", "--only", "--policy", policy,
        "--capacity", capacity, "--threads", "1", "--format", "json", *options,
    ]  # fmt: skip
    documents: dict[int, tuple[dict[str, Any], float]] = {}
    with _connection(client, workers, retries, reconnect_seconds=60) as connection:
        tasks = {
            connection.client.submit(
                run_part, command, arguments, f"{part}/{parts}" if parts > 1 else None, pure=False, retries=retries
            ): part
            for part in range(1, parts + 1)
        }
        for task in as_completed(list(tasks), loop=connection.client.loop):  # type: ignore[no-untyped-call]
            documents[tasks[task]] = task.result()
            say(f"part {tasks[task]} of {parts}: {documents[tasks[task]][1]:.1f} s")
    total = add_up([documents[part][0] for part in sorted(documents)])
    total.part_seconds = [documents[part][1] for part in sorted(documents)]
    total.seconds = time.monotonic() - start
    return total


def run_part(command: str, arguments: Sequence[str], users: str | None) -> tuple[dict[str, Any], float]:
    """Runs one part on a worker. Returns the report's trace and run, and the wall time in seconds."""
    start = time.monotonic()
    folder = tempfile.mkdtemp(prefix="halcyon-lab-")
    try:
        parted = [*arguments, *(["--users", users] if users is not None else [])]
        status, output, errors = _supervised(folder, [command, *parted])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if status > 128:
        raise ReplayKilled(f"signal {status - 128} ended `replay`.")
    if status != 0:
        raise ReplayError(last_sentence(errors) or f"`replay` ended with exit status {status} and said nothing.")
    report = json.loads(output)
    return {"trace": report["trace"], "run": report["runs"][0]}, time.monotonic() - start


def add_up(documents: Sequence[dict[str, Any]]) -> Fleet:
    """Returns the sums over the parts of a fleet. Raises ``ReplayError`` if they did not read the same requests."""
    prints = {str(document["trace"]["fingerprint"]) for document in documents}
    if len(prints) != 1:
        raise ReplayError(f"the parts read different requests, with the hashes {', '.join(sorted(prints))}.")
    runs = [document["run"] for document in documents]
    windows = [
        {name: sum(run["windows"][place][name] for run in runs) for name in ("requests", "hits", "size", "hit_size")}
        for place in range(len(runs[0]["windows"]))
    ]
    return Fleet(prints.pop(), {name: sum(int(run[name]) for run in runs) for name in COUNTS}, windows)
