"""How tables of documents write figures, and what several of them need."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from lab.comparison import Interval
from lab.frames import load

#: The settings of a row: everything but the policy and the seed.
CELL = ["trace", "mode", "capacity"]
#: What two sides with different prefetching may differ in.
PREFETCHING = ["prefetch", "prefetch_parameters", "prefetch_budget", "prefetch_latency_us"]


@functools.lru_cache(maxsize=16)
def stored(folder: Path) -> pd.DataFrame:
    """Returns the frame of ``lab.load``, read once for all tables of a call of ``fill``."""
    return load(folder)


def forget() -> None:
    """Makes the next tables read the results again."""
    stored.cache_clear()


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
    return sorted({str(name) for name in index}, key=lambda text: float(text.rstrip("%")))
