"""Tables of claims, each from the suite that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lab.comparison import Pairing, compare, pairing
from lab.contrasts import against_others, excess
from lab.evidence import peers, visits
from lab.evidence.formats import PREFETCHING, points, signed, stored
from lab.evidence.labels import CONTROLS, pairs_of_labels
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

    frozen = stored(folder.parent / "confirmatory")
    frozen = frozen[(frozen["mode"] == "shared") & (frozen["warmup"] == 0)]
    sides = [frozen[frozen["label"] == name] for name in ("learned", "s3-fifo")]
    labels, _ = pairs_of_labels(folder.parent / "hypothesis")
    permuted, unseen = compare([labels, pairing(sides[0], sides[1])])
    (grocery,) = permuted.of(trace="completejourney", mode="per_user", capacity="60")
    news, shopping = ("globo_news", "onlineretail")
    (between,) = visits.gained(folder.parent / "visits").of(trace=shopping)
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
            f"{100 * between.b:.2f} → {100 * between.a:.2f} %", "0",
        ],
        [
            "`learned` has the higher hit ratio than s3-fifo on four traces that nothing was chosen by "
            "([rules and results](confirmatory.md), result version 2)",
            "`make confirmatory`, then `replay compare learned s3-fifo --results Experiments/results/confirmatory`", "10 min",
            f"{points(unseen.these)} points", "that version only",
        ],
    ]  # fmt: skip
    return markdown(["claim", "command", "time", "expected", "tolerance"], rows)


def readme(folder: Path) -> str:
    """The claims of the README, each with its figure and where it is shown."""
    results = once(stored(folder))
    learned = results[results["label"] == "learned"]
    labels, _ = pairs_of_labels(folder.parent / "hypothesis")
    permuted, *found = compare([labels, *(pairing(learned, results[results["label"] == name]) for name in BASELINES)])
    means = {name: points(one.these) for name, one in zip(BASELINES, found)}
    over = against_others(stored(folder), "learned")["excess"]
    others = excess(stored(folder))["run"].nunique() - 1
    apps = stored(folder.parent / "kingfisher")
    tiers = apps[apps["trace"] != "shop"].groupby(["trace", "label"])["object_hit_ratio"].mean().unstack() * 100
    gained = tiers["learned"] - tiers["kingfisher"]
    significant = {pair.trace for pair in permuted.pairs if pair.adjusted < 0.05 and pair.difference > 0}
    traces = {name.removesuffix("_objects") for name in permuted.traces}
    (grocery,) = permuted.of(trace="completejourney", mode="per_user", capacity="60")
    prefetching = {pair.trace: pair for pair in visits.gained(folder.parent / "visits").pairs}

    found_equal = re.findall(r"(\d+) of (\d+)", peers.exact(folder.parent / "peers"))
    equal, counted = ([int(pair[place]) for pair in found_equal] for place in (0, 1))

    def change(trace: str) -> str:
        return f"{100 * prefetching[trace].b:.1f} → {100 * prefetching[trace].a:.1f} %"

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
    asked: list[tuple[str, Pairing]] = []
    results = once(stored(folder.parent / "policies"))
    learned = results[results["label"] == "learned"]
    for rival in ("lru", "s3-fifo", "gdsf"):
        asked.append((f"`learned` − `{rival}`, shared cache", pairing(learned, results[results["label"] == rival])))
    tiers = stored(folder.parent / "kingfisher")
    sides = [tiers[tiers["label"] == label] for label in ("learned", "kingfisher")]
    asked.append(("`learned` − Kingfisher, two tiers", pairing(sides[0], sides[1], compared=["tiers"])))
    prefetch = stored(folder.parent / "prefetch")
    for mode, caches in (("per_user", "per-user caches"), ("shared", "shared cache")):
        cells = prefetch[prefetch["mode"] == mode]
        planner = cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == 500_000)]
        found = pairing(planner, cells[cells["prefetch"].isna()], compared=PREFETCHING)
        asked.append((f"prefetching at 0.5 s − none, {caches}", found))
    for found, words in zip(pairs_of_labels(folder.parent / "hypothesis"), ("permuted labels", "one category")):
        for mode, caches in (("per_user", "per-user caches"), ("shared", "shared cache")):
            asked.append((f"labels − {words}, {caches}", found.of(mode=mode)))
    rows = []
    for (name, _), one in zip(asked, compare(pairs for _, pairs in asked)):
        won = [pair.difference > 1e-12 for pair in one.pairs]
        lost = [pair.difference < -1e-12 for pair in one.pairs]
        significant = [pair.adjusted < 0.05 for pair in one.pairs]
        counts = [f"{sum(side)} ({sum(map(min, side, significant))})" for side in (won, lost)]
        bounds = [f"{signed(100 * each.low, 2)} … {signed(100 * each.high, 2)}" for each in (one.these, one.sample)]
        rows.append([name, str(len(one.traces)), signed(100 * one.these.difference, 2), *bounds, *counts])
    header = [
        "difference", "traces", "mean, points", "interval for these traces", "interval for a sample of traces",
        "cells won (significantly)", "lost",
    ]  # fmt: skip
    return markdown(header, rows)
