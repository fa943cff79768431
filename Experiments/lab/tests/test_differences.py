"""Frames of paired differences, against Student's t and figures worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from conftest import make_cell, write_cell
from scipy.stats import ttest_1samp

import lab

pytestmark = pytest.mark.usefixtures("replay")


def two_policies(folder: Path, hits: list[int], other: list[int], seeds: int = 1) -> None:
    requests = [10] * len(hits)
    for policy, values in (("lru", other), ("learned", hits)):
        for seed in range(1, seeds + 1) if policy == "learned" else [None]:
            extra = (seed or 1) - 1
            shifted = [value + extra for value in values]
            write_cell(
                folder,
                make_cell(
                    identity__policy=policy, label=policy, identity__seed=seed,
                    counts__requests=sum(requests), counts__hits=sum(shifted), counts__size=sum(requests),
                    counts__hit_size=sum(shifted),
                    units={"kind": "users", "requests": requests, "hits": shifted},
                ),
            )  # fmt: skip


def test_interval_with_equal_users_is_that_of_students_t(tmp_path: Path) -> None:
    hits, other = [5, 7, 3, 9, 6], [4, 4, 4, 5, 6]
    two_policies(tmp_path, hits, other)
    (row,) = lab.differences(lab.load(tmp_path), "lru").to_dict("records")
    expected = ttest_1samp([(a - b) / 10 for a, b in zip(hits, other)], 0).confidence_interval(0.95)
    assert row["difference"] == pytest.approx(0.14)
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
    assert (row["run"], row["baseline"], row["units"], row["unit_kind"]) == ("learned", "lru", 5, "users")


def test_seeds_are_averaged_and_their_spread_is_added(tmp_path: Path) -> None:
    two_policies(tmp_path, [5, 7, 3, 8, 6], [4, 4, 4, 5, 6], seeds=2)
    (row,) = lab.differences(lab.load(tmp_path), "lru").to_dict("records")
    one = tmp_path / "one"
    two_policies(one, [5, 7, 3, 8, 6], [4, 4, 4, 5, 6])
    (single,) = lab.differences(lab.load(one), "lru").to_dict("records")
    # Seed 2 has one hit more in each unit: the ratio rises by 0.1, the variance over units stays.
    assert row["difference"] == pytest.approx(single["difference"] + 0.05)
    assert row["standard_error"] ** 2 == pytest.approx(single["standard_error"] ** 2 + 0.1**2 / 2 / 2)
    assert (row["runs"], single["runs"]) == (2, 1)


def test_byte_measure_uses_sizes(tmp_path: Path) -> None:
    for policy, hit_sizes in (("lru", [10, 0]), ("fifo", [30, 20])):
        write_cell(
            tmp_path,
            make_cell(
                identity__policy=policy, label=policy, trace__size_unit="bytes",
                counts__requests=4, counts__hits=2, counts__size=100, counts__hit_size=sum(hit_sizes),
                units={"kind": "users", "requests": [2, 2], "hits": [1, 1], "sizes": [50, 50], "hit_sizes": hit_sizes},
            ),
        )  # fmt: skip
    results = lab.load(tmp_path)
    assert lab.differences(results, "lru", measure="byte")["difference"].tolist() == [pytest.approx(0.4)]
    assert lab.differences(results, "lru")["difference"].tolist() == [0.0]


def test_cells_with_other_settings_are_not_paired(tmp_path: Path) -> None:
    write_cell(tmp_path, make_cell())
    write_cell(tmp_path, make_cell(identity__policy="fifo", label="fifo", identity__warmup="0"))
    assert lab.differences(lab.load(tmp_path), "lru").empty


def test_cells_that_count_different_requests_are_an_error(tmp_path: Path) -> None:
    write_cell(tmp_path, make_cell())
    other = {"kind": "users", "requests": [5, 5, 2], "hits": [4, 1, 1]}
    write_cell(tmp_path, make_cell(identity__policy="fifo", label="fifo", units=other))
    with pytest.raises(lab.ReplayError, match="count their requests by different units"):
        lab.differences(lab.load(tmp_path), "lru")


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    write_cell(tmp_path, make_cell())
    results = lab.load(tmp_path)
    with pytest.raises(lab.UsageError, match="no cell has the run 'lfu'; runs in these results: lru"):
        lab.differences(results, "lfu")
    with pytest.raises(lab.UsageError, match="confidence"):
        lab.differences(results, "lru", confidence=95)


def test_runs_that_differ_in_knowledge_are_not_averaged_as_seeds(tmp_path: Path) -> None:
    write_cell(tmp_path, make_cell(identity__mode="per_user"))
    for knowledge, hits in (("server", [5, 3, 1]), ("device", [3, 1, 0])):
        total = sum(hits)
        write_cell(
            tmp_path,
            make_cell(
                identity__mode="per_user", identity__policy="learned", identity__knowledge=knowledge, identity__seed=1,
                label="learned", counts__hits=total, counts__hit_size=total,
                units={"kind": "users", "requests": [6, 4, 2], "hits": hits},
            ),
        )  # fmt: skip
    found = lab.differences(lab.load(tmp_path), "lru").set_index("run")
    assert found["difference"].to_dict() == {
        "learned, device knowledge": pytest.approx((4 - 6) / 12), "learned, server knowledge": pytest.approx((9 - 6) / 12),
    }  # fmt: skip
    assert found["runs"].tolist() == [1, 1]


def test_a_single_user_has_a_difference_without_an_interval(tmp_path: Path) -> None:
    two_policies(tmp_path, [7], [4])
    (row,) = lab.differences(lab.load(tmp_path), "lru").to_dict("records")
    assert row["difference"] == pytest.approx(0.3)
    assert all(math.isnan(row[name]) for name in ("low", "high", "standard_error", "degrees"))
