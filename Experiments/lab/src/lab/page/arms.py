"""Names what is compared: an arm is a policy with its labels and its prefetching, in a setting that arms share."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pandas as pd

from lab.contrasting import OFFLINE, run_of_cache
from lab.frames import warmup_name

#: The arms of one setting replayed the same requests under the same conditions, at the places (capacities) of it.
SETTING_KEY = ["trace", "fingerprint", "mode", "warmup", "result_version", "users_part", "conditions"]

#: The columns that the sections use; groups of a frame with fewer columns are made faster.
_COLUMNS = [
    "hash", "trace", "fingerprint", "mode", "policy", "run", "labels", "seed", "capacity", "capacity_size", "size_unit", "tiers",
    "knowledge", "trace_objects", "trace_distinct_size",
    "folder", "label_control", "prefetch", "prefetch_parameters", "prefetch_budget", "prefetch_latency_us", "announce", "pretrain", "restart", "warmup", "users_part",
    "result_version", "trace_requests", "requests", "hits", "size", "hit_size", "prefetched", "prefetches_used",
    "prefetches_late", "object_hit_ratio", "byte_hit_ratio", "requests_per_second",
]  # fmt: skip

#: The arms that the page shows before the reader chooses.
CORE = ("learned", "lru", "s3-fifo", "gdsf", "belady")

#: Hue, dash and marker of a policy: the same in every section and every page. The hues are numbers in the page's
#: palettes, which differ between light and dark.
_STYLES = {
    "learned": (0, "solid", "circle"),
    "lru": (1, "solid", "square"),
    "s3-fifo": (2, "solid", "diamond"),
    "gdsf": (3, "solid", "triangle-up"),
    "belady": (4, "dash", "star"),
    "fifo": (5, "solid", "x"),
    "kingfisher": (6, "solid", "triangle-down"),
    "lfu": (7, "solid", "pentagon"),
    "w-tinylfu": (8, "solid", "hexagon"),
    "sieve": (6, "dash", "circle"),
    "arc": (7, "dash", "square"),
    "lirs": (8, "dash", "diamond"),
    "2q": (0, "dash", "triangle-up"),
    "lru-k": (1, "dash", "triangle-down"),
    "slru": (2, "dash", "pentagon"),
    "clock": (3, "dash", "x"),
    "car": (6, "dot", "diamond"),
    "mq": (7, "dot", "circle"),
    "lfuda": (8, "dot", "square"),
    "lhd": (0, "dot", "pentagon"),
    "hyperbolic": (1, "dot", "x"),
    "lecar": (2, "dot", "triangle-up"),
    "cacheus": (3, "dot", "square"),
}
_HUES = (0, 1, 2, 3, 6, 7, 8)
_DASHES = ("dashdot", "longdash", "longdashdot", "dot", "dash")
_SYMBOLS = ("diamond", "square", "circle", "triangle-up", "triangle-down", "pentagon", "hexagon")


#: Who knew what, in the names of arms of per-user caches.
SERVER, DEVICE = "server knowledge", "device knowledge"


def latency_name(microseconds: float) -> str:
    """Returns a latency in words."""
    if microseconds == 0:
        return "ideal (zero latency)"
    return f"{microseconds / 1e6:g} s" if microseconds >= 100_000 else f"{microseconds / 1e3:g} ms"


def with_arms(results: pd.DataFrame) -> pd.DataFrame:
    """Returns the rows with their arm, its policy without labels and prefetching, the place and the key of the setting.

    The columns that an arm contains are set to one value, so that ``lab.differences`` pairs arms.
    """
    several, parameters = _several(results), _parameters(results)
    made = results[_COLUMNS].copy()
    made["capacity"] = results["capacity"].astype("string")
    caches = run_of_cache(results)
    rows = zip(results.to_dict("records"), caches, parameters)
    arms = [_arm(row, str(cache), several, settings) for row, cache, settings in rows]
    made["policy_run"] = pd.Series([str(run) for run in caches], index=results.index, dtype="string")
    made["run"] = pd.Series(arms, index=results.index, dtype="string")
    made["control"], made["fetcher"] = results["label_control"], results["prefetch"]
    made["latency_us"] = results["prefetch_latency_us"]
    made["label_control"] = "given"
    for column in ("prefetch", "prefetch_parameters", "prefetch_budget", "prefetch_latency_us", "announce", "restart"):
        made[column] = pd.NA
    tiers = [None if pd.isna(text) else json.loads(str(text)) for text in results["tiers"]]
    sizes = pd.Series([_sizes(each) for each in tiers], index=results.index, dtype="string")
    made["conditions"] = pd.Series([_conditions(each) for each in tiers], index=results.index, dtype="string")
    made["tiers"] = sizes.str.cat(made["conditions"], sep=", ")
    made["place"] = made["capacity"].fillna(sizes)
    made["is_uniform"] = (results["size_unit"] != "bytes") | (results["trace_distinct_size"] == results["trace_objects"])
    made["is_uniform"] = made["is_uniform"].fillna(False).astype("bool")
    made["is_plain"] = (results["label_control"] == "given") & results["prefetch"].isna()
    return made


def styles(arms: list[str]) -> list[dict[str, Any]]:
    """Returns name, hue, dash and marker of each arm, whether it is shown first and whether it is offline.

    Policies that are not known by name take the remaining styles in the order of their names.
    """
    rows, others = [], 0
    for name in arms:
        base = name.removesuffix(f", {SERVER}")
        if base in _STYLES:
            hue, dash, symbol = _STYLES[base]
        else:
            hue, dash = _HUES[others % len(_HUES)], _DASHES[(others // len(_HUES)) % len(_DASHES)]
            symbol = _SYMBOLS[(others + others // len(_HUES)) % len(_SYMBOLS)]
            others += 1
        core, offline = base in CORE, base in OFFLINE
        rows.append({"name": name, "hue": hue, "dash": dash, "symbol": symbol, "core": core, "offline": offline})
    return rows


def setting_names(settings: pd.DataFrame) -> list[str]:
    """Returns a name for each setting: what tells it from the others of the same trace and mode."""
    names = []
    for _, row in settings.iterrows():
        same = settings[(settings["trace"] == row["trace"]) & (settings["mode"] == row["mode"])]
        parts = [f"{int(row['trace_requests']):,} requests" if not pd.isna(row["trace_requests"]) else "all requests"]
        parts.append(warmup_name(row["warmup"]))
        if row["conditions"]:
            parts.append("two tiers")
        if not pd.isna(row["users_part"]):
            parts.append(f"users {row['users_part']}")
        if same["result_version"].nunique() > 1:
            parts.append(f"result version {row['result_version']}")
        alike = same[(same["trace_requests"] == row["trace_requests"]) & (same["warmup"] == row["warmup"])]
        if alike["fingerprint"].nunique() > 1:
            parts.append(f"fingerprint {row['fingerprint']}")
        if row["conditions"] and alike["conditions"].nunique() > 2:
            parts.append(str(row["conditions"]))
        names.append(", ".join(parts))
    return names


def _several(results: pd.DataFrame) -> bool:
    """Returns whether an arm must mention its budget, because budgets of a prefetch policy differ."""
    fetching = results[results["prefetch"].notna()]
    return bool((fetching.groupby("prefetch")["prefetch_budget"].nunique() > 1).any())


def _parameters(results: pd.DataFrame) -> list[str]:
    """Returns the parameters of each row's prefetch policy that are not those of most cells of it, as ``(name=value)``."""
    rows = [
        (str(policy), {} if pd.isna(text) else dict(json.loads(str(text))))
        for policy, text in zip(results["prefetch"], results["prefetch_parameters"])
    ]
    names: dict[str, list[str]] = {}
    for policy, own in rows:
        names[policy] = sorted({*names.get(policy, ()), *own})
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for policy, own in rows:
        for name in names[policy]:
            found[policy, name][own.get(name, "–")] += 1
    usual = {key: max(sorted(counts), key=lambda value: counts[value]) for key, counts in found.items()}
    shown = []
    for policy, own in rows:
        values = {name: own.get(name, "–") for name in names[policy]}
        parts = [f"{name}={value}" for name, value in values.items() if value != usual[policy, name]]
        shown.append(f"({','.join(parts)})" if parts else "")
    return shown


def _arm(row: dict[Any, Any], cache: str, several: bool, parameters: str) -> str:
    """Returns the name of an arm. ``cache`` is its run without the knowledge of a planner."""
    name = cache
    if row["label_control"] != "given":
        name += f", labels {row['label_control']}"
    if not pd.isna(row["prefetch"]):
        name += f", prefetch {row['prefetch']}{parameters}, {latency_name(float(row['prefetch_latency_us']))}"
        if several:
            name += f", {row['prefetch_budget']}"
        if not pd.isna(row["knowledge"]) and SERVER not in name and DEVICE not in name:
            name += f", {row['knowledge']} knowledge"
        if not pd.isna(row["announce"]):
            name += f", announced {row['announce']}"
    if not pd.isna(row["pretrain"]):
        name += f", trained on {row['pretrain']}"
    if not pd.isna(row["restart"]):
        name += f", restart {row['restart']}"
    return name


def _sizes(tiers: dict[str, Any] | None) -> str | None:
    if tiers is None:
        return None
    return ", ".join(f"{name} {tiers[name]}" for name in ("memory", "disk") if name in tiers)


def _conditions(tiers: dict[str, Any] | None) -> str:
    """Returns the conditions of two tiers besides their sizes and their policies, which are part of the arm."""
    others = sorted(set(tiers or ()) - {"memory", "disk", "memory_policy", "disk_policy"})
    return ", ".join(["two tiers"] * (tiers is not None) + [f"{name.replace('_', ' ')} {(tiers or {})[name]}" for name in others])
