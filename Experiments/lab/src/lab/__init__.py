"""Halcyon's results in Python: stored cells as data frames, figures, an HTML report, and suites on many machines.

    import lab

    results = lab.load("results/demo")                       # a row per cell
    lab.plot.curves(results).savefig("curves.svg")
    lab.report("results/demo", "report.html")
    lab.distribute("Experiments/suites/demo.yml", "results/demo", workers=4)

``replay sweep`` writes the results; this package reads them and never changes a stored cell.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab import charts, notebooks, plot
    from lab.cells import identity_hash
    from lab.comparison import differences
    from lab.contrasting import (
        against_others, calibration, calibration_error, contrasts, excess, join_visits, mean_interval, over_traces,
        prefetch_arm, prefetching, proportion_interval, shuffle_ties, verdict,
    )  # fmt: skip
    from lab.distribution import Distribution, FailedCell, distribute
    from lab.errors import LabError, ReplayError, ResultsError, UsageError
    from lab.frames import load, units
    from lab.page import report
    from lab.tables import export

__version__ = "0.1.0"

__all__ = [
    "Distribution", "FailedCell", "LabError", "ReplayError", "ResultsError", "UsageError", "against_others",
    "calibration", "calibration_error", "charts", "contrasts", "differences", "distribute", "excess", "export",
    "identity_hash", "join_visits", "load", "mean_interval", "notebooks", "over_traces", "plot", "prefetch_arm", "prefetching",
    "proportion_interval", "report", "shuffle_ties", "units", "verdict",
]  # fmt: skip

#: The names by module. A name is looked up when it is first used. So a worker process loads no figures, and the
#: command line says what is not installed before it loads pandas.
_MODULES = {
    "cells": ["identity_hash"],
    "comparison": ["differences"],
    "contrasting": [
        "against_others", "calibration", "calibration_error", "contrasts", "excess", "join_visits", "mean_interval",
        "over_traces", "prefetch_arm", "prefetching", "proportion_interval", "shuffle_ties", "verdict",
    ],
    "distribution": ["Distribution", "FailedCell", "distribute"],
    "errors": ["LabError", "ReplayError", "ResultsError", "UsageError"],
    "frames": ["load", "units"],
    "page": ["report"],
    "tables": ["export"],
}  # fmt: skip
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports what is asked for."""
    if name in ("charts", "notebooks", "plot"):
        return importlib.import_module(f"lab.{name}")
    if name in _PLACES:
        found = getattr(importlib.import_module(f"lab.{_PLACES[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'lab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
