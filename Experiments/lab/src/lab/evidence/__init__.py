"""Tables of documents, made from stored results.

A document marks a table with two comments; what stands between them is generated:

    <!-- table: policies -->
    <!-- end of table -->

``python -m lab evidence RESULTS DOCUMENT…`` writes the tables, and with ``--check`` fails if one differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from lab.cells import is_results_folder
from lab.errors import ResultsError, UsageError
from lab.evidence import apps, claims, confirmatory, devices, eviction, kinds, labels, lists, prefetch, showings, visits
from lab.evidence.formats import forget
from lab.evidence.peers import PEER_TABLES
from lab.tables import write_text_beside

_MARKED = re.compile(r"(<!-- table: (?P<name>[a-z0-9-]+) -->\n)(?P<body>.*?)(<!-- end of table -->)", re.DOTALL)

#: The tables by name: the folder of results, and the function that makes the table.
TABLES: Mapping[str, tuple[str, Callable[[Path], str]]] = {
    "claims": ("policies", claims.claims),
    "smoke": ("kingfisher", apps.smoke),
    "set-up": ("policies", eviction.set_up),
    "policies": ("policies", eviction.policies),
    "ranking": ("policies", eviction.ranking),
    "worst-cases": ("policies", eviction.worst_cases),
    "hypothesis": ("hypothesis", labels.gains),
    "ablation": ("ablation", eviction.ablation),
    "prefetch": ("prefetch", prefetch.prefetching),
    "visits": ("visits", visits.between_visits),
    "visits-knowledge": ("visits", visits.of_one_user),
    "visits-waits": ("visits", visits.waits),
    "visits-controls": ("visits", visits.controls),
    "visits-frontier": ("visits", visits.frontier),
    "visits-labels": ("visits", visits.labels),
    "visits-shared": ("visits", visits.shared),
    "kingfisher": ("kingfisher", apps.apps),
    "cold-start": ("cold-start", eviction.cold),
    "set-up-categories": ("hypothesis", eviction.set_up),
    "claims-intervals": ("policies", claims.intervals),
    "categories": ("hypothesis", labels.categories),
    "categories-costs": ("hypothesis", labels.costs),
    "tiers-devices": ("kingfisher", apps.device_tiers),
    "tiers": ("kingfisher", apps.tiers),
    "knowledge": ("hypothesis", labels.knowledge),
    "devices": ("devices", devices.hits),
    "devices-labels": ("devices", devices.labels),
    "devices-sizes": ("devices", devices.sizes),
    "lists-device": ("lists", lists.on_device),
    "lists-server": ("lists", lists.on_server),
    "lists-starts": ("lists", lists.starts),
    "lists-baselines": ("lists", lists.baselines),
    "first-requests": ("first-requests", lists.first_requests),
    "shown": ("shown", showings.shared),
    "shown-device": ("shown", showings.on_device),
    "kinds": ("kinds", kinds.synthetic),
    "kinds-real": ("kinds", kinds.real),
    "bytes-means": ("bytes", apps.bytes_over_traces),
    "bytes": ("bytes", apps.bytes_by_policy),
    "decoded-tiers": ("bytes", apps.decoded_tiers),
    "confirmatory-eviction": ("confirmatory", confirmatory.eviction),
    "confirmatory-categories": ("confirmatory", confirmatory.labels),
    "confirmatory-prefetching": ("confirmatory", confirmatory.prefetching),
    "readme": ("policies", claims.readme),
    "answer": ("policies", claims.answer),
    **PEER_TABLES,
}


def fill(document: str, results: Path, *, source: str = "document") -> str:
    """Returns a document with its marked tables generated from the folders of results below ``results``.

    Raises ``UsageError`` for an unknown table, an open mark, or a document without any, and ``ResultsError`` if the
    results of a table are missing.
    """
    forget()
    marks = len(re.findall(r"<!-- table: ", document))
    if marks == 0:
        raise UsageError(f"{source}: has no table to write; mark one with '<!-- table: NAME -->'.")

    def table(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            raise UsageError(f"{source}: there is no table '{name}'; there are {', '.join(TABLES)}.")
        suite, make = TABLES[name]
        folder = results / suite
        if not is_results_folder(folder):
            raise ResultsError(folder, "has no results; run 'make evidence'")
        return f"{match[1]}{make(folder)}{match[4]}"

    filled, count = _MARKED.subn(table, document)
    if count != marks:
        raise UsageError(f"{source}: a table has no end; close it with '<!-- end of table -->'.")
    return filled


def write(results: Path, documents: list[Path], *, check: bool = False) -> list[Path]:
    """Writes the tables of documents and returns the documents that changed; with ``check``, only returns them."""
    changed = []
    for path in documents:
        text = path.read_text(encoding="utf-8")
        filled = fill(text, results, source=str(path))
        if filled != text:
            changed.append(path)
            if not check:
                write_text_beside(path, filled)
    return changed
