"""Trains the models that the package ships, on synthetic users alone.

    swift build -c release --product replay
    python3 Experiments/shipped_model.py --output Sources/HalcyonLearning/Resources/device.safetensors

    python3 Experiments/shipped_model.py --lists --output Sources/HalcyonPrefetch/Resources/lists.safetensors

The first is that of the policy `learned`, the second that of the planner on lists.

It generates traces of the model `shop`, with --lists of the model `lists`, whose parameters are drawn at random between wide limits, so that the users of a
real app are somewhere between them, and trains one model on all of their users, each seen alone (`replay pretrain`). The
labels of two in five traces say nothing, because those of some apps do. The same options give the same file.

No real trace is read: what is measured on any of them is measured on users that the model has not seen.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

POLICY = "learned(workload=on,time=off)"
"""Times of synthetic traces mean little, so the model does not see them."""


def parameters(draw: random.Random) -> dict[str, float | int]:
    """The parameters of one trace. Ranges over orders of magnitude are drawn evenly by their logarithm."""

    def between(least: float, most: float, digits: int = 3) -> float:
        return round(draw.uniform(least, most), digits)

    def scale(least: float, most: float) -> float:
        return math.exp(draw.uniform(math.log(least), math.log(most)))

    return {
        "users": int(scale(40, 400)),
        "requests": int(scale(20_000, 60_000)),
        "repeat-share": between(0.05, 0.75),
        "memory": int(scale(4, 200)),
        "stay": between(0.2, 0.9),
        "preference": between(0.3, 1),
        "categories": int(scale(6, 100)),
        "objects-per-category": int(scale(20, 800)),
        "popularity-alpha": between(0.4, 1.2),
        "session-length": int(scale(3, 40)),
        "arrivals": round(scale(0.0005, 0.1), 4),
        "one-hit-share": between(0, 0.3),
        "preference-drift": between(0, 0.3),
        "category-signal": draw.choice([0, 0, 0.2, 0.5, 1]),
        "related": between(0, 0.8),
        "user-alpha": between(0, 1),
        "favourites": draw.randint(1, 8),
        "category-alpha": between(0.2, 1),
        "requests-per-second": round(scale(0.001, 0.5), 4),
        "concurrent-sessions": int(scale(2, 20)),
    }


def list_parameters(draw: random.Random) -> dict[str, float | int]:
    """The parameters of one trace of lists."""

    def scale(least: float, most: float) -> float:
        return math.exp(draw.uniform(math.log(least), math.log(most)))

    catalogue = int(scale(60, 2_000))
    return {
        "lists": int(scale(2_000, 12_000)),
        "list-length": int(scale(4, min(40, catalogue / 2))),
        "users": int(scale(40, 400)),
        "catalogue": catalogue,
        "arrivals": round(scale(0.01, 2), 3),
        "categories": int(scale(4, 60)),
        "category-signal": draw.choice([0, 0.5, 1, 1]),
        "favourites": draw.randint(1, 4),
        "taste": round(draw.uniform(0, 3), 2),
        "quality": round(draw.uniform(0, 1.5), 2),
        "position-bias": round(draw.choice([0, draw.uniform(0, 1.2)]), 2),
        "fatigue": round(draw.uniform(0.3, 1), 2),
        "reopening": round(draw.uniform(0.02, 1), 2),
        "open-share": round(draw.uniform(0.3, 1), 2),
        "interval": int(scale(5, 600)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True, help="the file of the model")
    parser.add_argument("--replay", default=".build/release/replay", help="the command")
    parser.add_argument("--traces", type=int, default=144, help="the number of traces (default: 144)")
    parser.add_argument("--steps", type=int, default=150_000, help="the training steps (default: 150000)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the parameters (default: 1)")
    parser.add_argument("--policy", default=POLICY, help=f"the policy (default: {POLICY})")
    parser.add_argument("--lists", action="store_true", help="train the planner on lists")
    options = parser.parse_args()
    kind, drawn = ("lists", list_parameters) if options.lists else ("shop", parameters)
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        paths: list[str] = []
        for number in range(options.traces):
            paths.append(str(Path(folder) / f"{number}.csv.gz"))
            settings = [part for name, value in drawn(draw).items() for part in ("--set", f"{name}={value}")]
            generate = [options.replay, "generate", kind, "--seed", str(1_000 * options.seed + number), *settings]
            subprocess.run([*generate, "--output", paths[-1]], check=True, stderr=subprocess.DEVNULL)
        if options.lists:
            ranks = ["--prefetch", "lists(list-price=0)", "--prefetch-budget", "4/list", "--capacity", "20"]
            return subprocess.run([options.replay, "pretrain", *paths, *ranks, "--output", options.output]).returncode
        train = [options.replay, "pretrain", *paths, "--policy", options.policy, "--steps", str(options.steps)]
        return subprocess.run([*train, "--capacity", "20,60,100", "--output", options.output]).returncode


if __name__ == "__main__":
    sys.exit(main())
