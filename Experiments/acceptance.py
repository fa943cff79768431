"""Does `replay hypothesis` claim what is so, and nothing else? Asked of synthetic traces whose truth is known.

    make acceptance               # 20 seeds, some 20 minutes of one core
    python3 Experiments/acceptance.py --replay .build/release/replay --seeds 2 --requests 30000

For each seed two traces are generated. In `informative` categories tell all that drives the accesses: every cell (mode and
capacity) must be supported, at every seed. In `uninformative` they tell nothing: a seed at which any cell is supported is a
false claim, and one seed in twenty may be one. Prints Markdown as it goes; exits 1 when this is missed. Named the wrong way
round (`--informative uninformative --uninformative informative`) it must be missed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def command(arguments):
    """Standard output of a command; its own sentence and exit code if it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)
    return done.stdout


def verdicts(options, model, seed, folder):
    """The cells that the test found in one generated trace, and the seconds it took."""
    trace = str(folder / f"{model}-{seed}.csv")
    size = [] if options.requests is None else ["--set", f"requests={options.requests}"]
    command([options.replay, "generate", model, "--seed", str(seed), *size, "--output", trace])
    arguments = [options.replay, "hypothesis", trace, "--per", options.per, "--format", "json"]
    if options.per != "user":
        arguments += ["--capacity", options.capacity]
    if options.per != "shared":
        arguments += ["--user-capacity", options.device_capacity]
    for name in ["permutations", "threads"]:
        if getattr(options, name) is not None:
            arguments += [f"--{name}", str(getattr(options, name))]
    began = time.perf_counter()
    report = json.loads(command(arguments))
    pathlib.Path(trace).unlink()
    return report["results"], time.perf_counter() - began


def described(cell):
    """One cell of the table: the verdict, and both differences in points with the lower ends of their intervals."""
    def points(contrast):
        return f"{100 * contrast['difference']:+.2f} (≥ {100 * contrast['family_interval']['low']:+.2f})"

    return (f"{cell['verdict']} | {points(cell['with_minus_without'])} | {points(cell['with_minus_permuted'])} "
            f"| {cell['permutation']['adjusted_p_value']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replay", default=".build/release/replay", help="the built command")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds")
    parser.add_argument("--first-seed", type=int, default=1, help="the first of them")
    parser.add_argument("--requests", type=int, help="requests of each trace; by default the preset's 50,000")
    parser.add_argument("--informative", default="informative", help="the preset whose categories tell much")
    parser.add_argument("--uninformative", default="uninformative", help="the preset whose categories tell nothing")
    parser.add_argument("--per", choices=["shared", "user", "both"], default="both", help="which caches")
    parser.add_argument("--capacity", default="5%", help="capacities of the shared cache")
    parser.add_argument("--device-capacity", default="20", help="capacities of each user's cache")
    parser.add_argument("--permutations", type=int, help="permutations of the labels; by default the command's 19")
    parser.add_argument("--threads", type=int, help="how many runs go on at once; by default one a core")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds: give at least 1")
    allowed = options.seeds // 20
    began, found, false_claims = time.perf_counter(), 0, 0

    print("| trace | seed | mode | capacity | verdict | with − without, points | with − permuted, points | p | s |")
    print("|---|--:|---|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for model, tells in [(options.informative, True), (options.uninformative, False)]:
                cells, seconds = verdicts(options, model, seed, pathlib.Path(folder))
                supported = [cell["verdict"] == "supported" for cell in cells]
                found += tells and all(supported)
                false_claims += not tells and any(supported)
                for cell in cells:
                    print(f"| {model} | {seed} | {cell['mode']} | {cell['capacity_asked']} | {described(cell)} "
                          f"| {seconds:.0f} |", flush=True)

    passed = found == options.seeds and false_claims <= allowed
    print(f"\n{options.informative}: supported in every cell at {found} of {options.seeds} seeds, and must be at all. "
          f"{options.uninformative}: {false_claims} false claims at {options.seeds} seeds, and at most {allowed} may be. "
          f"{'Passed' if passed else 'MISSED'}, in {(time.perf_counter() - began) / 60:.1f} minutes.")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
