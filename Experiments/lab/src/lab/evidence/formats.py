"""How tables of documents write figures, and what several of them need."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lab.comparison import Interval, Pairing
from lab.contrasting import counted_once
from lab.frames import capacity_key, load

#: The settings of a row: everything but the policy and the seed.
CELL = ["trace", "mode", "capacity"]
#: What two sides with different prefetching may differ in.
PREFETCHING = ["prefetch", "prefetch_parameters", "prefetch_budget", "prefetch_latency_us"]


@functools.lru_cache(maxsize=16)
def every_version(folder: Path) -> pd.DataFrame:
    """Returns the frame of ``lab.load``, read once for all tables of a call of ``fill``."""
    return load(folder)


def stored(folder: Path) -> pd.DataFrame:
    """Returns the cells of the newest result version in a folder."""
    return newest(every_version(folder))


def newest(results: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells of the newest result version."""
    is_newest = results["result_version"] == int(results["result_version"].max())
    return results[is_newest.astype("bool")]


def forget() -> None:
    """Makes the next tables read the results again."""
    every_version.cache_clear()


def server(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells with server knowledge: one model and one planner learn from the live requests of all users.

    Those of policies that learn nothing are among them.
    """
    return cells[cells["knowledge"].fillna("server") != "device"]


def device(cells: pd.DataFrame) -> pd.DataFrame:
    """Returns the cells with device knowledge: each user has a model and a planner, which see that user alone."""
    return cells[cells["knowledge"].fillna("server") == "device"]


def fetched(cells: pd.DataFrame) -> float:
    """Returns the objects fetched in all for each request: demand misses and prefetches.

    A miss that joins the prefetch of its object in flight is one fetch with it.
    """
    late, ahead = (cells[name].fillna(0).sum() for name in ("prefetches_late", "prefetched"))
    return float((cells["requests"].sum() - cells["hits"].sum() - late + ahead) / cells["requests"].sum())


def resolution(cells: pd.DataFrame) -> str:
    """Returns the resolution of the times of a trace, where its cells state it."""
    known = cells["time_resolution_us"].dropna()
    return f"{float(known.iloc[0]) / 1e6:g} s" if len(known) else "–"


def precision(cells: pd.DataFrame) -> str:
    """Returns the share of the prefetched objects that were used, in %; a dash if none was prefetched."""
    number = cells["prefetched"].fillna(0).sum()
    return f"{100 * cells['prefetches_used'].sum() / number:.0f}" if number > 0 else "–"


def pairs_once(pairs: Pairing) -> Pairing:
    """Returns the pairs with both forms of a trace counted as one."""
    return pairs.counted_as(counted_once(each.trace for each in pairs.sides))


def signed(value: float, digits: int = 1) -> str:
    """Returns a number with its sign. One that is rounded to zero keeps its sign: it says on which side a bound lies."""
    text = f"{value:+.{digits}f}" if value else f"{0:.{digits}f}"
    return text.replace("-", "−")


def ratio(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else "1.000"


def listed(numbers: Sequence[int]) -> str:
    """The numbers with a comma for thousands, and a middle dot between two."""
    return " · ".join(f"{number:,}" for number in numbers)


def points(found: Interval) -> str:
    return f"{signed(100 * found.difference, 2)} ({signed(100 * found.low, 2)} … {signed(100 * found.high, 2)})"


def capacities_in_order(index: pd.Index) -> list[str]:
    return sorted({str(name) for name in index}, key=capacity_key)
