"""Which image does a user request for the first time? An upper bound, on lists that this script makes of real requests.

    swift build -c release --product replay
    HALCYON_TRACES=… python3 Experiments/first_requests.py

No log says what a shop showed. So before each first request of a user for an object, the script shows a list in random order: that
object, and 24 others drawn evenly from the catalogue that this user has not requested. The catalogue has every object from one day
before its first request by anybody, and never loses one. An app knows such lists only if its pages happen to be so: this is an upper
bound of what a category can say of new objects, and no figure of a shop. Objects are not drawn by popularity, and none from later
than that day: *never requested before* would then find the opened one.

It runs what is missing of `Experiments/suites/first-requests.yml` into `Experiments/results/first-requests`; `python -m lab evidence`
writes the table of it. The same options give the same results.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import random
import subprocess
import sys
import tempfile
from bisect import bisect_right
from pathlib import Path

ITEMS, DAY = 25, 86_400
PAUSE, DELAY = 10, 5
"""The least seconds between two requests of a user, whose log has one time for a basket; and those from a list to its opening."""
USERS = {"taobao_users": None, "completejourney": 150}
"""The traces, and how many of their users are drawn; ``None`` for all."""

Request = tuple[int, str, str, str]
"""The time in seconds, the user, the object and its category."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", default=".build/release/replay", help="the command")
    parser.add_argument("--results", default="Experiments/results/first-requests", help="the folder of results")
    options = parser.parse_args()
    traces = os.environ.get("HALCYON_TRACES")
    if not traces:
        parser.error("HALCYON_TRACES is not set; it names the folder of the real traces.")
    suite = Path(__file__).parent / "suites" / "first-requests.yml"
    with tempfile.TemporaryDirectory() as folder:
        for name, users in USERS.items():
            with gzip.open(Path(traces) / "categories" / f"{name}.csv.gz", "rt", encoding="utf-8") as log:
                requests = [(int(row["time"]), row["user"], row["key"], row["category"]) for row in csv.DictReader(log)]
            with gzip.open(Path(folder) / f"{name}.csv.gz", "wt", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["time", "event", "user", "key", "category", "list"])
                writer.writerows(rows(requests, users, random.Random(1)))
        sweep = [options.replay, "sweep", str(suite), "--results", options.results]
        return subprocess.run(sweep, env={**os.environ, "HALCYON_FIRST": folder}).returncode


def rows(requests: list[Request], users: int | None, generator: random.Random) -> list[tuple[int, str, str, str, str, str]]:
    """Returns the lists and their openings, by time: ``(time, event, user, key, category, list)``."""
    appeared: dict[str, int] = {}
    categories: dict[str, str] = {}
    for time, _, key, category in requests:
        appeared[key] = min(time, appeared.get(key, time))
        categories[key] = category
    catalogue = sorted(appeared, key=lambda key: (appeared[key], key))
    times = [appeared[key] for key in catalogue]
    names = sorted({user for _, user, _, _ in requests})
    chosen = set(names if users is None else generator.sample(names, users))
    requested: dict[str, set[str]] = {user: set() for user in chosen}
    last: dict[str, int] = {}
    found = []
    for time, user, key, _ in requests:
        if user not in chosen or key in requested[user]:
            continue
        requested[user].add(key)
        last[user] = time = max(time, last.get(user, time - PAUSE) + PAUSE)
        known, items = bisect_right(times, time + DAY), [key]
        while len(items) < min(ITEMS, known - len(requested[user]) + 1):
            other = catalogue[generator.randrange(known)]
            if other not in requested[user] and other not in items:
                items.append(other)
        generator.shuffle(items)
        number = str(len(found))
        found += [(time - DELAY, "shown", user, item, categories[item], number) for item in items]
        found.append((time, "request", user, key, categories[key], ""))
    # Stable, so that a list stays together and in order.
    return sorted(found, key=lambda row: row[0])


if __name__ == "__main__":
    sys.exit(main())
