#!/usr/bin/env python3
"""Writes a trace in which only the category tells what comes back, and nothing comes back soon.

Objects of category `a` are asked for four times, so many requests apart on average (from half to one and a half times as
many, evenly); those of category `b` once. Where no object is due, a new one comes: of `a` with a probability of a fifth.

    python3 Experiments/returning.py > returning.csv
    replay returning.csv --policy learned --capacity 400,800 --warmup 0.25
"""

import argparse
import heapq
import random

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--gap", type=int, default=1_000, help="requests until an object comes back, on average")
parser.add_argument("--requests", type=int, default=60_000)
parser.add_argument("--seed", type=int, default=1_100)
options = parser.parse_args()

generator = random.Random(options.seed)
due = []
objects = 0


def comes_back(now, number, times):
    heapq.heappush(due, (now + int(options.gap * generator.uniform(0.5, 1.5)), number, times))


print("time,key,category,user")
for now in range(options.requests):
    if due and due[0][0] <= now:
        _, number, times = heapq.heappop(due)
        print(f"{now},a{number},a,u{number % 50}")
        if times > 1:
            comes_back(now, number, times - 1)
        continue
    objects += 1
    category = "a" if generator.random() < 0.2 else "b"
    print(f"{now},{category}{objects},{category},u{objects % 50}")
    if category == "a":
        comes_back(now, objects, 3)
