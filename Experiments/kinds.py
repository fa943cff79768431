"""When do categories pay for eviction? Runs the suite kinds on synthetic traces, whose truth is known.

    swift build -c release --product replay
    python3 Experiments/kinds.py

It generates a trace for each factor R by which the rates of reuse of the four kinds of images differ, and runs what is missing of
`Experiments/suites/kinds.yml` into `Experiments/results/kinds`. `python -m lab evidence` writes the table of it. The same options
give the same results.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FACTORS = (1, 2, 4, 8, 16, 32)
"""The factors R of the suite."""
USERS, REQUESTS = 40, 60_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", default=".build/release/replay", help="the command")
    parser.add_argument("--results", default="Experiments/results/kinds", help="the folder of results")
    options = parser.parse_args()
    suite = Path(__file__).parent / "suites" / "kinds.yml"
    with tempfile.TemporaryDirectory() as folder:
        for factor in FACTORS:
            settings = [f"reuse-ratio={factor}", f"users={USERS}", f"requests={REQUESTS}", "size-spread=-1", "reuse=0.3"]
            generate = [options.replay, "generate", "kinds", "--seed", "1", "--output", f"{folder}/reuse-{factor}.csv.gz"]
            generate += [part for setting in settings for part in ("--set", setting)]
            subprocess.run(generate, check=True, stderr=subprocess.DEVNULL)
        sweep = [options.replay, "sweep", str(suite), "--results", options.results]
        return subprocess.run(sweep, env={**os.environ, "HALCYON_KINDS": folder}).returncode


if __name__ == "__main__":
    sys.exit(main())
