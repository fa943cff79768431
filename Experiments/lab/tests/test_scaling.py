"""The cost of a fleet, against hand-worked figures."""

from __future__ import annotations

from pathlib import Path

import pytest
import scale_page

import lab

RATES = lab.Rates(replayed_per_second=1_000, read_per_second=10_000, bytes_per_user=100, bytes_per_other_user=10,
                  bytes_per_process=500)  # fmt: skip


def test_cost_is_reading_by_every_part_plus_replaying_once() -> None:
    cost = lab.scale(requests=100_000, users=1_000, rates=RATES, parts=4, cores=2, price_per_core_hour=2)
    assert cost.part_seconds == 10 + 25
    assert cost.seconds == 2 * 35
    assert cost.core_hours == pytest.approx(4 * 35 / 3600)
    assert cost.reading_share == pytest.approx(40 / 140)
    assert cost.part_bytes == 500 + 250 * 100 + 1_000 * 10
    assert (cost.running, cost.bytes) == (2, 2 * cost.part_bytes)
    assert cost.price == pytest.approx(2 * 140 / 3600)


def test_memory_limits_the_parts_that_run_together() -> None:
    cost = lab.scale(requests=100_000, users=1_000, rates=RATES, parts=4, cores=4, memory=110_000)
    assert (cost.running, cost.seconds) == (3, 2 * 35)
    with pytest.raises(lab.UsageError, match="one part needs 110,500 bytes and there are 110,000"):
        lab.scale(requests=100_000, users=1_000, rates=RATES, parts=1, memory=110_000)


def test_one_part_is_one_process() -> None:
    cost = lab.scale(requests=100_000, users=1_000, rates=RATES)
    assert (cost.seconds, cost.running, cost.price) == (110, 1, None)


@pytest.mark.parametrize("changes", [{"requests": 0}, {"users": -1}, {"parts": 0}, {"cores": 0}])
def test_values_that_are_not_positive_are_refused(changes: dict[str, int]) -> None:
    arguments = {"requests": 1, "users": 1, **changes}
    with pytest.raises(lab.UsageError, match="a finite number above 0 is expected"):
        lab.scale(rates=RATES, **arguments)


def test_rates_from_two_runs_give_back_the_times_and_bytes_of_both() -> None:
    for parts in (2, 5):
        true = [lab.scale(requests=1e6, users=1_000, rates=RATES, parts=count) for count in (1, parts)]
        rates = lab.Rates.from_runs(
            requests=1e6, users=1_000, parts=parts, process_bytes=500,
            whole_seconds=true[0].part_seconds, part_seconds=true[1].part_seconds,
            whole_bytes=true[0].part_bytes, part_bytes=true[1].part_bytes,
        )  # fmt: skip
        assert vars(rates) == pytest.approx(vars(RATES))


def test_rates_need_a_part_that_takes_less_than_the_whole() -> None:
    with pytest.raises(lab.UsageError, match="a part must take less than the whole"):
        lab.Rates.from_runs(requests=1, users=1, whole_seconds=2, part_seconds=2, whole_bytes=2, part_bytes=1)


def test_scale_page_shows_what_the_function_computes() -> None:
    page = (Path(__file__).parents[1] / "SCALE.md").read_text().splitlines()
    for line in (*scale_page.rates(), *scale_page.table()):
        assert line in page
    assert len([line for line in page if line.startswith("| `")]) == 4 + len(scale_page.rates() + scale_page.table())
