"""Suites on several worker processes: whatever is lost or repeated, the cells are those of one process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from conftest import MakeReplay, cell_bytes, make_cell
from distributed import Client, LocalCluster

import lab
import lab.distribution
from lab.__main__ import main
from lab.cells import identity_hash, parse_cell
from lab.distribution import store
from lab.planning import Batch, PlannedCell, batches

# A suite takes a second. The time limits below only end a test that hangs.
LIMIT = 60


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler with two worker processes."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Waits for a condition; fails if it does not come."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what} did not come within {LIMIT} s"
        time.sleep(0.02)


def announced(command: str) -> Path:
    """The file in which a faulty command announces what it does."""
    return Path(command).parent / "state" / "announced"


HANG_ONCE = """
if once("hang"):
    announce(f"{worker()} {os.getpid()} {arguments[arguments.index('--results') + 1]}")
    time.sleep(600)
"""


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_local_processes_store_the_cells_of_one_process(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    outcome = lab.distribute(suite, tmp_path, replay=replay, workers=workers)
    assert cell_bytes(tmp_path) == reference
    assert (outcome.cells, outcome.stored, outcome.stored_before, outcome.failed) == (20, 20, 0, [])
    assert len(list((tmp_path / "provenance").iterdir())) == 20
    again = lab.distribute(suite, tmp_path, replay=replay, workers=workers)
    assert (again.stored, again.stored_before) == (0, 20)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells", "cells.jsonl.zst", "provenance"]
    assert not list((tmp_path / "cells").iterdir())


@pytest.mark.parametrize("order", ["reversed", "one by one", "all at once"])
def test_order_and_size_of_batches_do_not_matter(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path, scheduler: str, order: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def ordered(cells: list[PlannedCell], **options: object) -> list[Batch]:
        single = order != "all at once"
        result = batches(cells, workers=1, seconds=1e-9 if single else 1e9)
        return result[::-1] if order == "reversed" else result

    monkeypatch.setattr(lab.distribution, "batches", ordered)
    outcome = lab.distribute(suite, tmp_path, replay=replay, client=scheduler)
    assert cell_bytes(tmp_path) == reference
    assert outcome.stored == 20


def test_stored_cells_are_not_run_again(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path, scheduler: str, faulty: MakeReplay
) -> None:
    results = tmp_path / "results"
    (results / "cells").mkdir(parents=True)
    kept = sorted(reference)[::2]
    for name in kept:
        (results / "cells" / name).write_bytes(reference[name])
    command = faulty("(state / str(os.getpid())).write_text(' '.join(arguments))")
    outcome = lab.distribute(suite, results, replay=command, client=scheduler)
    assert (outcome.stored, outcome.stored_before) == (10, 10)
    assert cell_bytes(results) == reference
    ran = " ".join(path.read_text() for path in (Path(command).parent / "state").iterdir())
    assert not [name for name in kept if name.removesuffix(".json") in ran]
    assert len([name for name in reference if name.removesuffix(".json") in ran]) == 10


def test_killed_worker_loses_no_cell_and_leaves_no_process(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay
) -> None:
    command, results = faulty(HANG_ONCE), tmp_path / "results"
    found: list[str] = []

    def kill() -> None:
        wait_for(announced(command).exists, "the first cell")
        found.extend(announced(command).read_text().split())
        os.kill(int(found[0]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = lab.distribute(suite, results, replay=command, workers=2)
    killer.join()
    assert cell_bytes(results) == reference
    assert (outcome.stored, outcome.failed) == (20, [])
    _, process, folder = found
    wait_for(lambda: not psutil.pid_exists(int(process)), "the end of the killed worker's command")
    wait_for(lambda: not Path(folder).exists(), "the deletion of the killed worker's folder")


def test_killed_client_goes_on_where_it_was(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay
) -> None:
    # The first batch that starts hangs; the client is killed as soon as another has been stored.
    command, results = faulty(HANG_ONCE), tmp_path / "results"
    code = f"""
        import lab
        if __name__ == "__main__":
            lab.distribute({str(suite)!r}, {str(results)!r}, replay={command!r}, workers=2)
    """
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    process = subprocess.Popen([sys.executable, script], stderr=subprocess.DEVNULL)
    try:
        wait_for(announced(command).exists, "the first cell")
        wait_for(lambda: list(results.glob("cells/*.json")), "a stored cell")
    finally:
        process.kill()
        process.wait()
    before = {name: content for name, content in cell_bytes(results).items() if not name.startswith(".")}
    assert before.items() <= reference.items() and 0 < len(before) < 20
    hanging = int(announced(command).read_text().split()[1])
    wait_for(lambda: not psutil.pid_exists(hanging), "the end of the killed client's commands")
    for part in (results / "cells").glob(".*"):
        part.unlink()
    outcome = lab.distribute(suite, results, replay=command, workers=2)
    assert outcome.stored_before == len(before) and outcome.stored == 20 - len(before)
    assert cell_bytes(results) == reference


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Processes:
    """A scheduler and workers as a user starts them, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, workers: int = 2) -> None:
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-jupyter"]
        self._run("distributed.cli.dask_scheduler", *options)
        for _ in range(workers):
            options = [
                "--nthreads",
                "1",
                "--no-dashboard",
                "--no-nanny",
                "--memory-limit",
                "0",
                "--death-timeout",
                "30",
            ]
            self._run("distributed.cli.dask_worker", self.address, *options, "--local-directory", str(self.folder))

    def kill(self) -> None:
        for process in self.running:
            process.kill()
        for process in self.running:
            process.wait()
        self.running.clear()

    def _run(self, module: str, *options: str) -> None:
        command = [sys.executable, "-m", module, *options]
        self.running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    started = Processes(folder)
    try:
        started.start()
        yield started
    finally:
        started.kill()


def test_restarted_scheduler_gets_the_lost_tasks_again(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay
) -> None:
    command, results = faulty(HANG_ONCE), tmp_path / "results"
    with processes(tmp_path) as cluster:

        def restart() -> None:
            wait_for(announced(command).exists, "the first cell")
            cluster.kill()
            cluster.start()

        restarter = threading.Thread(target=restart)
        restarter.start()
        outcome = lab.distribute(suite, results, replay=command, client=cluster.address, reconnect_seconds=LIMIT)
        restarter.join()
    assert cell_bytes(results) == reference
    assert outcome.resubmitted > 0 and outcome.stored == 20 and outcome.failed == []


def test_scheduler_that_stays_away_ends_the_run_and_the_next_one_goes_on(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay
) -> None:
    command, results = faulty(HANG_ONCE), tmp_path / "results"
    with processes(tmp_path) as cluster:

        def stop() -> None:
            wait_for(announced(command).exists, "the first cell")
            wait_for(lambda: list(results.glob("cells/*.json")), "a stored cell")
            cluster.kill()

        stopper = threading.Thread(target=stop)
        stopper.start()
        with pytest.raises(lab.LabError, match="did not come back within 1 s; what has arrived is stored"):
            lab.distribute(suite, results, replay=command, client=cluster.address, reconnect_seconds=1)
        stopper.join()
        before = len(cell_bytes(results))
        assert 0 < before < 20
        cluster.start()
        outcome = lab.distribute(suite, results, replay=command, client=cluster.address)
    assert (outcome.stored_before, outcome.stored) == (before, 20 - before)
    assert cell_bytes(results) == reference


def test_cells_delivered_twice_are_stored_once(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path, scheduler: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def twice(cells: list[PlannedCell], **options: object) -> list[Batch]:
        return [batch for batch in batches(cells, workers=2, seconds=30) for _ in range(2)]

    monkeypatch.setattr(lab.distribution, "batches", twice)
    outcome = lab.distribute(suite, tmp_path, replay=replay, client=scheduler)
    assert (outcome.stored, outcome.repeated) == (20, 20)
    assert cell_bytes(tmp_path) == reference


def test_two_clients_at_once_store_one_set_of_cells(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path, scheduler: str
) -> None:
    outcomes: list[lab.Distribution] = []

    def run() -> None:
        outcomes.append(lab.distribute(suite, tmp_path, replay=replay, client=scheduler))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cell_bytes(tmp_path) == reference
    assert sum(outcome.stored for outcome in outcomes) == 20


def test_different_bytes_of_a_stored_cell_are_an_error_that_names_both(tmp_path: Path) -> None:
    first, second = (json.dumps(make_cell(counts__evictions=count)).encode() for count in (4, 5))
    name = identity_hash(make_cell()["identity"])
    stored, conflict = tmp_path / "cells" / f"{name}.json", tmp_path / "conflicts" / f"{name}.json"
    assert store(tmp_path, first, b"{}", "worker 1", name)
    assert not store(tmp_path, first, None, "worker 2", name)
    with pytest.raises(lab.ResultsError) as caught:
        store(tmp_path, second, None, "worker 3", name)
    assert str(stored) in str(caught.value) and str(conflict) in str(caught.value) and "worker 3" in str(caught.value)
    assert (stored.read_bytes(), conflict.read_bytes()) == (first, second)
    assert list((tmp_path / "cells").iterdir()) == [stored]


def test_worker_whose_build_counts_differently_stops_the_run(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay, replay: str, scheduler: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def twice(cells: list[PlannedCell], **options: object) -> list[Batch]:
        return [batch for batch in batches(cells, workers=2, seconds=30) for _ in range(2)]

    monkeypatch.setattr(lab.distribution, "batches", twice)
    command = faulty(
        f"""
        import re, subprocess
        subprocess.run([{replay!r}, *arguments])
        results = pathlib.Path(arguments[arguments.index("--results") + 1])
        unpack(results)
        for path in (results / "cells").iterdir():
            if not once(path.stem):
                text = path.read_text()
                path.write_text(re.sub(r'"evictions":\\s*([0-9]+)', r'"evictions":1\\1', text))
        sys.exit(0)
        """
    )
    with pytest.raises(lab.ResultsError, match="differs from the same cell of the delivery of"):
        lab.distribute(suite, tmp_path / "results", replay=command, client=scheduler)
    (conflict,) = (tmp_path / "results" / "conflicts").iterdir()
    # Which of the two arrives first is open: one is stored, the other is kept beside.
    kept = {conflict.read_bytes(), (tmp_path / "results" / "cells" / conflict.name).read_bytes()}
    assert len(kept) == 2 and reference[conflict.name] in kept
    parse_cell(conflict.read_bytes(), conflict, conflict.stem)


def test_delivery_that_is_no_cell_fails_and_is_not_stored(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay, replay: str, scheduler: str
) -> None:
    name = sorted(reference)[7]
    command = faulty(
        f"""
        import subprocess
        subprocess.run([{replay!r}, *arguments])
        results = pathlib.Path(arguments[arguments.index("--results") + 1])
        unpack(results)
        path = results / "cells" / {name!r}
        if path.exists():
            path.write_bytes(path.read_bytes()[:-20])
        sys.exit(0)
        """
    )
    outcome = lab.distribute(suite, tmp_path / "results", replay=command, client=scheduler)
    assert [failed.hash + ".json" for failed in outcome.failed] == [name]
    assert "not valid JSON" in outcome.failed[0].sentence
    assert cell_bytes(tmp_path / "results") == {key: value for key, value in reference.items() if key != name}


def test_killed_command_is_repeated(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay, scheduler: str
) -> None:
    command = faulty('if once("kill"): os.kill(os.getpid(), signal.SIGKILL)')
    outcome = lab.distribute(suite, tmp_path / "results", replay=command, client=scheduler)
    assert (outcome.stored, outcome.failed) == (20, [])
    assert (Path(command).parent / "state" / "kill").exists()
    assert cell_bytes(tmp_path / "results") == reference


def test_cell_that_always_kills_its_command_fails_alone(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay, scheduler: str
) -> None:
    name = sorted(reference)[3].removesuffix(".json")
    command = faulty(f"if {name!r} in arguments: os.kill(os.getpid(), signal.SIGKILL)")
    outcome = lab.distribute(suite, tmp_path / "results", replay=command, client=scheduler, retries=1)
    assert [failed.hash for failed in outcome.failed] == [name]
    assert f"signal {signal.SIGKILL.value} ended `replay`" in outcome.failed[0].sentence
    assert outcome.stored == 19
    assert cell_bytes(tmp_path / "results") == {key: reference[key] for key in reference if key != f"{name}.json"}


def test_cell_that_always_kills_its_worker_fails_alone(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, faulty: MakeReplay
) -> None:
    name = sorted(reference)[5].removesuffix(".json")
    command = faulty(f"if {name!r} in arguments: os.kill(worker(), signal.SIGKILL); time.sleep(600)")
    outcome = lab.distribute(suite, tmp_path / "results", replay=command, workers=2, retries=0)
    assert [failed.hash for failed in outcome.failed] == [name]
    assert "its worker was killed at each attempt" in outcome.failed[0].sentence
    assert cell_bytes(tmp_path / "results") == {key: reference[key] for key in reference if key != f"{name}.json"}


def test_failed_trace_is_listed_and_the_others_are_stored(
    replay: str, suite: Path, tmp_path: Path, scheduler: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "suite.yml"
    path.write_text(suite.read_text().replace("feed.csv", "absent.csv"))
    arguments = ["distribute", str(path), str(tmp_path / "results"), "--replay", replay, "--address", scheduler]
    assert main(arguments) == 1
    captured = capsys.readouterr()
    assert "12 cells: 0 were stored, 12 run, 1 failed" in captured.out
    assert "failed: feed" in captured.err and "absent.csv" in captured.err
    assert len(cell_bytes(tmp_path / "results")) == 12


def test_command_line_exits_as_the_other_commands(
    replay: str, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = str(tmp_path / "results")
    assert main(["distribute", str(suite), results, "--replay", str(tmp_path / "absent")]) == 64
    assert main(["distribute", str(suite), results, "--replay", replay, "--workers", "0"]) == 64
    assert main(["export", results, str(tmp_path / "out.csv")]) == 65
    with pytest.raises(SystemExit) as caught:
        main(["distribute"])
    assert caught.value.code == 64
    assert "was not found" in capsys.readouterr().err
    address = f"tcp://127.0.0.1:{free_port()}"
    assert main(["distribute", str(suite), results, "--replay", replay, "--address", address]) == 64
    assert f"no scheduler answers at '{address}'" in capsys.readouterr().err


def test_client_of_the_caller_is_used_and_stays_open(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path, scheduler: str
) -> None:
    with Client(scheduler, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        lab.distribute(suite, tmp_path, replay=replay, client=client)
        assert client.status == "running"
    assert cell_bytes(tmp_path) == reference


@pytest.mark.parametrize("parts", [2, 3])
def test_parts_by_user_add_up_to_the_cells_of_one_process(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, replay: str, scheduler: str, parts: int
) -> None:
    results = tmp_path / "results"
    outcome = lab.distribute(suite, results, replay=replay, client=scheduler, users=parts)
    assert outcome.failed == []
    assert cell_bytes(results) == reference
    # Two cells are of per-user caches that share no model.
    assert (outcome.parts, outcome.stored) == (2 * parts, 20)
    assert sorted(path.name for path in results.iterdir()) == ["cells", "cells.jsonl.zst", "provenance"]
    assert not list((results / "cells").iterdir())
    again = lab.distribute(suite, results, replay=replay, client=scheduler, users=parts)
    assert (again.stored_before, again.parts, again.failed) == (20, 0, [])


def test_stored_parts_are_kept_when_another_fails(
    suite: Path, reference: dict[str, bytes], tmp_path: Path, replay: str, scheduler: str, faulty: MakeReplay
) -> None:
    results = tmp_path / "results"
    broken = faulty('if arguments[-2:] == ["--users", "2/3"]: print("failed: shop: disk full.") or sys.exit(1)')
    outcome = lab.distribute(suite, results, replay=broken, client=scheduler, users=3)
    assert (outcome.parts, outcome.stored) == (4, 18)
    assert {failed.sentence for failed in outcome.failed} == {"shop: disk full."} and len(outcome.failed) == 2
    outcome = lab.distribute(suite, results, replay=replay, client=scheduler, users=3)
    assert (outcome.parts, outcome.stored, outcome.failed) == (2, 2, [])
    assert cell_bytes(results) == reference


def test_cells_whose_users_share_a_model_are_run_whole(
    replay: str, suite: Path, tmp_path: Path, scheduler: str
) -> None:
    path = tmp_path / "suite.yml"
    text = suite.read_text().replace("[lru, sieve]", "[lru, learned]").replace("seeds: 2", "seeds: 1")
    path.write_text(text.replace("modes: [per_user]", "modes: [per_user]\n    knowledge: server"))
    whole = tmp_path / "whole"
    command = [replay, "sweep", str(path), "--results", str(whole), "--threads", "1"]
    subprocess.run(command, check=True, capture_output=True)
    outcome = lab.distribute(path, tmp_path / "results", replay=replay, client=scheduler, users=2)
    assert (outcome.parts, outcome.stored, outcome.failed) == (2, len(cell_bytes(whole)), [])
    assert cell_bytes(tmp_path / "results") == cell_bytes(whole)


def test_shards_at_once_in_one_folder_store_the_cells_of_one_process(
    replay: str, suite: Path, reference: dict[str, bytes], tmp_path: Path
) -> None:
    command = [replay, "sweep", str(suite), "--results", str(tmp_path), "--threads", "1", "--shard"]
    shards = [subprocess.Popen([*command, f"{part}/3"], stdout=subprocess.DEVNULL) for part in (1, 2, 3)]
    assert [shard.wait() for shard in shards] == [0, 0, 0]
    assert cell_bytes(tmp_path) == reference
