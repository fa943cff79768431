"""Data frames and tables of stored cells."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from conftest import make_cell, write_cell

import lab
from lab.frames import COLUMNS, UNIT_COLUMNS, warmup_name


def test_run_names_the_version_of_a_policy_of_ones_own_from_the_second_on(tmp_path: Path) -> None:
    for version in ("1", "2"):
        write_cell(tmp_path, make_cell(identity__policy="own", identity__parameters={"version": version}, label="own"))
    write_cell(tmp_path, make_cell())
    assert sorted(lab.load(tmp_path)["run"]) == ["lru", "own", "own, version 2"]


def hand_made(folder: Path) -> None:
    """Writes three cells: lru at 1 %, s3-fifo at 10 % with sizes in bytes and a sidecar, and a permuted learner."""
    write_cell(folder, make_cell())
    write_cell(
        folder,
        make_cell(
            identity__policy="s3-fifo", identity__parameters={"small": "0.1", "ghost": "0.9"}, label="s3-fifo",
            identity__capacity="10%", capacity=40, trace__size_unit="bytes",
            counts__size=1_000, counts__hit_size=250,
            units={"kind": "users", "requests": [6, 6], "hits": [6, 0], "sizes": [600, 400], "hit_sizes": [250, 0]},
        ),
        {"seconds": 2.5, "build_id": "ab12", "kernels": ["portable: avx2"], "is_optimised": True},
    )  # fmt: skip
    write_cell(
        folder,
        make_cell(
            identity__policy="learned", identity__parameters={"hidden": "32"}, label="learned", identity__seed=4,
            identity__labels="permuted within=popularity,age,size #3",
            identity__prefetch={"policy": "planner", "parameters": {}, "budget": "2/request", "latency_us": 500_000},
            counts__prefetched=7, counts__requests=0, counts__hits=0, counts__size=0, counts__hit_size=0,
            units={"kind": "time_blocks", "requests": [0], "hits": [0]},
        ),
    )  # fmt: skip


def test_load_returns_a_tidy_row_per_cell(tmp_path: Path) -> None:
    hand_made(tmp_path)
    frame = lab.load(tmp_path)
    assert list(frame.columns) == [*COLUMNS, "p_ghost", "p_hidden", "p_small"]
    assert frame["label"].tolist() == ["learned", "lru", "s3-fifo"]
    learned, lru, s3fifo = (row for _, row in frame.iterrows())
    assert (lru["hits"], lru["requests"], lru["object_hit_ratio"]) == (6, 12, 0.5)
    assert lru[["seed", "p_small", "build_id", "prefetch", "tiers", "knowledge"]].isna().all()
    assert (s3fifo["object_hit_ratio"], s3fifo["byte_hit_ratio"]) == (0.5, 0.25)
    assert (s3fifo["p_small"], s3fifo["p_ghost"]) == ("0.1", "0.9")
    assert json.loads(s3fifo["parameters"]) == {"small": "0.1", "ghost": "0.9"}
    assert (s3fifo["seconds"], s3fifo["build_id"], s3fifo["kernels_used"]) == (2.5, "ab12", "portable: avx2")
    assert (s3fifo["capacity"], s3fifo["capacity_size"], s3fifo["size_unit"]) == ("10%", 40, "bytes")
    assert (learned["seed"], learned["label_control"], learned["permutation"]) == (
        4, "permuted within=popularity,age,size", 3,
    )  # fmt: skip
    assert (learned["prefetch"], learned["prefetch_budget"], learned["prefetch_latency_us"]) == (
        "planner", "2/request", 500_000,
    )  # fmt: skip
    assert pd.isna(learned["object_hit_ratio"]) and pd.isna(learned["byte_hit_ratio"])
    assert str(frame["hits"].dtype) == "Int64" and str(frame["object_hit_ratio"].dtype) == "float64"


def test_units_are_in_long_form_and_add_up_to_the_counts(tmp_path: Path) -> None:
    hand_made(tmp_path)
    frame, by_unit = lab.load(tmp_path), lab.units(tmp_path)
    assert list(by_unit.columns) == list(UNIT_COLUMNS)
    assert len(by_unit) == 3 + 2 + 1
    s3fifo = by_unit[by_unit["label"] == "s3-fifo"]
    assert s3fifo[["unit", "requests", "hits", "size", "hit_size"]].values.tolist() == [
        [0, 6, 6, 600, 250], [1, 6, 0, 400, 0],
    ]  # fmt: skip
    sums = by_unit.groupby("hash")[["requests", "hits", "size", "hit_size"]].sum()
    whole = frame.set_index("hash")[["requests", "hits", "size", "hit_size"]]
    assert (sums == whole.loc[sums.index]).all(axis=None)


def test_empty_folder_gives_empty_frames_with_all_columns(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    assert list(lab.load(tmp_path).columns) == list(COLUMNS) and lab.load(tmp_path).empty
    assert list(lab.units(tmp_path).columns) == list(UNIT_COLUMNS) and lab.units(tmp_path).empty


def test_frame_of_real_cells_has_their_counts(reference: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    for name, content in reference.items():
        (tmp_path / "cells" / name).write_bytes(content)
    frame = lab.load(tmp_path).set_index("hash")
    assert len(frame) == len(reference)
    for name, content in reference.items():
        document = json.loads(content)
        row = frame.loc[name.removesuffix(".json")]
        for count, value in document["counts"].items():
            assert row[count] == value
        assert row["label"] == document["label"]
    by_unit = lab.units(tmp_path).groupby("hash")[["requests", "hits", "hit_size"]].sum()
    assert (by_unit == frame.loc[by_unit.index, ["requests", "hits", "hit_size"]]).all(axis=None)


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_export_holds_what_load_returns(tmp_path: Path, extension: str) -> None:
    hand_made(tmp_path)
    path = tmp_path / f"out.{extension}"
    assert lab.export(tmp_path, path) == 3
    frame = lab.load(tmp_path)
    if extension == "parquet":
        back = pd.read_parquet(path, dtype_backend="numpy_nullable")
        assert back["hits"].dtype == frame["hits"].dtype
    else:
        back = pd.read_csv(path, dtype={name: "string" for name in frame.columns if frame[name].dtype == "string"})
    for name in frame.columns:
        expected = [None if pd.isna(value) else value for value in frame[name]]
        assert [None if pd.isna(value) else value for value in back[name]] == expected, name
    first = path.read_bytes()
    lab.export(tmp_path, path)
    assert path.read_bytes() == first
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["cells", f"out.{extension}", "provenance"]


def test_export_refuses_other_extensions_and_keeps_the_old_file_on_failure(tmp_path: Path) -> None:
    hand_made(tmp_path)
    with pytest.raises(lab.UsageError, match=r"must end with \.csv or \.parquet"):
        lab.export(tmp_path, tmp_path / "out.xlsx")
    (tmp_path / "out.csv").write_text("old")
    next((tmp_path / "cells").iterdir()).write_text("{")
    with pytest.raises(lab.ResultsError):
        lab.export(tmp_path, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"


def test_failed_write_leaves_no_part(tmp_path: Path) -> None:
    from lab.tables import write_beside

    def fail(part: Path) -> None:
        part.write_text("half")
        raise OSError("disk full")

    (tmp_path / "out.csv").write_text("old")
    with pytest.raises(OSError, match="disk full"):
        write_beside(tmp_path / "out.csv", fail)
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


def test_capacities_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    sizes = {"10%": 10, "5%": 5, "0.5%": 1, "20%": 20, "1%": 2, "10MB": 10_000_000, "1MB": 1_000_000, "1MiB": 1_048_576, "500": 500}
    for capacity, size in sizes.items():
        write_cell(tmp_path, make_cell(identity__capacity=capacity, capacity=size))
    write_cell(tmp_path, make_cell(identity__capacity=None, identity__tiers={"memory": "1%", "disk": "10%"}))
    results = lab.load(tmp_path)
    expected = ["0.5%", "1%", "5%", "10%", "20%", "500", "1MB", "1MiB", "10MB"]
    pivot = results.pivot_table(index="trace", columns="capacity", values="object_hit_ratio")
    assert list(pivot.columns) == expected
    assert list(results["capacity"].dropna().sort_values()) == expected
    assert results["capacity"].isna().sum() == 1 and (results["capacity"] < "5%").sum() == 2
    units = lab.units(tmp_path)
    assert list(units.groupby("capacity", observed=True)["hits"].sum().index) == expected
    lab.export(tmp_path, tmp_path / "cells.csv")
    assert set(pd.read_csv(tmp_path / "cells.csv")["capacity"].dropna()) == set(expected)


def test_the_resolution_of_times_is_a_column(tmp_path: Path) -> None:
    write_cell(tmp_path, make_cell())
    write_cell(tmp_path, make_cell(identity__policy="fifo", label="fifo", trace__time_resolution_us=60_000_000))
    assert lab.load(tmp_path)["time_resolution_us"].tolist() == [60_000_000, pd.NA]


def test_each_kind_of_warm_up_has_a_number_and_a_name_of_its_own(tmp_path: Path) -> None:
    names = {
        "0": (0, "no warm-up"), "0.25": (0.25, "warm-up 25 %"), "60000": (60_000, "warm-up 60,000 requests"),
        "432000s": (-432_000, "warm-up 432,000 s"), "1500ms": (-1.5, "warm-up 1.5 s"),
    }  # fmt: skip
    for text in names:
        write_cell(tmp_path, make_cell(identity__warmup=text))
    numbers = sorted(lab.load(tmp_path)["warmup"])
    assert numbers == sorted(number for number, _ in names.values())
    assert [warmup_name(number) for number in numbers] == [name for _, name in sorted(names.values())]
