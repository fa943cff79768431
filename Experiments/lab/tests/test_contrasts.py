"""Contrasts of labels and prefetching, ranking of policies, and intervals of proportions, against hand-worked figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import make_cell, write_cell
from scipy.stats import ttest_1samp

import lab


def counted(hits: int, requests: int = 12, **changes: Any) -> dict[str, Any]:
    """A cell with these counts, spread over three users of equal weight."""
    parts = [hits // 3 + (1 if place < hits % 3 else 0) for place in range(3)]
    return make_cell(
        counts__requests=requests, counts__hits=hits, counts__size=requests, counts__hit_size=hits,
        units={"kind": "users", "requests": [requests // 3] * 3, "hits": parts}, **changes,
    )  # fmt: skip


def test_labels_are_contrasted_within_a_policy_and_permutations_are_averaged(tmp_path: Path) -> None:
    for policy, labels, hits in (
        ("learned", "given", 9), ("learned", "without", 6), ("learned", "permuted uniform #1", 7),
        ("learned", "permuted uniform #2", 8), ("other", "given", 3), ("other", "without", 4), ("lru", "given", 12),
    ):  # fmt: skip
        write_cell(tmp_path, counted(hits, identity__policy=policy, label=policy, identity__labels=labels))
    results = lab.load(tmp_path)
    found = lab.contrasts(results, "labels", "without", candidates=["given"])
    assert dict(zip(found["run"], found["difference"])) == pytest.approx({"learned": 3 / 12, "other": -1 / 12})
    assert set(found["arm"]) == {"given"} and set(found["baseline"]) == {"without"}
    permuted = lab.contrasts(results, "labels", "permuted uniform", candidates=["given"])
    assert list(permuted["run"]) == ["learned"]
    assert permuted["difference"].iloc[0] == pytest.approx((9 - 7.5) / 12)
    with pytest.raises(lab.UsageError, match="no cell has the labels 'none'; these results have: given, "):
        lab.contrasts(results, "labels", "none")


def prefetched(folder: Path) -> None:
    """No prefetching with 3 of 12 hits, the planner at two latencies with 7 and 2, popular with 3."""
    write_cell(folder, counted(3))
    for policy, latency, hits, fetched, used, late in (
        ("planner", 0, 7, 8, 5, 0), ("planner", 500_000, 2, 8, 1, 2), ("popular", 500_000, 3, 4, 1, 0),
    ):  # fmt: skip
        identity = {"policy": policy, "parameters": {}, "budget": "2/request", "latency_us": latency}
        write_cell(
            folder,
            counted(
                hits, identity__prefetch=identity, counts__prefetched=fetched, counts__prefetches_used=used,
                counts__prefetches_late=late, counts__prefetched_size=fetched, counts__prefetch_wasted_size=fetched - used,
            ),
        )  # fmt: skip


def test_prefetching_is_measured_against_no_prefetching(tmp_path: Path) -> None:
    prefetched(tmp_path)
    found: Any = lab.prefetching(lab.load(tmp_path)).set_index("arm")
    ideal, slow = found.loc["planner 2/request 0 ms"], found.loc["planner 2/request 500 ms"]
    assert (ideal["without"], ideal["hit_ratio"]) == pytest.approx((3 / 12, 7 / 12))
    assert (ideal["precision"], ideal["coverage"]) == pytest.approx((5 / 8, 4 / 9))
    # 5 misses and 8 prefetches in place of 9 misses: 4 transfers more for 4 hits more.
    assert (ideal["traffic"], ideal["fetches_per_hit"]) == pytest.approx((13 / 9, 1))
    # 10 misses, of which 2 join a prefetch in flight, and 8 prefetches.
    assert (slow["coverage"], slow["late"], slow["traffic"]) == pytest.approx((-1 / 9, 2 / 8, 16 / 9))
    popular = found.loc["popular 2/request 500 ms"]
    assert [row["fetches_per_hit"] for row in (slow, popular)] == [math.inf, math.inf]


def test_prefetch_arms_are_contrasted_with_none(tmp_path: Path) -> None:
    prefetched(tmp_path)
    found = lab.contrasts(lab.load(tmp_path), "prefetch", "none")
    assert dict(zip(found["arm"], found["difference"])) == pytest.approx(
        {"planner 2/request 0 ms": 4 / 12, "planner 2/request 500 ms": -1 / 12, "popular 2/request 500 ms": 0}
    )
    assert set(found["run"]) == {"lru"}


def ranked(folder: Path) -> None:
    """Three online policies and the optimum, in two caches; seeds of the learner are averaged."""
    for capacity, size, hits in (("1%", 5, {"lru": 2, "fifo": 0, "belady": 9}), ("10%", 50, {"lru": 8, "fifo": 4, "belady": 10})):
        for policy, count in hits.items():
            write_cell(folder, counted(count, identity__policy=policy, label=policy, identity__capacity=capacity, capacity=size))
        for seed, count in ((1, 5), (2, 7)):
            write_cell(
                folder,
                counted(count, identity__policy="learned", label="learned", identity__capacity=capacity, capacity=size,
                        identity__seed=seed),
            )  # fmt: skip


def test_excess_is_relative_to_the_best_online_policy_of_each_cell(tmp_path: Path) -> None:
    ranked(tmp_path)
    results = lab.load(tmp_path)
    found = lab.excess(results).set_index(["run", "capacity"])
    # Misses of 12: learned 6, lru 10, fifo 12 in the small cache; 6, 4 and 8 in the large one.
    assert found["excess"].to_dict() == pytest.approx({
        ("learned", "1%"): 0, ("lru", "1%"): 100 * (10 / 6 - 1), ("fifo", "1%"): 100,
        ("learned", "10%"): 50, ("lru", "10%"): 0, ("fifo", "10%"): 100,
    })  # fmt: skip
    assert found.loc[("fifo", "1%"), "against"] == "learned" and found.loc[("fifo", "10%"), "against"] == "lru"
    assert found["rank"].to_dict()[("lru", "1%")] == 2
    over_fifo = lab.excess(results, "fifo").set_index(["run", "capacity"])["excess"]
    assert over_fifo[("learned", "1%")] == pytest.approx(-50)
    with pytest.raises(lab.UsageError, match="no cell has the run 'arc'"):
        lab.excess(results, "arc")


def test_a_policy_against_the_best_other_one(tmp_path: Path) -> None:
    ranked(tmp_path)
    found = lab.against_others(lab.load(tmp_path), "learned").set_index("capacity")
    assert found["excess"].to_dict() == pytest.approx({"1%": 100 * (6 / 10 - 1), "10%": 50})
    assert found["against"].to_dict() == {"1%": "lru", "10%": "lru"}
    with pytest.raises(lab.UsageError, match="no cell has the run 'arc'"):
        lab.against_others(lab.load(tmp_path), "arc")


def posterior(bound: float, successes: int, trials: int, steps: int = 20_000) -> float:
    """The mass of Jeffreys' posterior below a bound: with p = sin² φ its density is sin^2x φ · cos^2(n − x) φ."""

    def mass(end: float) -> float:
        width = end / steps
        places = ((step + 0.5) * width for step in range(steps))
        return width * sum(math.sin(p) ** (2 * successes) * math.cos(p) ** (2 * (trials - successes)) for p in places)

    return mass(math.asin(math.sqrt(bound))) / mass(math.pi / 2)


@pytest.mark.parametrize(("successes", "trials"), [(1, 7), (3, 7), (6, 7), (20, 70)])
def test_jeffreys_intervals_leave_the_posterior_two_and_a_half_percent_on_each_side(successes: int, trials: int) -> None:
    low, high = lab.proportion_interval(successes, trials)
    assert posterior(low, successes, trials) == pytest.approx(0.025, abs=1e-5)
    assert posterior(high, successes, trials) == pytest.approx(0.975, abs=1e-5)


def test_jeffreys_intervals_end_at_the_borders() -> None:
    low, high = lab.proportion_interval(0, 7)
    assert low == 0 and posterior(high, 0, 7) == pytest.approx(0.975, abs=1e-5)
    assert lab.proportion_interval(7, 7) == pytest.approx((1 - high, 1))


def test_proportions_out_of_range() -> None:
    assert lab.proportion_interval(0, 0) == (0, 1)
    with pytest.raises(lab.UsageError, match="8 of 7 is no proportion"):
        lab.proportion_interval(8, 7)


def test_calibration_keeps_bins_with_samples_and_says_which_agree() -> None:
    bins = [
        {"from": 0, "to": 0.1, "samples": 7, "predicted": 0.05, "observed": 2 / 7},
        {"from": 0.1, "to": 0.2, "samples": 0},
        {"from": 0.2, "to": 0.3, "samples": 7, "predicted": 0.25, "observed": 2 / 7},
    ]
    found = lab.calibration(bins)
    assert list(found["from"]) == [0, 0.2] and list(found["agrees"]) == [False, True]
    assert posterior(float(found["high"].iloc[0]), 2, 7) == pytest.approx(0.975, abs=1e-5)
    assert lab.calibration_error(found) == pytest.approx((2 / 7 - 0.05 + 2 / 7 - 0.25) / 2)


def test_the_interval_of_a_mean_is_students() -> None:
    values = [0.61, 0.66, 0.58, 0.7]
    expected = ttest_1samp(values, 0).confidence_interval(0.95)
    assert lab.mean_interval(values) == pytest.approx((sum(values) / 4, expected.low, expected.high))
    mean, low, high = lab.mean_interval([0.5, math.nan])
    assert mean == 0.5 and math.isnan(low) and math.isnan(high)
    assert math.isnan(lab.mean_interval([])[0])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.001, 0.02, "gain"), (0.001, 0.004, "gain below the margin"), (-0.01, -0.001, "loss"),
        (-0.01, 0.004, "no gain of the margin"), (-0.01, 0.006, "undecided"), (0, 0, "no gain of the margin"),
    ],
)  # fmt: skip
def test_verdicts(low: float, high: float, expected: str) -> None:
    assert lab.verdict(low, high, 0.005) == expected


def requests(rows: list[tuple[float, str, str]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["time", "key", "user"])


def test_shuffling_moves_requests_within_one_user_and_time_only() -> None:
    rows = [(1.0, f"a{number}", "u") for number in range(20)] + [(1.0, "x", "v"), (2.0, "y", "u"), (2.0, "z", "v")]
    mixed = [rows[20], *rows[:20], *rows[21:]]
    shuffled = lab.shuffle_ties(requests(mixed), 1)
    keys = list(shuffled["key"])
    assert sorted(keys[1:21]) == sorted(key for _, key, _ in rows[:20]) and keys[1:21] != [key for _, key, _ in rows[:20]]
    assert [keys[0], *keys[21:]] == ["x", "y", "z"]
    assert list(shuffled["user"]) == [user for _, _, user in mixed]
    assert keys == list(lab.shuffle_ties(requests(mixed), 1)["key"]) != list(lab.shuffle_ties(requests(mixed), 2)["key"])


def test_visits_end_after_a_pause_and_have_the_time_of_their_first_request() -> None:
    log = requests([(0, "a", "u"), (5, "b", "v"), (10, "c", "u"), (20, "d", "u"), (31, "e", "u"), (100, "f", "v")])
    found = lab.join_visits(log, 10)
    assert list(zip(found["time"], found["key"])) == [(0, "a"), (0, "c"), (0, "d"), (5, "b"), (31, "e"), (100, "f")]
