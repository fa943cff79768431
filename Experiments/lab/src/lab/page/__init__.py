"""The report: stored results as one HTML page that needs no other file and no network.

``reading`` reads the cells, ``arms`` names what is compared, ``sections`` computes what each section shows,
``calibration`` reads predictions and outcomes from other files, ``writing`` puts the page together, and ``browser``
opens it in a headless Chromium. The folder ``assets`` has the page's HTML, CSS and JavaScript.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.page.browser import screenshot
    from lab.page.writing import report

__all__ = ["report", "screenshot"]

_PLACES = {"report": "writing", "screenshot": "browser"}


def __getattr__(name: str) -> Any:
    """Imports what is asked for: a picture of a page needs no pandas."""
    if name in _PLACES:
        return getattr(importlib.import_module(f"lab.page.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'lab.page' has no attribute {name!r}")
