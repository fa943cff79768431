"""Tables of the suite lists: which image of a list its user opens."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lab.comparison import Interval, compare, pairing
from lab.evidence.formats import PREFETCHING, device, points, precision, server, stored
from lab.tables import markdown

#: The arms of labels, and how tables name them.
ARMS = {
    "none": "no labels",
    "permuted": "permuted labels",
    "pooled": "what all users opened",
    "personal": "what this user opened",
    "both": "both",
}
#: What traces are called.
TRACES = {"news": "news", "hotels": "hotels", "feed": "short videos"}
#: The traces whose first requests got synthetic lists.
FIRST = {"taobao_users": "taobao_users", "completejourney": "completejourney"}
#: The baselines without a model, in the order of tables.
BASELINES = ("list-order", "list-random", "list-newest", "list-popular", "list-last-opened", "list-affinity")
#: What README says of each trace, and of how many fetched items.
ANSWER = {"news": ("news, 4 of a list", 4), "hotels": ("hotels, 8 of a list", 8), "feed": ("short videos, 1 of a list", 1)}
#: The columns in which two arms differ.
ARM = [*PREFETCHING, "label_control", "announce", "pretrain"]


def cells(folder: Path) -> pd.DataFrame:
    """The cells that prefetch on lists or not at all, with their arm and the number of objects that a list may fetch."""
    every = stored(folder).to_dict("records")
    return pd.DataFrame([{**cell, "arm": _arm(cell), "count": _count(cell)} for cell in every])


def _arm(cell: Mapping[Hashable, Any]) -> str | None:
    if pd.isna(cell["prefetch"]):
        return None
    if cell["prefetch"] != "lists":
        return str(cell["prefetch"])
    settings = json.loads(cell["prefetch_parameters"])
    if cell["knowledge"] == "device" and pd.isna(cell["pretrain"]):
        return "nothing" if settings.get("model") == "none" else "shipped"
    if not pd.isna(cell.get("announce")) and str(cell["announce"]).startswith("popular"):
        return "counts"
    if cell["label_control"] != "given":
        return "permuted"
    return "none" if settings["categories"] == "off" else str(settings["profile"])


def _count(cell: Mapping[Hashable, Any]) -> int:
    """The objects that a list may fetch; 0 without prefetching."""
    return 0 if pd.isna(cell["prefetch"]) else int(str(cell["prefetch_budget"]).removesuffix("/list"))


def _known(results: pd.DataFrame, knowledge: str) -> pd.DataFrame:
    return device(results) if knowledge == "device" else server(results)


def _gains(results: pd.DataFrame, first: str, second: str) -> dict[tuple[str, int], Interval]:
    found: dict[tuple[str, int], Interval] = {}
    for count in sorted(set(results["count"])):
        own = results[results["count"] == count]
        sides = [own[own["arm"] == name] for name in (first, second)]
        if any(side.empty for side in sides):
            continue
        (comparison,) = compare([pairing(sides[0], sides[1], compared=ARM)])
        found |= {(pair.trace, count): pair.interval for pair in comparison.pairs}
    return found


def contrast(folder: Path, knowledge: str, first: str, second: str) -> dict[tuple[str, int], Interval]:
    """What one arm gains over another, by trace and number of fetched items."""
    return _gains(_known(cells(folder), knowledge), first, second)


def labels_add(folder: Path) -> dict[tuple[str, str, int], Interval]:
    """What the given labels add over permuted ones, by knowledge, trace and number of fetched items."""
    found: dict[tuple[str, str, int], Interval] = {}
    for knowledge in ("device", "server"):
        gains = contrast(folder, knowledge, "both", "permuted")
        found |= {(knowledge, trace, count): interval for (trace, count), interval in gains.items()}
    return found


def arms(folder: Path, knowledge: str, names: Mapping[str, str] = TRACES) -> str:
    """The share of openings that are hits in each arm, and what labels add, by trace and number of fetched items."""
    results = _known(cells(folder), knowledge)
    ratios = results.groupby(["trace", "count", "arm"])["object_hit_ratio"].mean()
    means = {key: 100 * float(value) for key, value in ratios.items()}
    habit, label = _gains(results, "personal", "pooled"), _gains(results, "both", "permuted")
    rows = []
    for trace, name in names.items():
        for count in (1, 2, 4, 8):
            shares = [means.get((trace, count, arm)) for arm in ARMS]
            if all(share is None for share in shares):
                continue
            row = [name, str(count)] + ["–" if share is None else f"{share:.1f}" for share in shares]
            rows.append([*row, _points(label, trace, count), _points(habit, trace, count)])
    header = ["openings that are hits, %", "fetched of a list", *ARMS.values(), "both − permuted, points"]
    return markdown([*header, "this user − all users, points"], rows)


def _points(found: dict[tuple[str, int], Interval], trace: str, count: int) -> str:
    return points(found[trace, count]) if (trace, count) in found else "–"


def on_device(folder: Path) -> str:
    """The arms with device knowledge."""
    return arms(folder, "device")


def on_server(folder: Path) -> str:
    """The arms with server knowledge."""
    return arms(folder, "server")


def first_requests(folder: Path) -> str:
    """The arms of the synthetic lists before first requests, with device knowledge."""
    return arms(folder, "device", FIRST)


def baselines(folder: Path) -> str:
    """The ranker beside every order that needs no model, with what its fetches cost."""
    rows = []
    for knowledge in ("device", "server"):
        results = _known(cells(folder), knowledge)
        # A cache without prefetching sees its own user with either knowledge.
        plain = server(cells(folder))
        plain = plain[plain["prefetch"].isna()]
        over = {order: _gains(results, "both", order) for order in BASELINES}
        for trace, name in TRACES.items():
            for count in (1, 2, 4):
                own = results[(results["trace"] == trace) & (results["count"] == count)]
                row = [name, knowledge, str(count), _mean(plain[plain["trace"] == trace])]
                row += [_mean(own[own["arm"] == order]) for order in BASELINES]
                ours = own[own["arm"] == "both"]
                gains = [over[order][trace, count] for order in BASELINES if (trace, count) in over[order]]
                least = points(min(gains, key=lambda found: found.difference)) if gains else "–"
                rows.append([*row, _mean(ours), least, precision(ours), _fetched(ours), _wait(ours)])
    header = ["openings that are hits, %", "knowledge", "fetched of a list", "nothing fetched", *BASELINES, "lists"]
    return markdown([*header, "lists − the best order, points", "precision, %", "fetched for each opening", "mean wait, ms"], rows)


def _fetched(results: pd.DataFrame) -> str:
    """The objects that were prefetched for each opening."""
    return "–" if results.empty else f"{results['prefetched'].sum() / results['requests'].sum():.2f}"


def _wait(results: pd.DataFrame) -> str:
    """The mean time that an opening waits for its image, in milliseconds."""
    return "–" if results.empty else f"{float(results['latency_mean_ms'].mean()):.0f}"


def starts(folder: Path) -> str:
    """The ranker on a device by what it begins with."""
    results = device(cells(folder))
    rows = []
    for trace, name in TRACES.items():
        for count in (2, 4):
            own = results[(results["trace"] == trace) & (results["count"] == count)]
            arms = [_mean(own[own["arm"] == arm]) for arm in ("list-order", "nothing", "shipped", "both", "counts")]
            if "–" not in arms[1:3]:
                rows.append([name, str(count), *arms])
    header = ["openings that are hits, %", "fetched of a list", "list-order", "lists, from nothing", "lists, shipped model"]
    return markdown([*header, "lists, model of the same app", "the same, and a server's counts"], rows)


def _mean(results: pd.DataFrame) -> str:
    return "–" if results.empty else f"{100 * float(results['object_hit_ratio'].mean()):.1f}"
