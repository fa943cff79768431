"""Fixtures: hand-made results, the command `replay`, suites on the bundled traces, and a `replay` with faults."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lab.cells import identity_hash

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).resolve().parent

SUITE = """\
schema: halcyon.suite/1
description: A small suite on a bundled trace.
traces:
  - {{name: shop, path: {traces}/shop.csv, limit: 6000}}
  - {{name: feed, path: {traces}/feed.csv, limit: 4000}}
experiments:
  - name: shared
    policies: [lru, s3-fifo, "s3-fifo(small=0.3)", sieve]
    capacities: [1%, 10%]
    warmup: 0.25
  - name: learned
    traces: [shop]
    policies: [learned]
    capacities: [10%]
    seeds: 2
  - name: per-user
    traces: [shop]
    modes: [per_user]
    policies: [lru, sieve]
    capacities: [20]
"""


def make_cell(**changes: Any) -> dict[str, Any]:
    """Returns the document of a cell, with changed fields; a key such as ``identity.policy`` reaches inside."""
    document: dict[str, Any] = {
        "schema": "halcyon.cell/1",
        "identity": {
            "capacity": "1%",
            "fingerprint": "00000000000000aa",
            "labels": "given",
            "mode": "shared",
            "parameters": {},
            "policy": "lru",
            "result_version": 2,
            "warmup": "0.25",
        },
        "trace": {
            "name": "shop", "requests": 16, "objects": 10, "users": 3, "categories": 2, "distinct_size": 10,
            "size_unit": "objects",
        },
        "label": "lru",
        "capacity": 5,
        "counts": {
            "requests": 12, "hits": 6, "size": 12, "hit_size": 6, "evictions": 4, "refused": 0, "refused_too_large": 0,
            "stale": 0, "warmup_requests": 4,
        },
        "units": {"kind": "users", "requests": [6, 4, 2], "hits": [4, 1, 1]},
        "series": {"window": 0, "hits": []},
    }  # fmt: skip
    for key, value in changes.items():
        *parents, last = key.split("__")
        inner = document
        for parent in parents:
            inner = inner.setdefault(parent, {})
        if value is None:
            inner.pop(last, None)
        else:
            inner[last] = value
    return document


def write_cell(folder: Path, document: Mapping[str, Any], provenance: Mapping[str, Any] | None = None) -> str:
    """Writes a cell, and a sidecar if given, and returns the hash."""
    name = identity_hash(document["identity"])
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    (folder / "cells" / f"{name}.json").write_text(json.dumps(document, sort_keys=True) + "\n")
    if provenance is not None:
        (folder / "provenance").mkdir(exist_ok=True)
        sidecar = {"schema": "halcyon.provenance/1", "cell": name, **provenance}
        (folder / "provenance" / f"{name}.json").write_text(json.dumps(sidecar))
    return name


def cell_bytes(folder: Path) -> dict[str, bytes]:
    """Returns the bytes of all stored cells by the names of their files, packed or not, and of whatever else is in the
    folder of cells."""
    cells = {path.name: path.read_bytes() for path in (folder / "cells").iterdir()} if (folder / "cells").is_dir() else {}
    if (folder / "cells.jsonl.zst").exists():
        for line in pack_lines(folder):
            cells[identity_hash(json.loads(line)["identity"]) + ".json"] = line
    return dict(sorted(cells.items()))


def pack_lines(folder: Path) -> list[bytes]:
    """Returns the lines of a pack, in their order."""
    with pa.input_stream(str(folder / "cells.jsonl.zst"), compression="zstd") as stream:
        content: bytes = stream.read()
    return content.splitlines(keepends=True)


def write_pack(folder: Path, content: bytes) -> None:
    """Writes a pack with some content."""
    folder.mkdir(parents=True, exist_ok=True)
    with pa.output_stream(str(folder / "cells.jsonl.zst"), compression="zstd") as stream:
        stream.write(content)


def documents(folder: Path) -> list[dict[str, Any]]:
    """Returns the stored cells of a folder, in the order of their names."""
    return [json.loads(content) for content in cell_bytes(folder).values()]


@pytest.fixture(scope="session")
def replay() -> str:
    """The command. ``REPLAY`` names it; otherwise the release build of this repository."""
    named = os.environ.get("REPLAY")
    path = Path(named or ROOT / ".build" / "release" / "replay").absolute()
    if named and not path.is_file():
        pytest.fail(f"REPLAY names {named}, which is no file")
    if not path.is_file():
        pytest.skip(f"the command replay is not built: no file {path}; `make release` builds it")
    return str(path)


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of 20 cells on two bundled traces."""
    path = tmp_path_factory.mktemp("suite") / "small.yml"
    path.write_text(SUITE.format(traces=ROOT / "Traces"))
    return path


@pytest.fixture(scope="session")
def reference(replay: str, suite: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The cells that one process of `replay sweep` stores, by name."""
    folder = tmp_path_factory.mktemp("reference") / "results"
    command = [replay, "sweep", str(suite), "--results", str(folder), "--threads", "1"]
    subprocess.run(command, check=True, capture_output=True)
    cells = cell_bytes(folder)
    assert len(cells) == 20
    return cells


MakeReplay = Callable[[str], str]


@pytest.fixture
def faulty(tmp_path: Path, replay: str) -> MakeReplay:
    """Makes a command that runs `replay`, but first does what a text of Python says when it runs cells.

    The text knows ``state`` (a folder), ``arguments``, ``once(name)`` (whether this is the first call with the name on
    this machine), ``worker()`` (the process of the Dask worker) and ``unpack(results)``.
    """

    def make(fault: str) -> str:
        path = tmp_path / f"faulty-{len(list(tmp_path.iterdir()))}" / "replay"
        path.parent.mkdir()
        state = path.parent / "state"
        state.mkdir()
        path.write_text(
            f"#!{sys.executable}\n"
            + textwrap.dedent(
                f"""\
                import os, pathlib, signal, sys, time
                import psutil
                state = pathlib.Path({str(state)!r})
                arguments = sys.argv[1:]

                def once(name):
                    try:
                        (state / name).touch(exist_ok=False)
                    except FileExistsError:
                        return False
                    return True

                def worker():
                    return psutil.Process().parent().parent().pid

                def unpack(results):
                    # Makes a file of each packed cell.
                    from lab.cells import pack_path, read_cells
                    for cell in list(read_cells(results)):
                        (results / "cells" / (cell.hash + ".json")).write_bytes(cell.content)
                    pack_path(results).unlink(missing_ok=True)

                def announce(text):
                    part = state / "part"
                    part.write_text(str(text))
                    part.rename(state / "announced")

                if "--cell" in arguments:
                """
            )
            + textwrap.indent(textwrap.dedent(fault), "    ")
            + f"\nos.execv({replay!r}, [{replay!r}, *arguments])\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    return make
