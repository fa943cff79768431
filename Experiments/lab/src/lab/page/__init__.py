"""The report: stored results as one HTML page that needs no other file and no network.

``reading`` reads the cells, ``arms`` names what is compared, ``sections`` computes what each section shows,
``calibration`` reads predictions and outcomes from other files, ``writing`` puts the page together, and ``browser``
opens it in a headless Chromium. The folder ``assets`` has the page's HTML, CSS and JavaScript.
"""

from __future__ import annotations

from lab.page.browser import screenshot
from lab.page.writing import report

__all__ = ["report", "screenshot"]
