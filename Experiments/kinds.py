"""When do categories pay for eviction? Runs the suite kinds on synthetic traces, whose truth is known.

    swift build -c release --product replay
    python3 Experiments/kinds.py

It generates a trace for each factor R by which the rates of reuse of the four kinds of images differ, and runs what is missing of
`Experiments/suites/kinds.yml` into `Experiments/results/kinds`. Where HALCYON_TRACES is set, it also measures that factor of the
real traces of `Experiments/suites/devices.yml`, as `replay inspect` prints it, into `real.json` beside the cells. `python -m lab
evidence` writes the tables of it. The same options give the same results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FACTORS = (1, 2, 4, 8, 16, 32)
"""The factors R of the suite."""
USERS, REQUESTS = 40, 60_000
REAL = ("completejourney", "onlineretail", "lastfm_albumart", "taobao_users", "wikispeedia_unfinished")
"""The real traces."""


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
        status = subprocess.run(sweep, env={**os.environ, "HALCYON_KINDS": folder}).returncode
    traces = os.environ.get("HALCYON_TRACES")
    if status == 0 and traces:
        measure(Path(traces), options.replay, Path(options.results) / "real.json")
    elif status == 0:
        print("kinds.py: HALCYON_TRACES is not set; the factors of real traces stay as they are.", file=sys.stderr)
    return status


def measure(traces: Path, replay: str, target: Path) -> None:
    """Writes the factor by which rates of reuse differ between the categories of each real trace; null where the lowest is 0."""
    ratios: dict[str, float | None] = {}
    for name in REAL:
        inspect = [replay, "inspect", str(traces / "categories" / f"{name}.csv.gz"), "--format", "json"]
        found = json.loads(subprocess.run(inspect, check=True, capture_output=True, text=True).stdout)
        ratio = found["categories"]["reuse"].get("ratio")
        ratios[name] = None if ratio is None else round(ratio, 3)
    beside = target.with_suffix(".json.new")
    beside.write_text(json.dumps(ratios, indent=1) + "\n", encoding="utf-8")
    beside.replace(target)


if __name__ == "__main__":
    sys.exit(main())
