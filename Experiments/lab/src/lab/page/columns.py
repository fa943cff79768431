"""The cells as columns of JSON, for the table of runs and for scripts that read the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

SCHEMA = "halcyon.report/1"


def cell_columns(results: pd.DataFrame, suites: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Returns the frame of ``lab.load`` as columns, with the suites of each cell; columns without a value are left out.

    A column of text that repeats is ``{"values": […], "codes": […]}``: the distinct texts, and for each cell the number
    of its text or -1. Parameters are in the column ``parameters`` only. The paths of folders are left out.
    """
    columns: dict[str, Any] = {}
    shown = results.drop(columns=[name for name in results if name == "folder" or str(name).startswith("p_")])
    shown = shown.assign(
        capacity=shown["capacity"].astype("string"),
        suite=pd.Series([", ".join(suites[str(name)]) for name in results["hash"]], index=results.index, dtype="string")
    )
    for name in shown:
        column = shown[name]
        if column.isna().all():
            continue
        if isinstance(column.dtype, pd.StringDtype) and column.nunique() < max(2, len(column) / 2):
            values = sorted(str(text) for text in column.dropna().unique())
            number = {text: place for place, text in enumerate(values)}
            codes = [-1 if pd.isna(text) else number[str(text)] for text in column]
            columns[str(name)] = {"values": values, "codes": codes}
        else:
            columns[str(name)] = [_plain(value) for value in column]
    return {"schema": SCHEMA, "cells": len(shown), "columns": columns}


def _plain(value: Any) -> Any:
    if pd.isna(value):
        return None
    if isinstance(value, (bool, int, str)):
        return value
    return round(float(value), 12) if not float(value).is_integer() else int(value)
