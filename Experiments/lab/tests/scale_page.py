"""Prints the tables of SCALE.md from the measured rates; the tests compare the page with them."""

from __future__ import annotations

import lab

#: Two runs of `lru` over the trace `million-users`, as SCALE.md says: seconds of the processor and resident bytes.
LRU = lab.Rates.from_runs(
    requests=1e8, users=999_753, whole_seconds=96.0, part_seconds=58.5, whole_bytes=460_072 * 1024,
    part_bytes=350_616 * 1024, parts=2, process_bytes=33_352 * 1024,
)  # fmt: skip
#: One run of `learned` with one model for all users: it reads as fast, and the rest of its time is replaying.
LEARNED = lab.Rates(
    replayed_per_second=1e8 / (340.3 - 1e8 / LRU.read_per_second),
    read_per_second=LRU.read_per_second,
    bytes_per_user=(1_751_492 - 34_820) * 1024 / 999_753,
    bytes_per_process=34_820 * 1024,
)
REQUESTS, USERS = 1e9, 1e7


def row(policy: str, rates: lab.Rates, parts: int) -> str:
    cost = lab.scale(requests=REQUESTS, users=USERS, rates=rates, parts=parts, cores=parts)
    return (
        f"| {policy} | {parts} | {cost.seconds / 60:.1f} | {cost.core_hours:.2f} | {100 * cost.reading_share:.0f} % "
        f"| {cost.part_bytes / 1e9:.1f} | {cost.bytes / 1e9:.1f} |"
    )


def table() -> list[str]:
    """The rows of the table of costs."""
    return [row("`lru`", LRU, parts) for parts in (1, 2, 4, 8, 16, 64)] + [row("`learned`, one model", LEARNED, 1)]


def rates() -> list[str]:
    """The rows of the table of rates."""
    return [
        f"| {policy} | {rate.replayed_per_second / 1e6:.2f} M/s | {rate.read_per_second / 1e6:.1f} M/s "
        f"| {rate.bytes_per_user:,.0f} | {other} |"
        for policy, rate, other in (
            ("`lru`", LRU, f"{LRU.bytes_per_other_user:,.0f}"), ("`learned`, one model", LEARNED, "cannot be split"),
        )
    ]  # fmt: skip


if __name__ == "__main__":
    print("\n".join([*rates(), "", *table()]))
