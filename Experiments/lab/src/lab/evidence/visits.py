"""Tables of the suite visits: prefetching between visits, when a fetch takes a second."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from lab.comparison import Comparison, compare, pairing
from lab.evidence.formats import PREFETCHING, device, fetched, points, precision, resolution, server, signed, stored
from lab.evidence.labels import CONTROLS
from lab.tables import markdown

SECOND = 1_000_000
BUDGET = "2/request"
#: The budget that fetches nothing: the planner chooses victims alone.
NOTHING = "0/request"
PRICE = "0.01"
#: The planner that also plans between visits; `planner` is the one that does not.
VISITS = "planner(visits=on)"
SHUFFLED = "_shuffled"
#: The capacities without prefetching to compare with, besides that of the suite.
CAPACITIES = ("60", "70", "80", "100", "140")


def _cells(folder: Path, *, mode: str = "per_user", labels: str = "given") -> pd.DataFrame:
    """The cells with server knowledge."""
    results = server(stored(folder))
    return results[(results["mode"] == mode) & (results["label_control"] == labels)]


def of_device(folder: Path) -> pd.DataFrame:
    """The cells of caches of 60 with a model and a planner for each user."""
    results = device(stored(folder))
    return results[(results["mode"] == "per_user") & (results["label_control"] == "given") & (results["capacity"] == "60")]


def of_server(folder: Path) -> pd.DataFrame:
    """The cells of caches of 60 whose model and planner learn from all users, in the order of the file."""
    cells = _cells(folder)
    return cells[(cells["capacity"] == "60") & ~cells["trace"].str.endswith(SHUFFLED)]


def arm(
    cells: pd.DataFrame, policy: str | None, latency: int = SECOND, *, budget: str = BUDGET, price: str = PRICE
) -> pd.DataFrame:
    """The cells of one kind of prefetching; ``None`` for those without."""
    if policy is None:
        return cells[cells["prefetch"].isna()]
    name = "planner" if policy == VISITS else policy
    chosen = cells[
        (cells["prefetch"] == name)
        & (cells["prefetch_latency_us"] == latency)
        & (cells["prefetch_budget"] == budget)
    ]
    if name != "planner":
        return chosen
    settings = chosen["prefetch_parameters"].map(json.loads)
    visits, prices = settings.map(lambda given: given["visits"]), settings.map(lambda given: given["visit-price"])
    if policy != VISITS:
        return chosen[visits == "off"]
    return chosen[(visits == "on") & (prices.astype("string") == price)]


def _percent(cells: pd.DataFrame, digits: int = 2) -> str:
    return "–" if cells.empty else f"{100 * float(cells['object_hit_ratio'].mean()):.{digits}f}"


def _rate(cells: pd.DataFrame) -> float:
    return float(cells["prefetched"].sum() / cells["requests"].sum())


def _with_rate(cells: pd.DataFrame) -> str:
    return "–" if cells.empty else f"{_percent(cells)} ({_rate(cells):.2f})"


def gained(folder: Path) -> Comparison:
    """planner(visits=on) compared with no prefetching, in caches of 60."""
    cells = of_server(folder)
    (found,) = compare([pairing(arm(cells, VISITS), arm(cells, None), compared=PREFETCHING)])
    return found


def between_visits(folder: Path) -> str:
    """The hit ratio in % without prefetching and with each policy, and the price of planner(visits=on)."""
    cells, found, rows = of_server(folder), gained(folder), []
    for pair in found.pairs:
        own = cells[cells["trace"] == pair.trace]
        plain, ours = arm(own, None), arm(own, VISITS)
        row = [pair.trace, resolution(own), _percent(plain), *(_percent(arm(own, name)) for name in ("planner", "visit-refill"))]
        row += [_percent(arm(own, VISITS, budget=NOTHING)), _percent(ours), points(pair.interval)]
        rows.append([*row, f"{fetched(plain):.2f} → {fetched(ours):.2f}", precision(ours)])
    header = ["trace", "resolution of times", "none", "planner", "visit-refill", "victims alone", VISITS, "planner(visits=on) − none, points"]
    return markdown([*header, "objects fetched a request", "precision, %"], rows)


def of_one_user(folder: Path) -> str:
    """The hit ratio in % with device knowledge, beside server knowledge, and the prefetches for each request."""
    everyone, alone, rows = of_server(folder), of_device(folder), []
    for trace in dict.fromkeys(str(name) for name in everyone["trace"]):
        row = [trace]
        for name in (None, "planner", VISITS):
            for cells in (everyone, alone):
                own = arm(cells[cells["trace"] == trace], name)
                row.append(_percent(own) if name is None else _with_rate(own))
        rows.append([*row, precision(arm(alone[alone["trace"] == trace], VISITS))])
    header = ["trace"]
    for name in ("none", "planner", VISITS):
        header += [f"{name}, server", f"{name}, device"]
    return markdown([*header, "precision of planner(visits=on), device, %"], rows)


def waits(folder: Path) -> str:
    """What a user waits with planner(visits=on), and the share of the misses that it removed."""
    cells, rows = of_server(folder), []
    for trace in dict.fromkeys(str(name) for name in cells["trace"]):
        own = cells[cells["trace"] == trace]
        plain, ours = arm(own, None), arm(own, VISITS)
        if plain.empty or ours.empty:
            rows.append([trace, "–", "–", "–"])
            continue
        misses = plain["requests"].mean() - plain["hits"].mean()
        coverage = (ours["hits"].mean() - plain["hits"].mean()) / misses
        wait = (1 - float(plain["object_hit_ratio"].mean())) * SECOND / 1_000
        row = [trace, f"{100 * coverage:.1f}", f"{wait:.0f} → {float(ours['latency_mean_ms'].mean()):.0f}"]
        rows.append([*row, f"{float(ours['latency_p99_ms'].mean()):.0f}"])
    return markdown(["trace", "coverage, %", "mean wait, ms", "99th percentile, ms"], rows)


def controls(folder: Path) -> str:
    """What remains in a random order, at other latencies, and how large a cache hits as often."""
    cells, rows = _cells(folder), []
    for trace in dict.fromkeys(str(name) for name in cells["trace"] if not str(name).endswith(SHUFFLED)):
        own = cells[(cells["trace"] == trace) & (cells["capacity"] == "60")]
        mixed = cells[(cells["trace"] == trace + SHUFFLED) & (cells["capacity"] == "60")]
        first = own[own["seed"] == 1]
        row = [trace, f"{_percent(arm(first, None))} / {_percent(arm(mixed, None))}"]
        row.append(f"{_percent(arm(first, 'planner', 0))} / {_percent(arm(mixed, 'planner', 0))}")
        row.append(f"{_percent(arm(first, 'planner(visits=on)'))} / {_percent(arm(mixed, 'planner(visits=on)'))}")
        row += [_percent(arm(first, VISITS, latency)) for latency in (0, 60 * SECOND)]
        ours = arm(own, VISITS)["object_hit_ratio"]
        rows.append([*row, "–" if ours.empty else _equivalent(cells[cells["trace"] == trace], float(ours.mean()))])
    header = ["trace", "none: order of the file / random", "planner at 0 s (ideal): file / random"]
    header += ["planner(visits=on) at 1 s: file / random", "at 0 s (ideal)", "at 60 s", "capacity without prefetching"]
    return markdown(header, rows)


def _equivalent(cells: pd.DataFrame, hit_ratio: float) -> str:
    """The capacity at which the same policy without prefetching hits as often, between the capacities of the suite."""
    plain = arm(cells, None).groupby(cells["capacity"].astype("string"))["object_hit_ratio"].mean()
    known = [(int(capacity), float(plain[capacity])) for capacity in CAPACITIES if capacity in plain.index]
    if hit_ratio <= known[0][1]:
        return "60"
    for (low, below), (high, above) in zip(known, known[1:]):
        if below <= hit_ratio <= above and above > below:
            return f"{low + (high - low) * (hit_ratio - below) / (above - below):.0f}"
    return f"> {known[-1][0]}"


def frontier(folder: Path) -> str:
    """The hit ratio in %, the fetches a request and the precision in % at each price and budget; one seed."""
    cells = _cells(folder)
    cells = cells[(cells["capacity"] == "60") & (cells["seed"] == 1)]
    arms = [(f"price {price}", VISITS, BUDGET, price) for price in ("0.003", PRICE, "0.03", "0.1", "0.3")]
    small = "1/request,5/visit"
    arms += [(small, VISITS, small, PRICE), ("visit-refill", "visit-refill", BUDGET, PRICE)]
    arms.append((f"visit-refill, {small}", "visit-refill", small, PRICE))
    rows = []
    for trace in dict.fromkeys(str(name) for name in cells["trace"] if not str(name).endswith(SHUFFLED)):
        own = cells[cells["trace"] == trace]
        chosen = [arm(own, policy, budget=budget, price=price) for _, policy, budget, price in arms]
        rows.append([trace, *("–" if one.empty else f"{_with_rate(one)}, {precision(one)} %" for one in chosen)])
    return markdown(["trace", *(name for name, *_ in arms)], rows)


def labels(folder: Path) -> str:
    """What categories add to planner(visits=on): over permuted labels and over none."""
    results = server(stored(folder))
    cells = results[(results["mode"] == "per_user") & (results["capacity"] == "60")]
    cells = arm(cells[~cells["trace"].str.endswith(SHUFFLED)], VISITS)
    given = cells[cells["label_control"] == "given"]
    found = compare(
        pairing(given, cells[cells["label_control"] == name], compared=["label_control"])
        for name in (CONTROLS[0], "permuted uniform", CONTROLS[1])
    )
    rows = []
    for pair in found[0].pairs:
        others = [one.of(trace=pair.trace)[0] for one in found[1:]]
        probability = "< 0.001" if pair.adjusted < 0.001 else f"{pair.adjusted:.3f}"
        rows.append([pair.trace, points(pair.interval), probability, *(points(other.interval) for other in others)])
    header = ["trace", "over permuted within popularity, age and size, points", "p (Holm)"]
    return markdown([*header, "over permuted uniformly, points", "over none, points"], rows)


def shared(folder: Path) -> str:
    """The hit ratio in % of one cache for all users, at each latency; one seed."""
    cells, rows = _cells(folder, mode="shared"), []
    for trace, own in cells.groupby("trace", sort=False):
        plain = arm(own, None)
        row = [str(trace), _percent(plain)]
        for latency in (0, SECOND, 60 * SECOND):
            ours = arm(own, VISITS, latency)
            if plain.empty or ours.empty:
                row.append("–")
                continue
            change = 100 * (ours["object_hit_ratio"].mean() - plain["object_hit_ratio"].mean())
            row.append(f"{_percent(ours)} ({signed(change, 2)})")
        rows.append(row)
    return markdown(["trace", "none", "0 s (ideal)", "1 s", "60 s"], rows)
