"""Runs libCacheSim's release on PyPI and stores its counts, or compares them with the stored ones.

``python -m lab peers FILE`` needs ``pip install libcachesim==0.3.5`` and no build of Halcyon.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError, ResultsError, UsageError
from lab.peers import CATALOGUE, RELEASE, SHARES, TRACES, Count, Peer, PeerTrace, read_counts, unlisted, write_counts

Progress = Callable[[str], object]

#: Runs of one worker process; each of them has a process of its own below it.
_BATCH = 16

#: A short check draws from traces with no more requests.
_SHORT_REQUESTS = 150_000


@dataclass(frozen=True)
class Converted:
    """A trace in libCacheSim's binary form."""

    path: Path
    requests: int
    #: The size of all requests, and of the distinct objects; 1 each without sizes.
    size: int
    distinct_size: int

    @property
    def capacities(self) -> list[int]:
        """The capacities of the suite, as Halcyon rounds them."""
        return [max(1, self.distinct_size * share // 100) for share in SHARES]


@dataclass(frozen=True)
class _Run:
    trace: PeerTrace
    peer: Peer
    parameters: str
    capacity: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.trace.name, self.peer.name, self.parameters, self.capacity)


def check_release() -> None:
    """Raises ``UsageError`` without the pinned release, and ``LabError`` if its policies are not those listed."""
    try:
        import libcachesim
    except ImportError:
        raise UsageError(
            f"libcachesim {RELEASE} is not installed; 'pip install libcachesim=={RELEASE}' installs it on x86-64 Linux."
        ) from None
    if libcachesim.__version__ != RELEASE:
        raise UsageError(f"libcachesim {libcachesim.__version__} is installed; the counts are those of {RELEASE}.")
    base = libcachesim.CacheBase
    classes = [
        name
        for name, value in vars(libcachesim).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
    functions = [name for name in dir(libcachesim.libcachesim_python) if name.endswith("_init")]
    different = unlisted(classes, functions)
    if different:
        raise LabError(f"the list of policies and libcachesim {RELEASE} differ in {', '.join(different)}.")


def convert(source: Path, target: Path, *, uses_sizes: bool) -> Converted:
    """Writes a CSV with a header as ``oracleGeneral`` and returns its counts.

    An object has the size of its first request, or 1 without ``uses_sizes``. Keys that are numbers stay numbers;
    otherwise objects are numbered from 1 in the order of their first requests. Raises ``ResultsError`` for a file
    without requests or with a time, key or size that is none.
    """
    names: list[str] = []
    times: list[int] = []
    given: list[int] = []
    opened = gzip.open(source, "rt", newline="") if source.suffix == ".gz" else source.open(newline="")
    with opened as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            try:
                names.append(row["key"])
                times.append(int(float(row["time"])))
                given.append(int(row["size"]) if uses_sizes else 1)
            except (KeyError, TypeError, ValueError):
                raise ResultsError(source, f"line {line}: needs a key, a time and a size.") from None
    if not names:
        raise ResultsError(source, "has no requests.")
    if all(name.isascii() and name.isdigit() for name in set(names)):
        keys = [int(name) for name in names]
    else:
        numbers: dict[str, int] = {}
        keys = [numbers.setdefault(name, len(numbers) + 1) for name in names]
    sizes: dict[int, int] = {}
    for key, size in zip(keys, given, strict=True):
        sizes.setdefault(key, size)
    following: dict[int, int] = {}
    nexts = [-1] * len(keys)
    for index in range(len(keys) - 1, -1, -1):
        nexts[index] = following.get(keys[index], -1)
        following[keys[index]] = index
    pack = struct.Struct("<IQIq").pack
    try:
        records = b"".join(pack(time, key, sizes[key], use) for time, key, use in zip(times, keys, nexts, strict=True))
    except struct.error:
        raise ResultsError(source, "has a time, key or size that does not fit libCacheSim's binary form.") from None
    target.write_bytes(records)
    return Converted(target, len(keys), sum(sizes[key] for key in keys), sum(sizes.values()))


class _Runner:
    """Converts traces when they are needed, and runs policies on worker processes."""

    def __init__(self, bundled: Path, traces: Path | None, folder: Path, workers: int) -> None:
        self._bundled, self._traces, self._folder, self._workers = bundled, traces, folder, workers
        self._converted: dict[str, Converted] = {}

    def readable(self) -> list[PeerTrace]:
        """The traces whose files are there."""
        return [trace for trace in TRACES if (path := self._source(trace)) is not None and path.is_file()]

    def converted(self, trace: PeerTrace) -> Converted:
        if trace.name not in self._converted:
            source = self._source(trace)
            assert source is not None
            target = self._folder / f"{trace.name}.oracleGeneral"
            self._converted[trace.name] = convert(source, target, uses_sizes=trace.uses_sizes)
        return self._converted[trace.name]

    def counts(self, runs: Sequence[_Run], stored: Callable[[list[Count]], object]) -> None:
        """Runs policies and calls ``stored`` with the counts of each batch. Raises ``LabError`` for the first failure."""
        batches: list[list[_Run]] = []
        for run in runs:
            self.converted(run.trace)
            if not batches or batches[-1][0].trace != run.trace or len(batches[-1]) == _BATCH:
                batches.append([])
            batches[-1].append(run)
        with ThreadPoolExecutor(self._workers) as pool:
            try:
                for counts in pool.map(self._batch, batches):
                    stored(counts)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _batch(self, runs: list[_Run]) -> list[Count]:
        trace = self._converted[runs[0].trace.name]
        document = {
            "trace": str(trace.path),
            "runs": [[run.peer.name, _arguments(run.parameters), run.capacity] for run in runs],
        }
        # One thread, so that sums do not depend on the number of cores.
        process = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("peer_worker.py"))], input=json.dumps(document),
            env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True,
        )  # fmt: skip
        lines = process.stdout.splitlines()
        if process.returncode or len(lines) != len(runs):
            last = (process.stderr.strip().splitlines() or ["no message"])[-1]
            raise LabError(f"{runs[0].trace.name}: the worker ended with status {process.returncode} ({last}).")
        return [_counted(run, trace, json.loads(line)) for run, line in zip(runs, lines, strict=True)]

    def _source(self, trace: PeerTrace) -> Path | None:
        root = self._bundled if trace.is_bundled else self._traces
        return None if root is None else root / trace.file


def _arguments(parameters: str) -> dict[str, int | float | str]:
    """Returns the arguments of a policy's class; numbers are numbers."""
    arguments: dict[str, int | float | str] = {}
    for pair in filter(None, parameters.split(",")):
        name, value = pair.split("=")
        arguments[name] = int(value) if value.isdigit() else value
    return arguments


def _counted(run: _Run, trace: Converted, result: dict[str, object]) -> Count:
    if "failure" in result:
        raise LabError(f"{run.trace.name}: {run.peer.name} at {run.capacity} failed: {result['failure']}.")
    counts = []
    for name, total in (("misses", trace.requests), ("byte_misses", trace.size)):
        ratio = result[name]
        count = round(float(str(ratio)) * total)
        if abs(count - float(str(ratio)) * total) > 0.01:
            raise LabError(f"{run.trace.name}: {run.peer.name} at {run.capacity} has {ratio} {name}, no whole number.")
        counts.append(count)
    trace_name, sizes = run.trace.name, run.trace.sizes
    return Count(trace_name, sizes, run.peer.name, run.parameters, run.capacity, trace.requests, counts[0], counts[1])


def _plan(trace: PeerTrace, capacities: Iterable[int]) -> list[_Run]:
    return [
        _Run(trace, peer, parameters, capacity)
        for capacity in capacities
        for peer in CATALOGUE
        if peer.is_run and trace.name not in peer.skipped
        for parameters in peer.settings
    ]


def count(
    path: Path, *, bundled: Path, traces: Path | None = None, again: bool = False, workers: int = 2,
    progress: Progress = lambda line: None,
) -> int:  # fmt: skip
    """Runs what is missing in a file of counts, on the traces that are there, and returns the number of runs.

    With ``again`` it runs everything on these traces. Counts of other traces are kept. The file is written after each
    trace, so that an interrupted command goes on where it was.
    """
    check_release()
    kept = {count.key: count for count in read_counts(path)} if path.exists() else {}
    ran = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halcyon-peers-")))
        runner = _Runner(bundled, traces, folder, workers)
        for trace in runner.readable():
            plan = _plan(trace, runner.converted(trace).capacities)
            missing = [run for run in plan if again or run.key not in kept]
            wanted = {run.key for run in plan}
            kept = {key: count for key, count in kept.items() if key[0] != trace.name or key in wanted}
            made: list[Count] = []
            runner.counts(missing, made.extend)
            kept.update((count.key, count) for count in made)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_counts(path, kept.values())
            ran += len(made)
            progress(f"{trace.name}: {len(made)} runs, {len(plan) - len(missing)} were stored")
    return ran


def check(
    path: Path, *, bundled: Path, traces: Path | None = None, everything: bool = False, seed: int = 0, workers: int = 2,
    progress: Progress = lambda line: None,
) -> tuple[int, list[str]]:  # fmt: skip
    """Runs stored counts again and returns the number of runs and a line for each count that differs.

    Draws one cell of each policy and setting, half of them of bundled traces, and none of a long trace. ``everything``
    runs all cells of the traces that are there. Raises ``LabError`` if the release's policies are not those listed, and
    ``ResultsError`` if a cell is missing in the file.
    """
    check_release()
    stored = {count.key: count for count in read_counts(path)}
    _check_complete(path, stored.values())
    draw = random.Random(seed)
    different: list[str] = []
    with tempfile.TemporaryDirectory(prefix="halcyon-peers-") as folder:
        runner = _Runner(bundled, traces, Path(folder), workers)
        readable = {trace.name: trace for trace in runner.readable()}
        peers = {peer.name: peer for peer in CATALOGUE}
        runs = [
            (_Run(readable[count.trace], peers[count.policy], count.parameters, count.capacity), count)
            for count in stored.values()
            if count.trace in readable
        ]
        if not runs:
            raise ResultsError(path, "has no count of a trace that is there.")
        if not everything:
            runs = _drawn(runs, draw)

        def compare(made: list[Count]) -> None:
            for count in made:
                if count != stored[count.key]:
                    expected = stored[count.key]
                    policy = f"{count.policy} {count.parameters}".strip()
                    different.append(
                        f"{count.trace}, {policy} at {count.capacity}: {count.misses} misses and {count.byte_misses} "
                        f"missed bytes of {count.requests}, not {expected.misses} and {expected.byte_misses} of "
                        f"{expected.requests}"
                    )

        for trace in readable.values():
            capacities = sorted({run.capacity for run, _ in runs if run.trace == trace})
            unknown = set(capacities) - set(runner.converted(trace).capacities) if capacities else set()
            if unknown:
                raise ResultsError(path, f"{trace.name} has no capacity {min(unknown)} in this suite.")
            runner.counts([run for run, _ in runs if run.trace == trace], compare)
            progress(f"{trace.name}: {sum(run.trace == trace for run, _ in runs)} runs")
    return len(runs), different


def _drawn(runs: list[tuple[_Run, Count]], draw: random.Random) -> list[tuple[_Run, Count]]:
    by_setting: dict[tuple[str, str], list[tuple[_Run, Count]]] = {}
    for run, count in runs:
        if count.requests <= _SHORT_REQUESTS:
            by_setting.setdefault((run.peer.name, run.parameters), []).append((run, count))
    drawn = []
    for choices in by_setting.values():
        group = [choice for choice in choices if choice[0].trace.is_bundled == (draw.random() < 0.5)]
        drawn.append(draw.choice(group or choices))
    return drawn


def _check_complete(path: Path, counts: Iterable[Count]) -> None:
    """Raises ``ResultsError`` unless each trace has every policy at the same four capacities."""
    by_trace: dict[str, set[tuple[str, str, str, int]]] = {}
    for count in counts:
        by_trace.setdefault(count.trace, set()).add(count.key)
    for trace in TRACES:
        keys = by_trace.get(trace.name, set())
        capacities = sorted({key[3] for key in keys})
        missing = {run.key for run in _plan(trace, capacities)} - keys
        if len(capacities) != len(SHARES) or missing:
            name = min(missing)[1] if missing else "every policy"
            raise ResultsError(path, f"{trace.name} lacks counts of {name}; 'make peers' makes them.")
