"""What labels, prefetching and policies change: frames that the figures of ``lab.charts`` draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import beta
from scipy.stats import t as student

from lab.comparison import SETTING, Arms, Measure, all_differences
from lab.errors import UsageError
from lab.frames import ordered_capacities

#: What the arms of a contrast differ in.
Field = Literal["labels", "prefetch"]

#: The policies that know the future. They are no candidates for use.
OFFLINE = ("belady", "belady-size", "belady(bypass=on)")

#: The name of a trace with every size 1 ends in this; without it, it is the name of the trace with its sizes.
UNIFORM = "_objects"

_PREFETCH = ("prefetch", "prefetch_parameters", "prefetch_budget", "prefetch_latency_us", "announce")


def contrasts(
    results: pd.DataFrame,
    field: Field,
    baseline: str,
    *,
    candidates: Sequence[str] | None = None,
    measure: Measure = "object",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Returns the differences between the arms of one policy: by labels, or by prefetching.

    The arms of ``labels`` are the values of ``label_control``, such as ``given``, ``without`` and ``permuted
    within=popularity,age,size``. Those of ``prefetch`` are ``none`` and the names of ``prefetch_arm``. Arms are paired
    if they agree in the policy and in every other column of ``SETTING``. The columns are those of ``differences``,
    with ``arm`` and ``baseline`` for the two arms and ``run`` for the policy. Raises ``UsageError`` if no cell has the
    baseline or a candidate.
    """
    if field == "labels":
        arms = results["label_control"].astype("string")
        neutral = results.assign(label_control="given")
    elif field == "prefetch":
        arms = prefetch_arm(results)
        neutral = results.assign(run=run_of_cache(results), **{name: pd.Series(pd.NA, results.index, results[name].dtype) for name in _PREFETCH})
    else:
        raise UsageError(f"the field is '{field}'; 'labels' or 'prefetch' is expected.")
    present = list(dict.fromkeys(arms))
    for arm in (baseline, *(candidates or ())):
        if arm not in present:
            raise UsageError(f"no cell has the {field} '{arm}'; these results have: {', '.join(present) or 'none'}.")
    by_policy: dict[str, Arms] = {}
    for policy, cells in neutral.groupby("run", sort=False):
        of_policy = arms.loc[cells.index]
        if (of_policy == baseline).any():
            others = [arm for arm in dict.fromkeys(of_policy) if arm != baseline]
            wanted = [arm for arm in others if not candidates or arm in candidates]
            by_policy[str(policy)] = Arms(cells.assign(run=of_policy), baseline, wanted, measure)
    found = all_differences(list(by_policy.values()), confidence=confidence)
    named = [frame.rename(columns={"run": "arm"}).assign(run=policy) for policy, frame in zip(by_policy, found)]
    joined = pd.concat(named, ignore_index=True)
    return joined.assign(capacity=ordered_capacities(joined["capacity"]))


def prefetch_arm(results: pd.DataFrame) -> "pd.Series[str]":
    """Returns the name of each cell's prefetching: ``none``, or ``planner 2/request 500 ms``.

    Parameters are part of the name if cells of one policy have different ones. In per-user caches whose policy learns
    nothing, the name says what the planner sees: ``planner 2/request 500 ms, device knowledge``.
    """
    is_of_planner = run_of_cache(results) != results["run"]
    chosen = results["prefetch_parameters"].groupby(results["prefetch"]).nunique()
    several = {str(policy) for policy, count in chosen.items() if count > 1}
    names = []
    for (_, row), own in zip(results.iterrows(), is_of_planner):
        if pd.isna(row["prefetch"]):
            names.append("none")
            continue
        parameters = f" {row['prefetch_parameters']}" if row["prefetch"] in several else ""
        names.append(
            f"{row['prefetch']}{parameters} {row['prefetch_budget']} {float(row['prefetch_latency_us']) / 1000:g} ms"
            + (f", {row['knowledge']} knowledge" if own else "")
            + ("" if pd.isna(row["announce"]) else f", announced {row['announce']}")
        )
    return pd.Series(names, index=results.index, dtype="string")


def run_of_cache(results: pd.DataFrame) -> "pd.Series[str]":
    """Returns the run of each cell without the knowledge of a planner, for caches whose policy learns nothing.

    Those caches are the same without prefetching, whatever a planner sees. A policy whose cells without prefetching
    have a knowledge learns.
    """
    learners = set(results["label"][results["knowledge"].notna() & results["prefetch"].isna()])
    is_of_planner = results["knowledge"].notna() & results["prefetch"].notna() & ~results["label"].isin(learners)
    runs = results["run"].astype("string")
    return runs.where(~is_of_planner, runs.str.replace(", (server|device) knowledge", "", regex=True))


def prefetching(results: pd.DataFrame) -> pd.DataFrame:
    """Returns what each kind of prefetching brought and cost, one row per setting, policy and arm.

    Seeds are averaged. Columns besides the setting: ``run``, ``arm``, ``hit_ratio``, ``without`` (the hit ratio without
    prefetching), ``precision`` (used of the prefetched objects), ``coverage`` (the share of the misses without
    prefetching that it removed, less the hits that it cost; negative if it cost more), ``late`` (requested in flight,
    of the prefetched), ``traffic`` (objects fetched, relative to without prefetching) and ``fetches_per_hit``
    (additional fetches for each additional hit; infinite without an additional hit). A request for an object in
    flight is a miss and joins its transfer. Settings without a cell without prefetching are left out.
    """
    keys = [name for name in SETTING if name not in _PREFETCH] + ["run"]
    rows: list[dict[str, Any]] = []
    named = results.assign(arm=prefetch_arm(results), run=run_of_cache(results))
    counts = ["requests", "hits", "prefetched", "prefetches_used", "prefetches_late"]
    for key, group in named.groupby(keys, dropna=False, sort=False, observed=True):
        plain = group[group["arm"] == "none"]
        if plain.empty:
            continue
        hits, requests = float(plain["hits"].mean()), float(plain["requests"].mean())
        for arm, cells in group[group["arm"] != "none"].groupby("arm", sort=False):
            mean = {name: float(cells[name].astype("float64").fillna(0).mean()) for name in counts}
            fetched = mean["requests"] - mean["hits"] - mean["prefetches_late"] + mean["prefetched"]
            gained, misses = mean["hits"] - hits, requests - hits
            first = cells.iloc[0]
            rows.append({
                **dict(zip(keys, key)), "arm": arm, "prefetch": first["prefetch"],
                "latency_us": first["prefetch_latency_us"], "budget": first["prefetch_budget"],
                "hit_ratio": _ratio(mean["hits"], mean["requests"]), "without": _ratio(hits, requests),
                "precision": _ratio(mean["prefetches_used"], mean["prefetched"]),
                "coverage": _ratio(gained, misses), "late": _ratio(mean["prefetches_late"], mean["prefetched"]),
                "traffic": _ratio(fetched, misses),
                "fetches_per_hit": (fetched - misses) / gained if gained > 0 else math.inf,
            })  # fmt: skip
    columns = [*keys, "arm", "prefetch", "latency_us", "budget", "hit_ratio", "without", "precision", "coverage", "late",
               "traffic", "fetches_per_hit"]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def counted_once(names: Iterable[str]) -> dict[str, str]:
    """Returns the trace that each trace counts as in a mean over traces.

    That with every size 1 counts as the trace with its sizes if both are there, and the mean of both is the trace's.
    """
    known = {str(name) for name in names}
    return {name: name.removesuffix(UNIFORM) if name.removesuffix(UNIFORM) in known else name for name in known}


def over_traces(values: "pd.Series[float]") -> "pd.Series[float]":
    """Returns the mean of each trace, from values with a level ``trace`` in their index.

    A trace with its sizes and with every size 1 counts once: the mean of both forms.
    """
    means = values.groupby(level="trace", sort=False).mean()
    return means.groupby(means.index.map(counted_once(means.index)), sort=False).mean()


def excess(results: pd.DataFrame, reference: str = "best", *, offline: Sequence[str] = OFFLINE) -> pd.DataFrame:
    """Returns how far the miss ratio of each online policy is above a reference, one row per setting and policy.

    Seeds are averaged. ``reference`` is ``best`` (the online policy with the lowest miss ratio in each setting), or a
    value of the column ``run``, such as ``fifo``. ``miss`` is the miss ratio, ``excess`` the excess in percent of the
    reference's, ``against`` the name of the reference, ``rank`` 1 for the lowest miss ratio (ties share the lower
    rank). Settings without the reference are left out.
    """
    keys = [*SETTING, "capacity_size"]
    means = results.groupby([*keys, "run"], dropna=False, sort=False, observed=True)["object_hit_ratio"].mean().reset_index()
    means["miss"] = 1 - means["object_hit_ratio"]
    online = means[~means["run"].isin(offline)].copy()
    online["rank"] = online.groupby(keys, dropna=False, observed=True)["miss"].rank(method="min").astype("int64")
    if reference == "best":
        places = online.groupby(keys, dropna=False, observed=True)["miss"].idxmin()
        base = online.loc[places, [*keys, "run", "miss"]]
    else:
        base = online.loc[online["run"] == reference, [*keys, "run", "miss"]]
        if base.empty:
            raise UsageError(f"no cell has the run '{reference}'.")
    joined = online.merge(base.rename(columns={"run": "against", "miss": "reference"}), on=keys, how="inner")
    joined["excess"] = 100 * (joined["miss"] / joined["reference"] - 1)
    return joined[[*keys, "run", "miss", "excess", "against", "rank"]]


def against_others(results: pd.DataFrame, run: str, *, offline: Sequence[str] = OFFLINE) -> pd.DataFrame:
    """Returns how a policy compares with the best other online policy of each setting.

    Seeds are averaged. ``excess`` is the policy's miss ratio over that of the best other one in percent: negative
    where the policy is ahead. ``against`` is the other one's name. Raises ``UsageError`` if the policy was not run.
    """
    keys = [*SETTING, "capacity_size"]
    own = results[results["run"] == run].groupby(keys, dropna=False, sort=False, observed=True)["object_hit_ratio"].mean()
    if own.empty:
        raise UsageError(f"no cell has the run '{run}'.")
    others = excess(results[results["run"] != run], offline=offline)
    best = others[others["run"] == others["against"]].drop(columns=["run", "excess", "rank"])
    joined = own.rename("own").reset_index().merge(best.rename(columns={"miss": "other"}), on=keys, how="inner")
    joined["run"], joined["miss"] = run, 1 - joined["own"]
    joined["excess"] = 100 * (joined["miss"] / joined["other"] - 1)
    return joined[[*keys, "run", "miss", "excess", "against"]]


def proportion_interval(successes: float, trials: float, confidence: float = 0.95) -> tuple[float, float]:
    """Returns Jeffreys' interval for a proportion, as Brown, Cai and DasGupta (2001) recommend it for few trials.

    The quantiles are those of Beta(successes + ½, failures + ½); the lower bound is 0 without a success, the upper one
    1 without a failure. It supposes independent trials. (0, 1) without a trial.
    """
    if not 0 <= successes <= trials:
        raise UsageError(f"{successes:g} of {trials:g} is no proportion.")
    if trials == 0:
        return 0.0, 1.0
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else float(beta.ppf(tail, successes + 0.5, trials - successes + 0.5))
    high = 1.0 if successes == trials else float(beta.ppf(1 - tail, successes + 0.5, trials - successes + 0.5))
    return low, high


def calibration(bins: Sequence[Mapping[str, Any]], confidence: float = 0.95) -> pd.DataFrame:
    """Returns the bins of ``replay explain --format json`` (``explanation.calibration``) with Jeffreys' intervals.

    Columns: ``from``, ``to``, ``samples``, ``predicted``, ``observed``, ``low``, ``high``, ``agrees`` (whether the mean
    prediction is within the interval). Bins without a sample are left out.
    """
    rows = []
    for stored in bins:
        samples = int(stored["samples"])
        if samples == 0:
            continue
        predicted, observed = float(stored["predicted"]), float(stored["observed"])
        low, high = proportion_interval(round(observed * samples), samples, confidence)
        rows.append([
            float(stored["from"]), float(stored["to"]), samples, predicted, observed, low, high, low <= predicted <= high
        ])  # fmt: skip
    return pd.DataFrame(rows, columns=["from", "to", "samples", "predicted", "observed", "low", "high", "agrees"])


def calibration_error(bins: pd.DataFrame) -> float:
    """Returns the mean distance between prediction and outcome over samples, by bins (expected calibration error)."""
    if bins.empty:
        return math.nan
    return float(np.average((bins["predicted"] - bins["observed"]).abs(), weights=bins["samples"]))


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float]:
    """Returns the mean of values with Student's interval, as (mean, low, high); NaN bounds for fewer than two."""
    array = np.asarray([value for value in values if not math.isnan(value)], dtype=np.float64)
    if len(array) == 0:
        return math.nan, math.nan, math.nan
    mean = float(array.mean())
    if len(array) < 2:
        return mean, math.nan, math.nan
    width = float(student.ppf((1 + confidence) / 2, len(array) - 1)) * float(array.std(ddof=1)) / math.sqrt(len(array))
    return mean, mean - width, mean + width


def verdict(low: float, high: float, margin: float) -> str:
    """Returns how an interval of a gain reads beside the smallest gain that matters.

    ``gain``: all of it is above 0, and it reaches the margin. ``gain below the margin``: all of it is between 0 and the
    margin. ``loss``: all of it is below 0. ``no gain of the margin``: it includes 0 and ends below the margin.
    ``undecided``: it includes 0 and the margin.
    """
    if low > 0:
        return "gain" if high >= margin else "gain below the margin"
    if high < 0:
        return "loss"
    return "no gain of the margin" if high < margin else "undecided"


def shuffle_ties(requests: pd.DataFrame, seed: int, *, by: Sequence[str] = ("user", "time")) -> pd.DataFrame:
    """Returns requests with the order shuffled among those of one user at one time; every other order stays.

    ``requests`` has a row per request, in order. The requests of a group take each other's places, so that a user's
    visit begins and ends where it did. A log of visits has no order within a visit: what changes with this shuffle
    was not in the data.
    """
    random = np.random.default_rng(seed)
    order = np.arange(len(requests))
    for places in requests.groupby(list(by), sort=False, dropna=False).indices.values():
        if len(places) > 1:
            order[places] = random.permutation(places)
    return requests.iloc[order].reset_index(drop=True)


def join_visits(requests: pd.DataFrame, gap: float) -> pd.DataFrame:
    """Returns requests of which each has the time of the first request of its visit, sorted by time.

    A visit is a run of requests of one user without a pause above ``gap``, in the unit of ``time``. This is what a log
    looks like that keeps one time for a basket or a page with its pictures. The order within a visit stays.
    """
    pause = requests.groupby("user", sort=False, dropna=False)["time"].diff()
    visit = (pause.isna() | (pause > gap)).groupby(requests["user"], sort=False, dropna=False).cumsum()
    first = requests.groupby([requests["user"], visit], sort=False, dropna=False)["time"].transform("first")
    return requests.assign(time=first).sort_values("time", kind="stable", ignore_index=True)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan
