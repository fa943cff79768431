"""Does `replay hypothesis` claim what is so, and nothing else? Asked of synthetic traces whose truth is known.

    make acceptance               # 20 seeds, some 30 minutes of one core
    python3 Experiments/acceptance.py --replay .build/release/replay --seeds 2 --requests 30000

For each seed three traces are generated. In `informative`, categories contain all that drives the accesses: every cell (mode
and capacity) must be supported, at every seed. In `uninformative`, they contain nothing: a seed at which a gain is shown in
any cell ("supported" or "too small to matter") is a false claim, and one seed in twenty may be one. In `harmless`, a shared
cache of variable sizes, categories say who requests an object and not whether it is requested again. There they must not cost
more than 0.1 points on average over the seeds, over permuted labels and over one category. The first two are asked of the
learner without `shadows`: where it follows another policy, which sees no categories, they cannot matter, and what is there
to be found is smaller. The harmless trace is asked of the default learner. Prints Markdown as it goes; exits
with 1 if this is missed. Named the wrong way round (`--informative uninformative --uninformative informative`)
it must be missed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


# The verdicts that claim a gain.
SHOWN = ["supported", "too small to matter"]
# What categories may cost in the harmless trace, as a difference of hit ratios; and the cache of that trace.
MOST_HARM = 0.001
HARMLESS_CACHE = ["--per", "shared", "--capacity", "1%"]
# The learner of the other traces.
LEARNER = "learned(shadows=off)"


def command(arguments):
    """Standard output of a command; its own sentence and exit code if it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        sys.exit(done.returncode if done.returncode > 0 else 1)
    return done.stdout


def learner_and_caches(options):
    """The learner and the caches of the other traces."""
    arguments = ["--learner", options.learner, "--per", options.per]
    if options.per != "user":
        arguments += ["--capacity", options.capacity]
    if options.per != "shared":
        arguments += ["--user-capacity", options.user_capacity, "--knowledge", "server"]
    return arguments


def verdicts(options, model, seed, folder, setting):
    """The cells that the test found in one generated trace, and the seconds it took."""
    trace = str(folder / f"{model}-{seed}.csv")
    command([options.replay, "generate", model, "--seed", str(seed), "--set", f"requests={options.requests}", "--output", trace])
    arguments = [options.replay, "hypothesis", trace, "--format", "json", *setting]
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

    ways = {way["permute"]: way for way in cell["permutations"]}
    uniform = points(ways["uniform"]["contrast"]) if "uniform" in ways else "–"
    headline = cell["permutation"]
    return (f"{cell['verdict']} | {points(cell['with_minus_permuted'])} | {headline['permutations']} "
            f"| {headline['adjusted_p_value']:.2f} | {uniform} | {points(cell['with_minus_without'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replay", default=".build/release/replay", help="the built command")
    parser.add_argument("--seeds", type=int, default=20, help="how many seeds")
    parser.add_argument("--first-seed", type=int, default=1, help="the first of them")
    parser.add_argument("--requests", type=int, default=100_000, help="requests of each trace; by default 100,000")
    parser.add_argument("--informative", default="informative", help="the preset whose categories tell much")
    parser.add_argument("--uninformative", default="uninformative", help="the preset whose categories tell nothing")
    parser.add_argument("--harmless", default="harmless", help="the preset in which categories could do harm")
    parser.add_argument("--learner", default=LEARNER, help=f"the learner of the first two traces; by default {LEARNER}")
    parser.add_argument("--per", choices=["shared", "user", "both"], default="both", help="which caches")
    parser.add_argument("--capacity", default="5%", help="capacities of the shared cache")
    parser.add_argument("--user-capacity", default="20", help="capacities of each user's cache")
    parser.add_argument("--permutations", help="permutations of the labels; by default the command's 19..199")
    parser.add_argument("--threads", type=int, help="how many runs go on at once; by default one a core")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds: give at least 1")
    allowed = options.seeds // 20
    began, found, false_claims = time.perf_counter(), 0, 0
    # The differences of each seed of the harmless trace.
    gains = {"with_minus_permuted": [], "with_minus_without": []}

    print("| trace | seed | mode | capacity | verdict | with − permuted within strata, points | permutations | p "
          "| with − permuted uniformly, points | with − without, points | s |")
    print("|---|--:|---|--:|---|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            for arm in ["informative", "uninformative", "harmless"]:
                model = getattr(options, arm)
                setting = HARMLESS_CACHE if arm == "harmless" else learner_and_caches(options)
                cells, seconds = verdicts(options, model, seed, pathlib.Path(folder), setting)
                found += arm == "informative" and all(cell["verdict"] == "supported" for cell in cells)
                false_claims += arm == "uninformative" and any(cell["verdict"] in SHOWN for cell in cells)
                for cell in cells:
                    if arm == "harmless":
                        for name, values in gains.items():
                            values.append(cell[name]["difference"])
                    print(f"| {model} | {seed} | {cell['mode']} | {cell['capacity_asked']} | {described(cell)} "
                          f"| {seconds:.0f} |", flush=True)

    means = {name: sum(values) / len(values) for name, values in gains.items()}
    harmless = min(means.values()) >= -MOST_HARM
    passed = found == options.seeds and false_claims <= allowed and harmless
    print(f"\n{options.informative}: supported in every cell at {found} of {options.seeds} seeds, and must be at all. "
          f"{options.uninformative}: {false_claims} false claims at {options.seeds} seeds, and at most {allowed} may be. "
          f"{options.harmless}: categories give {100 * means['with_minus_permuted']:+.2f} points over permuted labels and "
          f"{100 * means['with_minus_without']:+.2f} over one category on average, and must give {-100 * MOST_HARM:+.2f}. "
          f"{'Passed' if passed else 'MISSED'}, in {(time.perf_counter() - began) / 60:.1f} minutes.")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
