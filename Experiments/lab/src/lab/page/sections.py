"""Computes what each section of the page shows. Ratios are in %, differences in points; None is a missing value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import stdtrit

from lab.cells import Cell
from lab.comparison import Arms, all_differences
from lab.contrasting import over_traces
from lab.page.arms import SERVER, SETTING_KEY, latency_name, setting_names, styles

Row = dict[str, Any]
Vector = npt.NDArray[np.float64]

#: The number of stored windows that one point of the time series averages: 128 windows give 16 points.
WINDOWS_PER_POINT = 8

_GROUP = [*SETTING_KEY, "place", "run"]
_PAIRED = ["trace", "fingerprint", "mode", "warmup", "result_version", "users_part", "capacity", "tiers", "run"]


def settings(frame: pd.DataFrame) -> tuple[list[Row], dict[tuple[Any, ...], int]]:
    """Returns the settings in the order of their traces, and the number of each key of ``SETTING_KEY``."""
    first = frame.drop_duplicates(SETTING_KEY).reset_index(drop=True)
    first["many"] = [-_arms_in(frame, row) for _, row in first.iterrows()]
    first = first.sort_values(["trace", "mode", "many"], key=_folded, kind="stable", ignore_index=True)
    first["mode_rank"] = (first["mode"] != "shared").astype(int)
    first = first.sort_values(["trace", "mode_rank"], key=_folded, kind="stable", ignore_index=True)
    rows, places = [], {}
    for place, ((_, row), name) in enumerate(zip(first.iterrows(), setting_names(first))):
        places[_key(row)] = place
        rows.append(
            {
                "trace": row["trace"], "mode": row["mode"], "name": name, "unit": _or(row["size_unit"], "objects"),
                "requests": _integer(row["requests"]), "fingerprint": row["fingerprint"],
            }
        )  # fmt: skip
    return rows, places


def _arms_in(frame: pd.DataFrame, row: "pd.Series[Any]") -> int:
    same = frame[(frame["fingerprint"] == row["fingerprint"]) & (frame["mode"] == row["mode"])]
    return int(same[(same["warmup"] == row["warmup"]) & (same["conditions"] == row["conditions"])]["run"].nunique())


def _folded(column: "pd.Series[Any]") -> "pd.Series[Any]":
    return column.str.lower() if isinstance(column.dtype, pd.StringDtype) else column


def groups(
    frame: pd.DataFrame, cells: Mapping[str, Cell], baseline: str, places: Mapping[Any, int]
) -> tuple[dict[str, list[Any]], list[Row]]:
    """Returns one row per setting, place and arm, as columns, and the arms with their styles.

    A row has the mean and the range over runs, the paired difference to the baseline with its 95 % interval, each for
    requests and (where sizes vary) bytes, and the time series.
    """
    paired = _paired(frame, baseline)
    grouped = [(key, group) for key, group in frame.groupby(_GROUP, dropna=False, sort=False)]
    arms = sorted({str(group["run"].iloc[0]) for _, group in grouped}, key=_rank)
    number = {name: place for place, name in enumerate(arms)}
    series = {_hashable(key): _hits(group, cells) for key, group in grouped}
    rows: list[Row] = []
    for key, group in grouped:
        first = group.iloc[0]
        row: Row = {
            "setting": places[_key(first)], "place": first["place"], "size": _integer(first["capacity_size"]),
            "arm": number[str(first["run"])], "runs": len(group), "plain": int(first["is_plain"]),
        }  # fmt: skip
        for measure in ("object", "byte"):
            has = measure == "object" or first["size_unit"] == "bytes"
            ratios = group[f"{measure}_hit_ratio"]
            row[measure] = [_percent(value) for value in (ratios.mean(), ratios.min(), ratios.max())] if has else None
            row[f"{measure}_difference"] = paired[measure].get(_hashable(first[name] for name in _PAIRED))
        base = series.get(_hashable((*key[:-1], baseline)))
        row["series"] = _points(series[_hashable(key)], None)
        row["series_difference"] = _points(series[_hashable(key)], base) if base is not None else None
        rows.append(row)
    rows.sort(key=lambda row: (row["setting"], row["size"] or 0, row["arm"]))
    names = list(rows[0]) if rows else []
    return {name: [row[name] for row in rows] for name in names}, styles(arms)


def _rank(name: str) -> tuple[int, str]:
    order = ("learned", f"learned, {SERVER}", "lru", "s3-fifo", "gdsf", "belady")
    return (order.index(name) if name in order else len(order), name)


def _paired(frame: pd.DataFrame, baseline: str) -> dict[str, dict[tuple[Any, ...], list[float | None]]]:
    """Returns difference, low and high in points, by measure and the columns of ``_PAIRED``."""
    arms = [Arms(frame, baseline), Arms(frame[frame["size_unit"] == "bytes"], baseline, measure="byte")]
    arms = [each for each in arms if baseline in set(each.results["run"])]
    rows: dict[str, dict[tuple[Any, ...], list[float | None]]] = {"object": {}, "byte": {}}
    for each, found in zip(arms, all_differences(arms)):
        for _, row in found.iterrows():
            key = _hashable(row[name] for name in _PAIRED)
            rows[each.measure][key] = [_percent(row[name]) for name in ("difference", "low", "high")]
    return rows


def _hits(group: pd.DataFrame, cells: Mapping[str, Cell]) -> tuple[Vector, Vector] | None:
    """Returns the hits by run and window, and the requests by window; None if windows are missing or differ."""
    found, sizes = [], set()
    for name in group["hash"]:
        document = cells[str(name)].document
        stored, requests = document.get("series"), document["counts"]["requests"]
        if not stored or "users" in cells[str(name)].identity:
            return None
        window, hits = stored["window"], stored["hits"]
        if window <= 0 or requests <= 0 or len(hits) != -(-requests // window):
            return None
        sizes.add((window, requests))
        found.append(hits)
    if len(sizes) != 1:
        return None
    window, requests = sizes.pop()
    lengths = np.full(len(found[0]), window, dtype=np.float64)
    lengths[-1] = requests - window * (len(lengths) - 1)
    return np.array(found, dtype=np.float64), lengths


def _points(arm: tuple[Vector, Vector] | None, base: tuple[Vector, Vector] | None) -> list[list[float | None]] | None:
    """Returns the ratios of the points of a time series, or their differences, and the half widths of 95 % intervals.

    The variance is that of a ratio of sums over the windows of a point, which are taken as independent, plus that of
    the runs' ratios; Student's quantile has Satterthwaite's degrees of freedom.
    """
    if arm is None or (base is not None and not np.array_equal(arm[1], base[1])):
        return None
    values, widths = [], []
    for start in range(0, len(arm[1]), WINDOWS_PER_POINT):
        part = slice(start, start + WINDOWS_PER_POINT)
        lengths = arm[1][part]
        total, count = float(lengths.sum()), len(lengths)
        sides = [arm[0][:, part]] + ([] if base is None else [base[0][:, part]])
        hits = sides[0].mean(axis=0) - (0 if base is None else sides[1].mean(axis=0))
        ratio = float(hits.sum()) / total
        parts = []
        if count > 1:
            residuals = hits - ratio * lengths
            parts.append((count / (count - 1) * float((residuals**2).sum()) / (total * total), count - 1))
        for side in sides:
            if len(side) > 1:
                parts.append((float((side.sum(axis=1) / total).var(ddof=1)) / len(side), len(side) - 1))
        values.append(_percent(ratio))
        widths.append(_percent(half_width(parts)) if parts else None)
    return [values, widths]


def half_width(parts: Sequence[tuple[float, float]]) -> float:
    """Returns half of a 95 % interval from variances with their degrees of freedom."""
    total = sum(variance for variance, _ in parts)
    if total <= 0:
        return 0.0
    degrees = total * total / sum(variance * variance / degrees for variance, degrees in parts)
    return float(stdtrit(degrees, 0.975)) * math.sqrt(total)


def gains(frame: pd.DataFrame, places: Mapping[Any, int]) -> list[Row]:
    """Returns the gain of the labels of the trace over each control, by policy, setting and place."""
    compared: dict[tuple[str, str], Arms] = {}
    plain = frame[frame["fetcher"].isna()]
    for policy, cells in plain.groupby("policy_run", sort=True):
        for control in sorted(set(cells["control"]) - {"given"}, key=lambda name: (name != "without", name)):
            arms = cells[cells["control"].isin(["given", control])].copy()
            if "given" not in set(arms["control"]):
                continue
            arms["run"] = arms["control"]
            compared[str(policy), control] = Arms(arms, control, ["given"])
    rows: list[Row] = []
    for ((policy, control), arm), found in zip(compared.items(), all_differences(list(compared.values()))):
        setting = _settings_of(arm.results, places)
        for _, row in found.iterrows():
            place, size, number = setting[_hashable(row[name] for name in _PAIRED[:-1])]
            rows.append(
                {
                    "policy": policy, "control": control, "setting": number, "place": place, "size": size,
                    "trace": row["trace"], "mode": row["mode"], "runs": int(row["runs"]),
                    **_interval(row),
                }
            )  # fmt: skip
    return sorted(rows, key=lambda row: (row["policy"], row["trace"].lower(), row["size"] or 0, row["control"]))


def _settings_of(frame: pd.DataFrame, places: Mapping[Any, int]) -> dict[tuple[Any, ...], tuple[str, int | None, int]]:
    first = frame.drop_duplicates(_PAIRED[:-1])
    return {
        _hashable(row[name] for name in _PAIRED[:-1]): (
            str(row["place"]), _integer(row["capacity_size"]), places[_key(row)]
        )
        for _, row in first.iterrows()
    }  # fmt: skip


def prefetching(frame: pd.DataFrame, places: Mapping[Any, int]) -> list[Row]:
    """Returns precision, coverage, traffic and gain of each prefetch policy over the same run without prefetching."""
    compared: dict[str, Arms] = {}
    given = frame[frame["control"] == "given"]
    for policy, cells in given.groupby("policy_run", sort=True):
        without = cells[cells["fetcher"].isna()]
        if not without.empty and cells["fetcher"].notna().any():
            compared[str(policy)] = Arms(cells, str(without["run"].iloc[0]))
    rows: list[Row] = []
    for (policy, arm), found in zip(compared.items(), all_differences(list(compared.values()))):
        cells, setting = arm.results, _settings_of(arm.results, places)
        without = cells[cells["fetcher"].isna()]
        keys = [name for name in _PAIRED if name != "run"]
        base = {_hashable(key): group for key, group in without.groupby(keys, dropna=False, sort=False)}
        arms = {
            _hashable(key): group
            for key, group in cells[cells["fetcher"].notna()].groupby(_PAIRED, dropna=False, sort=False)
        }
        for _, row in found.iterrows():
            key = _hashable(row[name] for name in _PAIRED)
            place, size, number = setting[key[:-1]]
            rows.append(
                {
                    "policy": policy, "setting": number, "place": place, "size": size, "trace": row["trace"],
                    "mode": row["mode"], "runs": int(row["runs"]), **_prefetched(arms[key], base[key[:-1]]),
                    **_interval(row),
                }
            )  # fmt: skip
    order = {"planner": 0}
    return sorted(
        rows, key=lambda row: (order.get(row["fetcher"], 1), row["fetcher"], row["latency"], row["trace"], row["size"] or 0)
    )


def _prefetched(arm: pd.DataFrame, without: pd.DataFrame) -> Row:
    first = arm.iloc[0]
    requests = arm["requests"].astype("float64")
    misses = float((without["requests"] - without["hits"]).astype("float64").mean())
    fetched = arm["prefetched"].astype("float64")
    late = arm["prefetches_late"].astype("float64").fillna(0)
    precision = (arm["prefetches_used"].astype("float64") / fetched).where(fetched > 0)
    avoided = misses - (arm["requests"] - arm["hits"]).astype("float64")
    coverage = avoided / misses if misses > 0 else avoided * math.nan
    traffic = ((arm["requests"] - arm["hits"]).astype("float64") + fetched - late) / requests
    return {
        "fetcher": first["fetcher"], "arm": first["run"], "latency": float(first["latency_us"]) / 1e6,
        "latency_name": latency_name(float(first["latency_us"])), "precision": _range(precision),
        "coverage": _range(coverage), "traffic": [_rounded(value) for value in (traffic.mean(), traffic.min(), traffic.max())],
        "traffic_without": _rounded(misses / float(without["requests"].astype("float64").mean())),
        "hit_ratio": _percent(arm["object_hit_ratio"].mean()),
        "hit_ratio_without": _percent(without["object_hit_ratio"].mean()),
    }  # fmt: skip


def worst_cases(frame: pd.DataFrame, suites: Mapping[str, Sequence[str]]) -> list[Row]:
    """Returns the miss ratios over those of FIFO in %, by suite, mode and policy: mean, percentiles and worst trace.

    The change of each cell is averaged over a trace's capacities; the percentiles are those of the traces. A trace
    with its sizes and with every size 1 counts once in mean and percentiles.
    """
    rows: list[Row] = []
    for (suite, mode), cells in _blocks(frame, suites):
        means = cells.groupby([*SETTING_KEY, "place", "run"], dropna=False)["object_hit_ratio"].mean()
        table = 1 - means.unstack("run")
        if "fifo" not in table.columns:
            continue
        compared = table[table["fifo"] > 0]
        over = 100 * (compared.div(compared["fifo"], axis=0) - 1)
        for policy in over.columns:
            by_trace = over[policy].dropna().groupby("trace").mean()
            once = over_traces(by_trace)
            if policy == "fifo" or by_trace.empty:
                continue
            rows.append(
                {
                    "suite": suite, "mode": mode, "arm": policy, "traces": len(once),
                    "mean": _rounded(once.mean()), "low": _rounded(once.quantile(0.1)),
                    "high": _rounded(once.quantile(0.9)), "worst": _rounded(by_trace.max()),
                    "worst_trace": str(by_trace.idxmax()),
                }
            )  # fmt: skip
    return sorted(rows, key=lambda row: (row["suite"], row["mode"] != "shared", row["mean"]))


def costs(frame: pd.DataFrame, suites: Mapping[str, Sequence[str]], baseline: str) -> list[Row]:
    """Returns microseconds a request and misses saved against the baseline per 1,000 requests.

    One row per suite, mode, policy and trace (means over capacities), and one for all traces. ``us`` has the fastest
    run of each cell, and the fastest and the slowest. Its runs are those of the seeds, and ``runs`` is the smallest
    number of them. ``saved`` has the 10th and 90th percentiles of the traces. ``uniform`` tells whether all sizes are
    equal: an offline policy is a bound only then. Cells without provenance have no speed; those of an offline policy
    are kept for its misses.
    """
    rows: list[Row] = []
    timed = frame[frame["requests_per_second"] > 0]
    for (suite, mode), cells in _blocks(timed, suites):
        keys = [*SETTING_KEY, "place", "run"]
        means = cells.assign(us=1e6 / cells["requests_per_second"]).groupby(keys, dropna=False).agg(
            hit=("object_hit_ratio", "mean"), fast=("us", "min"), slow=("us", "max"), runs=("us", "count"),
            uniform=("is_uniform", "min"),
        )  # fmt: skip
        table = means.unstack("run")
        if ("hit", baseline) not in table.columns:
            continue
        saved = 1000 * table["hit"].sub(table[("hit", baseline)], axis=0)
        for policy in saved.columns:
            columns = {name: table[(name, policy)] for name in ("fast", "slow", "runs", "uniform")}
            found = pd.DataFrame({"saved": saved[policy], **columns}).dropna().astype("float64")
            by_trace = found.groupby("trace").agg({
                "saved": "mean", "fast": "mean", "slow": "mean", "runs": "min", "uniform": "min",
            })  # fmt: skip
            for trace, values in by_trace.iterrows():
                ends = [_rounded(values[name]) for name in ("fast", "fast", "slow")]
                rows.append({
                    "suite": suite, "mode": mode, "arm": policy, "trace": str(trace), "traces": 1, "us": ends,
                    "saved": [_rounded(values["saved"])] * 3, "runs": int(values["runs"]),
                    "uniform": bool(values["uniform"]),
                })  # fmt: skip
            if len(by_trace):
                fast, slow = (math.exp(float(np.log(over_traces(by_trace[name])).mean())) for name in ("fast", "slow"))
                column = over_traces(by_trace["saved"])
                rows.append({
                    "suite": suite, "mode": mode, "arm": policy, "trace": None, "traces": len(column),
                    "us": [_rounded(each) for each in (fast, fast, slow)],
                    "saved": [_rounded(each) for each in (column.mean(), column.quantile(0.1), column.quantile(0.9))],
                    "runs": int(by_trace["runs"].min()), "uniform": bool(by_trace["uniform"].min()),
                })  # fmt: skip
    return rows


def _blocks(frame: pd.DataFrame, suites: Mapping[str, Sequence[str]]) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    """Returns the cells without other labels or prefetching, by suite and mode."""
    plain = frame[frame["is_plain"]]
    names = sorted({name for found in suites.values() for name in found})
    blocks = []
    for name in names:
        is_own = pd.Series([name in suites[str(cell)] for cell in plain["hash"]], index=plain.index, dtype=bool)
        own = plain[is_own]
        for mode, cells in own.groupby("mode", sort=True):
            blocks.append(((name, str(mode)), cells))
    return blocks


def _interval(row: "pd.Series[Any]") -> Row:
    return {name: _percent(row[name]) for name in ("difference", "low", "high")}


def _range(values: "pd.Series[Any]") -> list[float | None]:
    return [_percent(value) for value in (values.mean(), values.min(), values.max())]


def _key(row: "pd.Series[Any]") -> tuple[Any, ...]:
    return _hashable(row[name] for name in SETTING_KEY)


def _hashable(values: Any) -> tuple[Any, ...]:
    """Returns a tuple that compares equal to others with missing values in the same places."""
    return tuple(None if pd.isna(value) else value for value in values)


def _percent(value: Any) -> float | None:
    return None if pd.isna(value) else round(100 * float(value), 4)


def _rounded(value: Any) -> float | None:
    return None if pd.isna(value) else round(float(value), 4)


def _integer(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def _or(value: Any, other: str) -> str:
    return other if pd.isna(value) else str(value)
