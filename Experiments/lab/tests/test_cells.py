"""Reading and checking stored cells."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import cell_bytes, make_cell, pack_lines, write_cell, write_pack

import lab
from lab.cells import parse_cell, read_cells, stored_cell


def test_hash_is_that_of_the_written_out_canonical_json() -> None:
    identity = {"warmup": "0.25", "seed": 3, "parameters": {"small": "0.1", "ghost": "0.9"}, "policy": "größe/x"}
    written_out = '{"parameters":{"ghost":"0.9","small":"0.1"},"policy":"größe/x","seed":3,"warmup":"0.25"}'
    assert lab.identity_hash(identity) == hashlib.sha256(written_out.encode()).hexdigest()[:32]


@pytest.mark.parametrize("value", [0.25, True, None, {"inner": [1, 2.5]}])
def test_hash_refuses_what_other_languages_may_write_differently(value: object) -> None:
    with pytest.raises(ValueError, match="integers and strings only"):
        lab.identity_hash({"warmup": value})


def test_every_cell_of_the_command_has_the_hash_that_python_computes(reference: dict[str, bytes]) -> None:
    for name, content in reference.items():
        assert parse_cell(content, name).hash + ".json" == name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schema": "halcyon.cell/9"}, "the schema is 'halcyon.cell/9'; this version reads 'halcyon.cell/1'."),
        ({"schema": None}, "the schema is None"),
        ({"identity": "x"}, "the field 'identity' is missing"),
        ({"identity__warmup": 0.25}, "the identity holds 0.25; it may hold integers and strings only."),
        ({"identity__policy": 3}, "the field 'identity.policy' is missing"),
        ({"trace__name": None}, "the field 'trace.name' is missing"),
        ({"label": None}, "the field 'label' is missing"),
        ({"counts": None}, "the field 'counts' is missing"),
        ({"counts__hits": None}, "'counts.hits' is None"),
        ({"counts__hits": -1}, "'counts.hits' is -1; a count is an integer from 0."),
        ({"counts__evictions": 1.5}, "'counts.evictions' is 1.5"),
        ({"counts__stale": True}, "'counts.stale' is True"),
        ({"counts__hits": 13}, "counts.hits is 13 and counts.requests 12"),
        ({"counts__hit_size": 13}, "counts.hit_size is 13 and counts.size 12"),
        ({"units__kind": "days"}, "'users' or 'time_blocks' is expected"),
        ({"units__hits": None}, "must be lists of integers"),
        ({"units__hits": [4, 1, "1"]}, "must be lists of integers"),
        ({"units__hits": [4, 1]}, "different lengths"),
        ({"units__hits": [4, 1, 2]}, "'units.hits' adds up to more than 'counts.hits'"),
    ],
)
def test_invalid_cell_is_refused_with_its_path(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    content = json.dumps(make_cell(**changes)).encode()
    with pytest.raises(lab.ResultsError) as caught:
        parse_cell(content, tmp_path / "cell.json")
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'cell.json'}: ")
    assert caught.value.path == str(tmp_path / "cell.json")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b'{"schema": "halcyon.cell/1"', b"\xff\xfe", b"[1]", b'{"schema": NaN}', b'{"a": 1, "a": 1}'],
)
def test_broken_json_is_refused(tmp_path: Path, content: bytes) -> None:
    name = write_cell(tmp_path, make_cell())
    path = tmp_path / "cells" / f"{name}.json"
    path.write_bytes(content)
    with pytest.raises(lab.ResultsError, match="JSON|schema") as caught:
        lab.load(tmp_path)
    assert caught.value.path == str(path)


def test_truncated_cell_is_refused_at_every_length(tmp_path: Path) -> None:
    content = json.dumps(make_cell()).encode()
    for length in range(len(content)):
        with pytest.raises(lab.ResultsError):
            parse_cell(content[:length], "cell")


def test_renamed_and_edited_cells_are_refused(tmp_path: Path) -> None:
    name = write_cell(tmp_path, make_cell())
    path = tmp_path / "cells" / f"{name}.json"
    renamed = path.with_name("0" * 32 + ".json")
    path.rename(renamed)
    with pytest.raises(lab.ResultsError, match=f"the name is {'0' * 32} and the identity's hash is {name}"):
        lab.load(tmp_path)
    renamed.rename(path)
    path.write_text(path.read_text().replace('"labels": "given"', '"labels": "without"'))
    with pytest.raises(lab.ResultsError, match=f"the name is {name}"):
        lab.load(tmp_path)


def test_foreign_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lab.ResultsError, match="no results folder"):
        lab.load(tmp_path / "absent")
    write_cell(tmp_path, make_cell())
    (tmp_path / "cells" / ".unfinished.json.part").write_text("{")
    assert len(lab.load(tmp_path)) == 1
    (tmp_path / "cells" / "notes.txt").write_text("x")
    with pytest.raises(lab.ResultsError, match="not a cell"):
        lab.load(tmp_path)


def test_broken_sidecar_is_refused_and_a_missing_one_is_not(tmp_path: Path) -> None:
    name = write_cell(tmp_path, make_cell(), {"seconds": 1.5})
    assert lab.load(tmp_path)["seconds"].tolist() == [1.5]
    sidecar = tmp_path / "provenance" / f"{name}.json"
    sidecar.write_text("{}")
    with pytest.raises(lab.ResultsError, match="halcyon.provenance/1") as caught:
        lab.load(tmp_path)
    assert caught.value.path == str(sidecar)
    sidecar.unlink()
    assert lab.load(tmp_path)["seconds"].isna().all()


def test_cell_in_two_folders_counts_once_and_must_be_equal(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    write_cell(first, make_cell())
    write_cell(second, make_cell())
    write_cell(second, make_cell(identity__policy="fifo", label="fifo"))
    assert len(list(read_cells([first, second]))) == 2
    name = write_cell(second, make_cell(counts__evictions=5))
    with pytest.raises(lab.ResultsError) as caught:
        lab.load([first, second])
    assert str(first / "cells" / f"{name}.json") in str(caught.value)
    assert str(second / "cells" / f"{name}.json") in str(caught.value)


def hand_made(folder: Path) -> list[bytes]:
    """Writes five cells, each as a file of its own, and returns their bytes in the order of a pack."""
    for capacity in range(1, 6):
        document = make_cell(identity__capacity=f"{capacity}%", counts__evictions=capacity)
        write_cell(folder, document, {"seconds": capacity / 2})
    return list(cell_bytes(folder).values())


def test_packed_cells_give_the_frames_of_the_files(tmp_path: Path) -> None:
    lines = hand_made(tmp_path)
    frame, units = lab.load(tmp_path), lab.units(tmp_path)
    assert len(frame) == 5 and frame["seconds"].notna().all()
    # Two cells are packed, one is packed and a file, and two are files.
    write_pack(tmp_path, b"".join(lines[:3]))
    for name in sorted(cell_bytes(tmp_path))[:2]:
        (tmp_path / "cells" / name).unlink()
    pd.testing.assert_frame_equal(lab.load(tmp_path), frame)
    pd.testing.assert_frame_equal(lab.units(tmp_path), units)
    # All are packed, as in a fresh clone of the repository.
    write_pack(tmp_path, b"".join(lines))
    for path in (tmp_path / "cells").iterdir():
        path.unlink()
    (tmp_path / "cells").rmdir()
    pd.testing.assert_frame_equal(lab.load(tmp_path), frame)
    pd.testing.assert_frame_equal(lab.units(tmp_path), units)
    for place, name in enumerate(sorted(frame["hash"]), 1):
        assert stored_cell(tmp_path, name) == (lines[place - 1], f"{tmp_path / 'cells.jsonl.zst'}:{place}")
    assert stored_cell(tmp_path, "0" * 32) is None and stored_cell(tmp_path / "absent", "0" * 32) is None
    assert len(list(read_cells([tmp_path, tmp_path]))) == 5


def test_command_packs_what_python_reads(replay: str, reference: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    for name, content in reference.items():
        (tmp_path / "cells" / name).write_bytes(content)
    frame = lab.load(tmp_path)
    done = subprocess.run([replay, "results", str(tmp_path), "--pack"], check=True, capture_output=True, text=True)
    assert done.stdout == f"20 cells in {tmp_path}/cells.jsonl.zst\n"
    assert pack_lines(tmp_path) == [reference[name] for name in sorted(reference)]
    assert not list((tmp_path / "cells").iterdir())
    pd.testing.assert_frame_equal(lab.load(tmp_path), frame)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda pack: b"", "has no cells"),
        (lambda pack: pack[:3], "Truncated"),
        (lambda pack: pack[:-1], "Truncated"),
        (lambda pack: pack[: len(pack) // 2], "Truncated"),
        (lambda pack: b"cells of a suite", "no complete zstd data"),
        (lambda pack: pack + b"more", "no complete zstd data"),
    ],
)
def test_damaged_pack_is_refused_with_its_path(
    tmp_path: Path, damage: Callable[[bytes], bytes], sentence: str
) -> None:
    write_pack(tmp_path, b"".join(hand_made(tmp_path / "files")))
    path = tmp_path / "cells.jsonl.zst"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(lab.ResultsError, match=sentence) as caught:
        lab.load(tmp_path)
    assert caught.value.path == str(path)
    assert str(caught.value).endswith("restore the file, or delete it and run the sweep again.")


def test_pack_with_other_lines_is_refused_with_its_line(tmp_path: Path) -> None:
    lines = hand_made(tmp_path / "files")
    for content, place, sentence in (
        (b"".join([lines[1], lines[0]]), 2, "is not in order"),
        (b"".join([lines[0], lines[0]]), 2, "is not in order"),
        (b"".join(lines)[:-1], 5, "has no line break"),
        (lines[0] + b"{}\n", 2, "the schema is None"),
        (lines[0] + b"\xff\n", 2, "not valid JSON"),
        (b"".join(lines).replace(b'"schema": "halcyon.cell/1"', b'"schema": "halcyon.cell/9"'), 1, "the schema is"),
    ):
        write_pack(tmp_path, content)
        with pytest.raises(lab.ResultsError, match=sentence) as caught:
            lab.load(tmp_path)
        assert caught.value.path == f"{tmp_path / 'cells.jsonl.zst'}:{place}"
