"""Tables of claims, each from the suite that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from lab.comparison import Pairing, compare, pairing
from lab.contrasting import against_others, excess, over_traces
from lab.evidence import apps, devices, lists, peers, visits
from lab.evidence.formats import (
    PREFETCHING, device, fetched, pairs_once, points, precision, server, signed, stored,
)  # fmt: skip
from lab.evidence.labels import CONTROLS, device_gains, pairs_of_labels
from lab.evidence.prefetch import SECOND
from lab.tables import markdown

#: The baselines that every comparison leads with.
BASELINES = ("lru", "s3-fifo", "w-tinylfu", "gdsf")


def claims(folder: Path) -> str:
    """The claims with the command that checks each, and the figure to expect."""
    shop, equal = (apps.hit_ratios(folder.parent / "kingfisher", lifetimes=has) for has in (False, True))
    over = {str(name): own.set_index("trace")["excess"] for name, own in excess(stored(folder)).groupby("run")}
    best = int((over["learned"] <= 1e-9).sum())
    means = {name: float(over_traces(own).mean()) for name, own in over.items()}
    second = min((name for name in means if name != "learned"), key=lambda name: means[name])
    prefetching = server(stored(folder.parent / "prefetch"))

    def hit_ratio(trace: str, latency: int | None) -> str:
        cells = prefetching[(prefetching["trace"] == trace) & (prefetching["mode"] == "per_user")]
        chosen = (
            cells[cells["prefetch"].isna()]
            if latency is None
            else cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == latency)]
        )
        return "–" if chosen.empty else f"{100 * chosen['object_hit_ratio'].mean():.1f}"

    frozen = stored(folder.parent / "confirmatory")
    version = int(frozen["result_version"].max())
    frozen = frozen[(frozen["mode"] == "shared") & (frozen["warmup"] == 0)]
    sides = [frozen[frozen["label"] == name] for name in ("learned", "s3-fifo")]
    labels, _ = pairs_of_labels(folder.parent / "hypothesis")
    permuted, unseen = compare([labels, pairing(sides[0], sides[1])])
    (grocery,) = permuted.of(trace="completejourney", mode="per_user", capacity="60")
    news, shopping = ("globo_news", "onlineretail")
    (between,) = visits.gained(folder.parent / "visits").of(trace=shopping)
    rows = [
        [
            "An app's two tiers have the higher hit ratio under `learned` than under Kingfisher's policies (`shop`, bundled); "
            "the first figure has the same lifetimes, the second none",
            "`replay sweep Experiments/suites/kingfisher.yml --trace shop`, then `replay results results/kingfisher`", "20 s",
            f"{_percent(equal, 'learned')}, {_percent(shop, 'learned')} and {_percent(shop, 'kingfisher')}", "0",
        ],
        [
            f"`learned` has the lowest miss ratio of {len(over)} online policies, ties included, in most cells of a shared cache",
            "`make evidence`, which writes [the table](results.md#eviction-in-a-shared-cache)", "4 min", f"{best} of {len(over['learned'])} cells", "0",
        ],
        [
            f"Its mean excess over the best policy of each cell is the smallest; the next is that of {second}",
            "the same", "", f"{signed(means['learned'])} and {signed(means[second])} %", "0",
        ],
        [
            "Categories help in per-user caches of a grocer's customers (60 objects, over permuted labels, server knowledge)",
            "`replay sweep Experiments/suites/hypothesis.yml`, then `replay compare labels=given "
            f"'labels={CONTROLS[0]}' --results results/hypothesis --where trace=completejourney`", "3 min", f"{points(grocery.interval)} points", "the interval",
        ],
        [
            "Prefetching within visits helps readers of news, and not customers of a wholesale shop, when a fetch takes 1 s "
            "(20 objects, under lru, server knowledge)",
            "`replay sweep Experiments/suites/prefetch.yml`, then `replay results results/prefetch`", "2 min",
            f"news {hit_ratio(news, None)} → {hit_ratio(news, SECOND)} %, "
            f"shop {hit_ratio(shopping, None)} → {hit_ratio(shopping, SECOND)} %", "0",
        ],
        [
            "Prefetching between visits has the higher hit ratio in a wholesale shop when a fetch takes 1 s (60 objects, "
            "server knowledge)",
            "`replay sweep Experiments/suites/visits.yml`, then `replay results results/visits`", "15 min",
            f"{100 * between.b:.2f} → {100 * between.a:.2f} %", "0",
        ],
        [
            "`learned` has the higher hit ratio than s3-fifo on four traces that nothing was chosen by "
            f"([rules and results](confirmatory.md), result version {version})",
            "`make confirmatory`, then `replay compare learned s3-fifo --results Experiments/results/confirmatory "
            f"--where result_version={version}`", "10 min",
            f"{points(unseen.these)} points", "0",
        ],
    ]  # fmt: skip
    return markdown(["claim", "command", "time", "expected", "tolerance"], rows)


def _percent(ratios: pd.DataFrame, name: str) -> str:
    ratio = ratios.get(name, pd.Series(dtype="float64")).get("shop", float("nan"))
    return "–" if pd.isna(ratio) else f"{ratio:.1f} %"


#: The traces of README's rows on prefetching, and what they are.
USERS = {
    "globo_news": "readers of news",
    "onlineretail": "orders of a wholesale shop",
    "completejourney": "a grocer's customers",
    "lastfm_albumart": "listeners to albums",
    "taobao_users": "views in a shop",
}


def readme(folder: Path) -> str:
    """The claims of the README, each with its figure and where it is shown."""
    rows = [
        *_devices(folder.parent / "devices"), *_tiers(folder.parent / "kingfisher"), *_prefetching(folder.parent / "visits"),
        *_eviction(folder),
    ]  # fmt: skip
    found_equal = re.findall(r"(\d+) of (\d+)", peers.exact(folder.parent / "peers"))
    equal, counted = ([int(pair[place]) for pair in found_equal] for place in (0, 1))
    rows += [
        [
            f"{len(found_equal)} policies have the misses of libCacheSim's release, cell by cell",
            "no users", f"{sum(equal)} of {sum(counted)} cells",
            "[peers](Experiments/peers.md)",
        ],
    ]  # fmt: skip
    header = ["claim", "on a device", "on a server", "where"]
    return markdown(header, rows).replace(" --: |", " --- |")


def answer(folder: Path) -> str:
    """The answer to the question, in three rows: what categories add on a device with lists, on one without, and on a server."""
    found = lists.labels_add(folder.parent / "lists")
    shown = {
        knowledge: "; ".join(
            f"{name}: {points(found[knowledge, trace, count])}"
            for trace, (name, count) in lists.ANSWER.items()
            if (knowledge, trace, count) in found
        )
        for knowledge in ("device", "server")
    }
    (permuted,) = compare(pairs_of_labels(folder.parent / "hypothesis")[:1])
    (grocery,) = permuted.of(trace="completejourney", mode="per_user", capacity="60")
    significant = {pair.trace for pair in permuted.pairs if pair.adjusted < 0.05 and pair.difference > 0}
    own = device_gains(folder.parent / "hypothesis")
    customers = "a grocer's customers, caches of 60"
    rows = [
        ["on a device, with lists that are shown", shown["device"], "[lists](Experiments/lists.md)"],
        [
            "on a device, without lists",
            f"{customers}: {points(own['completejourney'].interval)}" if "completejourney" in own else "–",
            "[knowledge](Experiments/knowledge.md)",
        ],
        [
            "on a server that sees all users",
            f"lists, {shown['server']}; without lists, {customers}: {points(grocery.interval)}, and beyond chance on "
            f"{len(significant)} of {len({name.removesuffix('_objects') for name in permuted.traces})} traces",
            "[lists](Experiments/lists.md), [results](Experiments/results.md#do-categories-help)",
        ],
    ]  # fmt: skip
    header = ["where the cache is", "what categories add to the hit ratio, over permuted labels, in points", "where it is shown"]
    return markdown(header, rows).replace(" --: |", " --- |")


def _devices(folder: Path) -> list[list[str]]:
    """The rows on eviction in caches of one user."""
    means = devices.hit_ratios(folder)
    shares = devices.closed(means.assign(best=devices.best_simple(means)))
    over = means[devices.SHIPPED] - devices.best_simple(means)
    (grocery,) = (means.loc[cell] for cell in means.index if cell == ("completejourney", "20"))
    where = "[knowledge](Experiments/knowledge.md)"
    return [
        [
            "`learned` in a cache of one user closes a share of the gap from LRU to the optimum (mean of "
            f"{len(means)} cells of 20, 60 and 100 objects; the best simple policy of each cell {shares['best']:.1f} %)",
            f"{shares[devices.SHIPPED]:.1f} % with the model that ships, {shares[devices.NOTHING]:.1f} % from nothing",
            f"{shares['server']:.1f} %", where,
        ],
        [
            "Its hit ratio beside that of the best simple policy in each cell, in points",
            f"{signed(over.min(), 2)} to {signed(over.max(), 2)}; a grocer's customers, 20 objects: "
            f"{grocery[devices.SHIPPED]:.1f} %, {grocery[list(devices.SIMPLE)].max():.1f} %",
            f"{signed((means['server'] - devices.best_simple(means)).min(), 2)} to "
            f"{signed((means['server'] - devices.best_simple(means)).max(), 2)}",
            where,
        ],
    ]  # fmt: skip


def _prefetching(folder: Path) -> list[list[str]]:
    """A row for each trace: what prefetching gains and what it fetches, with device and with server knowledge."""
    everyone, alone = visits.of_server(folder), visits.of_device(folder)
    rows: list[list[str]] = []
    for trace, users in USERS.items():
        figures = []
        for cells in (alone, everyone):
            own = cells[cells["trace"] == trace]
            plain, ours = visits.arm(own, None), visits.arm(own, visits.VISITS)
            if plain.empty or ours.empty:
                figures.append("–")
                continue
            ratios = [f"{100 * float(arm['object_hit_ratio'].mean()):.1f}" for arm in (plain, ours)]
            used = "nothing prefetched" if precision(ours) == "–" else f"{precision(ours)} % of the prefetched used"
            figures.append(f"{' → '.join(ratios)} %; fetched {fetched(plain):.2f} → {fetched(ours):.2f} a request, {used}")
        claim = f"the same, {users}"
        if not rows:
            claim = f"Prefetching when a fetch takes 1 s, in caches of 60 objects a user, {users}: hit ratio and price"
        rows.append([claim, *figures, "[results](Experiments/results.md#prefetching-between-visits)"])
    return rows


def _eviction(folder: Path) -> list[list[str]]:
    """The rows on one shared cache; a trace with sizes and with uniform sizes counts once."""
    results = stored(folder)
    learned = results[results["label"] == "learned"]
    found = compare(pairs_once(pairing(learned, results[results["label"] == name])) for name in BASELINES)
    cells = against_others(results, "learned")
    over = cells.set_index("trace")["excess"]
    worst = cells.sort_values("excess", ascending=False, kind="stable").iloc[0]
    others = excess(results)["run"].nunique() - 1
    return [
        [
            f"In a shared cache, `learned` has the higher hit ratio than the common baselines, in points (mean of {found[0].count} "
            "traces; the two forms of a trace, with and without sizes, count once as their mean)",
            "no users", ", ".join(f"{name} {points(one.these)}" for name, one in zip(BASELINES, found)),
            "[results](Experiments/results.md#eviction-in-a-shared-cache)",
        ],
        [
            f"In a shared cache, its misses beside those of the best of {others} other policies *in each cell*",
            "no users",
            f"{signed(float(over_traces(over).mean()))} % on average; {signed(over.max())} % in the worst of {len(over)} cells, "
            f"{worst['trace']} at {worst['capacity']}, which is no bound", "[results](Experiments/tables.md)",
        ],
    ]  # fmt: skip


def _tiers(folder: Path) -> list[list[str]]:
    """The row on an app's two tiers: with Kingfisher's lifetimes for all policies, and without lifetimes."""
    figures = []
    for mode in ("per_user", "shared"):
        equal, without = (
            apps.hit_ratios(folder, lifetimes=has, mode=mode).drop(index=["shop", "feed"], errors="ignore") for has in (True, False)
        )
        gains = [_over(equal, without, "learned"), _over(equal, without, "lru")]
        free = [_over(without, without, "learned"), _over(without, without, "lru")]
        figures.append(f"{', '.join(gains)}; without lifetimes for the others {', '.join(free)}")
        if mode == "shared" and "learned" in without:
            leads = (without["learned"] - without["kingfisher"]).sort_values()
            widest = str(leads.index[-1])
            figures[-1] += f" ({apps.expired(folder)[widest]:.2f} of the {float(leads.iloc[-1]):.2f} are expired entries)"
    return [
        [
            "In an app's two tiers, the hit ratio over Kingfisher's policies, in points, with Kingfisher's lifetimes for all: "
            "what is left is eviction",
            *figures, "[results](Experiments/results.md#an-apps-two-tiers)",
        ],
    ]  # fmt: skip


def _over(ratios: pd.DataFrame, without: pd.DataFrame, name: str) -> str:
    if name not in ratios or "kingfisher" not in without or ratios[name].isna().any():
        return "–"
    gains = ratios[name] - without["kingfisher"]
    return f"{name} {signed(gains.min(), 2)} to {signed(gains.max(), 2)}"


def intervals(folder: Path) -> str:
    """The mean differences over traces, with the interval for these traces and for a sample of traces."""
    asked: list[tuple[str, Pairing]] = []
    results = stored(folder.parent / "policies")
    learned = results[results["label"] == "learned"]
    for rival in BASELINES:
        asked.append((f"`learned` − `{rival}`, shared cache", pairs_once(pairing(learned, results[results["label"] == rival]))))
    tiers = apps.of_mode(folder.parent / "kingfisher")
    kingfisher = tiers[tiers["label"] == "kingfisher"]
    for words, has in (("the same lifetimes", True), ("no lifetimes", False)):
        for name in ("learned", "lru"):
            ours = apps.with_lifetimes(tiers[tiers["label"] == name], has)
            if not ours.empty:
                asked.append((f"`{name}` with {words} − Kingfisher, two tiers", pairing(ours, kingfisher, compared=["tiers"])))
    asked += _prefetching_pairs(stored(folder.parent / "prefetch"))
    for found, words in zip(pairs_of_labels(folder.parent / "hypothesis"), ("permuted labels", "one category")):
        for mode, caches in (("per_user", "per-user caches, server knowledge"), ("shared", "shared cache")):
            asked.append((f"labels − {words}, {caches}", found.of(mode=mode)))
    if device_gains(folder.parent / "hypothesis"):
        (found, *_) = pairs_of_labels(folder.parent / "hypothesis", device)
        asked.append(("labels − permuted labels, per-user caches of 60, device knowledge", found))
    rows = []
    for (name, _), one in zip(asked, compare(pairs for _, pairs in asked)):
        won = [pair.difference > 1e-12 for pair in one.pairs]
        lost = [pair.difference < -1e-12 for pair in one.pairs]
        significant = [pair.adjusted < 0.05 for pair in one.pairs]
        counts = [f"{sum(side)} ({sum(map(min, side, significant))})" for side in (won, lost)]
        bounds = [f"{signed(100 * each.low, 2)} … {signed(100 * each.high, 2)}" for each in (one.these, one.sample)]
        rows.append([name, str(one.count), signed(100 * one.these.difference, 2), *bounds, *counts])
    header = [
        "difference", "traces", "mean, points", "interval for these traces", "interval for a sample of traces",
        "cells won (significantly)", "lost",
    ]  # fmt: skip
    return markdown(header, rows)


def _prefetching_pairs(results: pd.DataFrame) -> list[tuple[str, Pairing]]:
    """Prefetching at a second and none, by caches; with the web logs, which carry the mean, and without."""
    asked = []
    for mode, caches in (("per_user", "per-user caches"), ("shared", "shared cache")):
        cells = results[results["mode"] == mode]
        plain = cells[cells["prefetch"].isna()]
        planner = cells[(cells["prefetch"] == "planner") & (cells["prefetch_latency_us"] == SECOND)]
        for words, arm in (("server knowledge", server(planner)), ("device knowledge", device(planner))):
            for which, chosen in (("", arm), (" without the web logs", arm[~arm["trace"].str.startswith("weblog_")])):
                if not chosen.empty:
                    name = f"prefetching at 1 s − none{which}, {caches}" + (f", {words}" if mode == "per_user" else "")
                    asked.append((name, pairing(chosen, plain, compared=PREFETCHING)))
    return asked
