#!/usr/bin/env python3
"""What a cache of each user's own would have to know to close the gap between LRU and Belady's optimum.

    python3 Experiments/clairvoyant.py completejourney.csv.gz onlineretail.csv.gz

Two caches that know a part of the future, at 20, 60 and 100 objects a user, over the first 300,000 requests with a user, of which the
first quarter fills the caches uncounted:

- "ever" knows whether the user will ask for an object again, but not when: what is never asked for again is not kept or goes first,
  otherwise the least recent goes;
- "often" knows how often the user still will, but not when: the least often goes, the least recent among equals.

Prints hit ratios in %, and in brackets the share of the gap that each closes.
"""

import argparse
import collections
import csv
import gzip
import os
import sys
import zlib


def requests(path, limit):
    """The first `limit` pairs of a user and an object."""
    opened = gzip.open if path.endswith(".gz") else open
    pairs = []
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["user"]:
                pairs.append((row["user"], row["key"]))
            if len(pairs) >= limit:
                break
    return pairs


def next_requests(pairs):
    """For each request when the same user asks for the same object again; beyond the end if never."""
    following = [len(pairs)] * len(pairs)
    seen = {}
    for index in range(len(pairs) - 1, -1, -1):
        following[index] = seen.get(pairs[index], len(pairs))
        seen[pairs[index]] = index
    return following


def hit_ratio(pairs, capacity, warmup, knows):
    following, left = next_requests(pairs), collections.Counter(pairs)
    caches = collections.defaultdict(collections.OrderedDict)  # the least recent first
    hits = 0
    for index, (user, key) in enumerate(pairs):
        cache = caches[user]
        left[user, key] -= 1
        if key in cache:
            hits += index >= warmup
            cache.move_to_end(key)
        elif knows == "ever" and not left[user, key]:
            continue
        elif len(cache) == capacity:
            if knows == "lru":
                victim = next(iter(cache))
            elif knows == "belady":
                victim = max(cache, key=cache.__getitem__)
            elif knows == "often":
                victim = min(cache, key=lambda held: left[user, held])
            else:
                victim = next((held for held in cache if not left[user, held]), next(iter(cache)))
            if knows == "often" and left[user, victim] > left[user, key]:
                continue
            del cache[victim]
        cache[key] = following[index]
    return 100 * hits / (len(pairs) - warmup)


def share(part, lru, belady):
    """A hit ratio, with the share of the gap that it closes where there is one."""
    return f"{part:.1f} ({100 * (part - lru) / (belady - lru):.0f} %)" if belady > lru else f"{part:.1f} (–)"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("traces", nargs="+", help="CSV with the columns user and key, in order of time")
    options.add_argument("--limit", type=int, default=300_000)
    options = options.parse_args()
    print("| trace | objects | LRU | ever | often | Belady |\n|---|--:|--:|--:|--:|--:|")
    for path in options.traces:
        try:
            pairs = requests(path, options.limit)
        except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
            sys.exit(refusal(f"{path} cannot be read: {error}"))
        except (KeyError, TypeError):
            sys.exit(refusal(f"{path} lacks a column: 'user' and 'key' are wanted in its first line and every other"))
        if not pairs:
            sys.exit(refusal(f"{path} has no request with a user"))
        name = os.path.basename(path).split(".")[0]
        for capacity in (20, 60, 100):
            lru, ever, often, belady = (
                hit_ratio(pairs, capacity, len(pairs) // 4, knows) for knows in ("lru", "ever", "often", "belady"))
            known = " | ".join(share(part, lru, belady) for part in (ever, often))
            print(f"| {name} | {capacity} | {lru:.1f} | {known} | {belady:.1f} |", flush=True)


def refusal(sentence):
    """Says what is wrong with the data; the exit status for that."""
    print(sentence, file=sys.stderr)
    return 65


if __name__ == "__main__":
    main()
