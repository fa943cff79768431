#!/usr/bin/env python3
"""Makes the traces of the confirmatory suite from public repositories, and runs the suite.

    python3 Experiments/confirmatory.py --replay .build/release/replay

Clones the repositories that confirmatory.md names (0.7 GB) at the commits stated there, writes a trace of each, and runs the cells
that are not stored. What is there already is used again. Needs git and a network, or --clones.
"""

import argparse
import csv
import os
import pathlib
import re
import subprocess
import sys

from held_out import git

HERE = pathlib.Path(__file__).resolve().parent
ROW = re.compile(r"^\| git_(\w+) \| github\.com/(\S+) \| ([0-9a-f]{40}) \|$", re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", default="replay", help="the command (default: replay)")
    parser.add_argument("--folder", type=pathlib.Path, default=HERE.parent / ".build/confirmatory", help="for clones and traces")
    parser.add_argument("--clones", type=pathlib.Path, help="a folder with clones of the repositories, by their last names")
    parser.add_argument("--traces-only", action="store_true", help="do not run the suite")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results/confirmatory", help="for the results")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, repository, commit in ROW.findall((HERE / "confirmatory.md").read_text(encoding="utf-8")):
        trace = options.folder / f"git_{name}.csv"
        if not trace.exists():
            write(trace, clone_of(name, repository, options), commit)
    if options.traces_only:
        return 0
    environment = {**os.environ, "HALCYON_CONFIRMATORY": str(options.folder.resolve())}
    command = [options.replay, "sweep", str(HERE / "suites/confirmatory.yml"), "--results", str(options.results)]
    return subprocess.run(command, env=environment).returncode


def clone_of(name, repository, options):
    """Returns the folder of a clone, which is made if there is none."""
    if options.clones:
        return options.clones / name
    clone = options.folder / f"{name}.git"
    if not clone.exists():
        part = clone.with_suffix(".part")
        subprocess.run(["rm", "-rf", str(part)], check=True)
        print(f"cloning {repository}", file=sys.stderr)
        subprocess.run(["git", "clone", "--quiet", "--bare", f"https://github.com/{repository}", str(part)], check=True)
        part.rename(clone)
    return clone


def write(trace, clone, commit):
    """Writes the trace of a history beside its place, and renames it."""
    rows = sorted(git(clone, commit), key=lambda row: row[0])
    part = trace.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["time", "key", "size", "category", "user"])
        writer.writerows(rows)
    part.rename(trace)
    print(f"{trace.name}: {len(rows):,} requests", file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"confirmatory: {error}")
