"""Tables of claims, each from the suite that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lab.comparison import Comparison, compare
from lab.contrasts import against_others, excess
from lab.evidence import peers, visits
from lab.evidence.formats import points, signed, stored, stored_units
from lab.evidence.labels import CONTROLS, gains_of_labels
from lab.tables import markdown

#: The baselines that every comparison leads with.
BASELINES = ("lru", "s3-fifo", "w-tinylfu", "gdsf")


def claims(folder: Path) -> str:
    """The claims with the command that checks each, and the figure to expect."""
    apps = stored(folder.parent / "kingfisher")
    shop = apps[apps["trace"] == "shop"].groupby("label")["object_hit_ratio"].mean() * 100
    over = {str(name): own["excess"] for name, own in excess(stored(folder)).groupby("run")}
    best = int((over["learned"] <= 1e-9).sum())
    second = min((name for name in over if name != "learned"), key=lambda name: float(over[name].mean()))
    prefetching = stored(folder.parent / "prefetch")

    def hit_ratio(trace: str, latency: int | None) -> str:
        cells = prefetching[(prefetching["trace"] == trace) & (prefetching["mode"] == "per_user")]
        chosen = (
            cells[cells["prefetch"].isna()]
            if latency is None
            else cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == latency)]
        )
        return f"{100 * chosen['object_hit_ratio'].mean():.1f}"

    permuted, _ = gains_of_labels(folder.parent / "hypothesis")
    (grocery,) = permuted.of(trace="completejourney", mode="per_user", capacity="60").pairs
    frozen = stored(folder.parent / "confirmatory")
    frozen = frozen[(frozen["mode"] == "shared") & (frozen["warmup"] == 0)]
    sides = [frozen[frozen["label"] == name] for name in ("learned", "s3-fifo")]
    unseen = compare(sides[0], sides[1], stored_units(folder.parent / "confirmatory"))
    news, shopping = ("globo_news", "onlineretail")
    (between,) = visits.gained(folder.parent / "visits").of(trace=shopping).pairs
    rows = [
        [
            "An app's two tiers have the higher hit ratio under `learned` than under Kingfisher's policies (`shop`, bundled)",
            "`replay sweep Experiments/suites/kingfisher.yml --trace shop`, then `replay results results/kingfisher`", "10 s",
            f"{shop['learned']:.1f} and {shop['kingfisher']:.1f} %", "0",
        ],
        [
            f"`learned` has the lowest miss ratio of {len(over)} online policies, ties included, in most cells of a shared cache",
            "`make evidence`, which writes [the table](results.md#eviction-in-a-shared-cache)", "4 min", f"{best} of {len(over['learned'])} cells", "0",
        ],
        [
            f"Its mean excess over the best policy of each cell is the smallest; the next is that of {second}",
            "the same", "", f"{signed(over['learned'].mean())} and {signed(over[second].mean())} %", "0",
        ],
        [
            "Categories help in per-user caches of a grocer's customers (60 objects, over permuted labels)",
            "`replay sweep Experiments/suites/hypothesis.yml`, then `replay compare labels=given "
            f"'labels={CONTROLS[0]}' --results results/hypothesis --where trace=completejourney`", "3 min", f"{points(grocery.interval)} points", "the interval",
        ],
        [
            "Prefetching helps readers of news, and not customers of a wholesale shop, when a fetch takes 0.5 s",
            "`replay sweep Experiments/suites/prefetch.yml`, then `replay results results/prefetch`", "2 min",
            f"news {hit_ratio(news, None)} → {hit_ratio(news, 500_000)} %, "
            f"shop {hit_ratio(shopping, None)} → {hit_ratio(shopping, 500_000)} %", "0",
        ],
        [
            "Prefetching between visits has the higher hit ratio in a wholesale shop when a fetch takes 1 s (60 objects)",
            "`replay sweep Experiments/suites/visits.yml`, then `replay results results/visits`", "15 min",
            f"{100 * between.b.mean:.2f} → {100 * between.a.mean:.2f} %", "0",
        ],
        [
            "`learned` has the higher hit ratio than s3-fifo on four traces that nothing was chosen by "
            "([rules and results](confirmatory.md), result version 2)",
            "`make confirmatory`, then `replay compare learned s3-fifo --results Experiments/results/confirmatory`", "10 min",
            f"{points(unseen.over_traces()[0])} points", "that version only",
        ],
    ]  # fmt: skip
    return markdown(["claim", "command", "time", "expected", "tolerance"], rows)


def readme(folder: Path) -> str:
    """The claims of the README, each with its figure and where it is shown."""
    results, by_unit = once(stored(folder)), stored_units(folder)
    learned = results[results["label"] == "learned"]
    found = {name: compare(learned, results[results["label"] == name], by_unit) for name in BASELINES}
    means = {name: points(one.over_traces()[0]) for name, one in found.items()}
    over = against_others(stored(folder), "learned")["excess"]
    others = excess(stored(folder))["run"].nunique() - 1
    apps = stored(folder.parent / "kingfisher")
    tiers = apps[apps["trace"] != "shop"].groupby(["trace", "label"])["object_hit_ratio"].mean().unstack() * 100
    gained = tiers["learned"] - tiers["kingfisher"]
    permuted, _ = gains_of_labels(folder.parent / "hypothesis")
    significant = {pair.trace for pair, p in zip(permuted.pairs, permuted.adjusted) if p < 0.05 and pair.difference > 0}
    traces = {name.removesuffix("_objects") for name in permuted.traces}
    (grocery,) = permuted.of(trace="completejourney", mode="per_user", capacity="60").pairs
    prefetching = {pair.trace: pair for pair in visits.gained(folder.parent / "visits").pairs}

    found_equal = re.findall(r"(\d+) of (\d+)", peers.exact(folder.parent / "peers"))
    equal, counted = ([int(pair[place]) for pair in found_equal] for place in (0, 1))

    def change(trace: str) -> str:
        return f"{100 * prefetching[trace].b.mean:.1f} → {100 * prefetching[trace].a.mean:.1f} %"

    rows = [
        [
            "Prefetching at most two objects a request, when a fetch takes 1 s, in caches of 60 objects a user",
            f"news {change('globo_news')}, orders of a wholesale shop {change('onlineretail')}, a grocer's customers "
            f"{change('completejourney')}, albums {change('lastfm_albumart')}, views in a shop {change('taobao_users')}",
            "[results, with controls](Experiments/results.md#prefetching-between-visits)",
        ],
        [
            "`learned` has the higher hit ratio than the common baselines in a shared cache, in points",
            ", ".join(f"{name} {means[name]}" for name in BASELINES),
            "[results](Experiments/results.md#eviction-in-a-shared-cache)",
        ],
        [
            f"Its misses beside those of the best of {others} other policies *in each cell*",
            f"{signed(over.mean())} % on average, {signed(over.max())} % in the worst of {len(over)} cells",
            "[results](Experiments/tables.md)",
        ],
        [
            "In an app's two tiers it has the higher hit ratio than Kingfisher's policies",
            f"by {gained.min():.0f} to {gained.max():.0f} points",
            "[results](Experiments/results.md#an-apps-two-tiers)",
        ],
        [
            "Categories help it in per-user caches of a grocer's customers, over permuted labels",
            f"{points(grocery.interval)} points; significant on {len(significant)} of {len(traces)} traces",
            "[results](Experiments/results.md#do-categories-help)",
        ],
        [
            f"{len(found_equal)} policies have the misses of libCacheSim's release, cell by cell",
            f"{sum(equal)} of {sum(counted)} cells",
            "[peers](Experiments/peers.md)",
        ],
    ]
    return markdown(["claim", "figure", "where"], rows).replace(" --: |", " --- |")


def once(results: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells without those that repeat a trace with every size 1: a trace with sizes counts once."""
    names = set(results["trace"])
    return results[[not (name.endswith("_objects") and name[:-8] in names) for name in results["trace"].astype(str)]]


def intervals(folder: Path) -> str:
    """The mean differences over traces, with the interval for these traces and for a sample of traces."""
    rows = []

    def add(name: str, found: Comparison) -> None:
        within, over = found.over_traces()
        p_values = found.adjusted
        won = [pair.difference > 1e-12 for pair in found.pairs]
        lost = [pair.difference < -1e-12 for pair in found.pairs]
        significant = [p < 0.05 for p in p_values]
        sides = [f"{sum(side)} ({sum(map(min, side, significant))})" for side in (won, lost)]
        bounds = [f"{signed(100 * one.low, 2)} … {signed(100 * one.high, 2)}" for one in (within, over)]
        rows.append([name, str(len(found.traces)), signed(100 * within.difference, 2), *bounds, *sides])

    policies = folder.parent / "policies"
    results, by_unit = once(stored(policies)), stored_units(policies)
    learned = results[results["label"] == "learned"]
    for rival in ("lru", "s3-fifo", "gdsf"):
        add(f"`learned` − `{rival}`, shared cache", compare(learned, results[results["label"] == rival], by_unit))
    apps = folder.parent / "kingfisher"
    tiers = stored(apps)
    sides = [tiers[tiers["label"] == label] for label in ("learned", "kingfisher")]
    add("`learned` − Kingfisher, two tiers", compare(sides[0], sides[1], stored_units(apps), compared=["tiers"]))
    for mode, caches in (("per_user", "per-user caches"), ("shared", "shared cache")):
        prefetch = folder.parent / "prefetch"
        cells = stored(prefetch)
        cells = cells[cells["mode"] == mode]
        planner = cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == 500_000)]
        columns = ["prefetch", "prefetch_parameters", "prefetch_budget", "prefetch_latency_us"]
        found = compare(planner, cells[cells["prefetch"].isna()], stored_units(prefetch), compared=columns)
        add(f"prefetching at 0.5 s − none, {caches}", found)
    for found, words in zip(gains_of_labels(folder.parent / "hypothesis"), ("permuted labels", "one category")):
        for mode, caches in (("per_user", "per-user caches"), ("shared", "shared cache")):
            add(f"labels − {words}, {caches}", found.of(mode=mode))
    header = [
        "difference", "traces", "mean, points", "interval for these traces", "interval for a sample of traces",
        "cells won (significantly)", "lost",
    ]  # fmt: skip
    return markdown(header, rows)
