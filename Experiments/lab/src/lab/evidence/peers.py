"""Tables of ``Experiments/peers.md``: Halcyon's stored cells beside the stored counts of libCacheSim's release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from lab.cells import read_cells
from lab.errors import ResultsError
from lab.evidence.formats import signed
from lab.peers import BY_NAME, CATALOGUE, COUNTED, COUNTS, EXACT, LEARNED, RATIO, TRACES, Count, Peer, read_counts
from lab.tables import markdown

#: The name of a trace, and a capacity in objects or bytes.
Place = tuple[str, int]


@dataclass(frozen=True)
class OwnCount:
    """Halcyon's counts of one cell, as means over its seeds; whole numbers if there is one seed."""

    capacity: str
    requests: int
    misses: float
    byte_misses: float

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests


class Comparison:
    """The stored cells of the suite and the counts of the release, by trace and capacity."""

    def __init__(self, folder: Path) -> None:
        """Reads both. Raises ``ResultsError`` if either is broken or a cell's trace differs from that of the counts."""
        self._path = folder / COUNTS
        self.ours = _own(folder)
        self.theirs: dict[str, dict[str, dict[Place, Count]]] = {}
        requests: dict[str, int] = {}
        for count in read_counts(self._path):
            by_setting = self.theirs.setdefault(count.policy, {}).setdefault(count.parameters, {})
            by_setting[count.trace, count.capacity] = count
            if requests.setdefault(count.trace, count.requests) != count.requests:
                raise ResultsError(self._path, f"{count.trace} has {count.requests} requests and {requests[count.trace]}.")
        for cells in self.ours.values():
            for (trace, capacity), own in cells.items():
                if own.requests != requests.get(trace):
                    raise ResultsError(
                        self._path,
                        f"{trace} has {requests.get(trace, 'no')} requests, and {own.requests} in the stored cells.",
                    )
        self._folder = folder

    def places(self) -> list[tuple[Place, str]]:
        """Every trace and capacity in the order of the suite, with the capacity as asked, such as ``1%``."""
        any_policy = next(iter(self.ours.values()))
        order = {trace.name: index for index, trace in enumerate(TRACES)}
        places = sorted(any_policy, key=lambda place: (order.get(place[0], len(order)), place[1]))
        return [(place, any_policy[place].capacity) for place in places]

    def compared(self, peer: Peer) -> list[tuple[Place, str]]:
        """Those of ``places`` at which a policy is compared."""
        return [place for place in self.places() if peer.uses_sizes in (None, _uses_sizes(place[0]))]

    def own(self, label: str) -> Mapping[Place, OwnCount]:
        """The cells of one of Halcyon's policies."""
        if label not in self.ours:
            raise ResultsError(self._folder, f"has no cell of {label}; run 'make evidence'")
        return self.ours[label]

    def counts(self, peer: Peer, parameters: str = "") -> Mapping[Place, Count]:
        """The counts of one of the release's policies in one setting."""
        counts = self.theirs.get(peer.name, {}).get(parameters)
        if counts is None:
            raise ResultsError(self._path, f"has no count of {peer.name}; 'make peers' makes it.")
        return counts

    def count(self, peer: Peer, place: Place, parameters: str = "") -> Count:
        """One of these counts."""
        count = self.counts(peer, parameters).get(place)
        if count is None:
            raise ResultsError(
                self._path, f"{place[0]} at {place[1]} lacks a count of {peer.name}; 'make peers' makes it."
            )
        return count

    def lowest(self, peer: Peer, place: Place) -> Count:
        """The count of the setting with the fewest misses in a cell."""
        return min((self.count(peer, place, parameters) for parameters in peer.settings), key=lambda count: count.misses)


def _own(folder: Path) -> dict[str, dict[Place, OwnCount]]:
    seeds: dict[str, dict[Place, list[tuple[str, Mapping[str, int]]]]] = {}
    for cell in read_cells(folder):
        place = (str(cell.document["trace"]["name"]), int(cell.document["capacity"]))
        counts = (str(cell.identity["capacity"]), cell.document["counts"])
        seeds.setdefault(str(cell.document["label"]), {}).setdefault(place, []).append(counts)
    if not seeds:
        raise ResultsError(folder, "has no cells; run 'make evidence'")
    return {
        label: {
            place: OwnCount(
                runs[0][0],
                runs[0][1]["requests"],
                mean(counts["requests"] - counts["hits"] for _, counts in runs),
                mean(counts["size"] - counts["hit_size"] for _, counts in runs),
            )
            for place, runs in places.items()
        }
        for label, places in seeds.items()
    }


def _list(header: list[str], rows: list[list[str]]) -> str:
    """Returns a table of texts."""
    return markdown(header, rows).replace("--:", "---", len(header) - 1)


def _uses_sizes(place: Place) -> bool:
    return any(trace.name == place[0] and trace.uses_sizes for trace in TRACES)


def _class(peer: Peer) -> str:
    return f"`{peer.name}`"


def exact(folder: Path) -> str:
    """The cells with equal misses and missed bytes, and those that differ."""
    both = Comparison(folder)
    rows = []
    for peer in (peer for peer in CATALOGUE if peer.comparison == EXACT):
        equal, different, cells = 0, [], both.compared(peer)
        for place, capacity in cells:
            own, count = both.own(peer.ours)[place], both.count(peer, place)
            if (own.misses, own.byte_misses) == (count.misses, count.byte_misses):
                equal += 1
            else:
                more = own.misses - count.misses
                different.append(f"{place[0]} {capacity}: {signed(more, 0)} ({signed(100 * more / count.misses, 3)} %)")
        rows.append([f"`{peer.ours}`", _class(peer), f"{equal} of {len(cells)}", ", ".join(different) or "none"])
    return markdown(["Halcyon", "libCacheSim", "equal", "cells that differ, misses more"], rows)


def ratio(folder: Path) -> str:
    """The difference of miss ratios, relative to the release's, over all cells."""
    both = Comparison(folder)
    rows = []
    for peer in (peer for peer in CATALOGUE if peer.comparison == RATIO):
        over = {
            f"{place[0]} {capacity}": 100 * (both.own(peer.ours)[place].miss_ratio / both.count(peer, place).miss_ratio - 1)
            for place, capacity in both.compared(peer)
        }
        worst, best = max(over, key=lambda name: over[name]), min(over, key=lambda name: over[name])
        rows.append(
            [
                f"`{peer.ours}`", _class(peer), signed(mean(over.values())),
                f"{sum(abs(value) <= 1 for value in over.values())} of {len(over)}",
                f"{signed(over[worst])} ({worst})", f"{signed(over[best])} ({best})",
            ]
        )  # fmt: skip
    return markdown(["Halcyon", "libCacheSim", "mean, %", "within 1 %", "highest, %", "lowest, %"], rows)


def _best(both: Comparison, place: Place) -> Count:
    """The count with the fewest misses in a cell, of all sound online policies of the release in all settings."""
    peers = (peer for peer in CATALOGUE if peer.is_run and peer.is_online and peer.is_sound)
    return min(
        (both.lowest(peer, place) for peer in peers if place[0] not in peer.skipped), key=lambda count: count.misses
    )


def learned(folder: Path) -> str:
    """The miss ratio of ``learned`` by trace, over that of each learner of the release and of its best online policy."""
    both = Comparison(folder)
    learners = [peer for peer in CATALOGUE if peer.comparison == LEARNED]
    places = both.places()
    over: dict[Place, dict[str, float]] = {}
    for place, _ in places:
        own = both.own("learned")[place].miss_ratio
        rivals = {peer.name: both.lowest(peer, place) for peer in learners if place[0] not in peer.skipped}
        rivals["best"] = _best(both, place)
        over[place] = {name: 100 * (own / count.miss_ratio - 1) for name, count in rivals.items()}
    columns = [*(peer.name for peer in learners), "best"]

    def row(name: str, chosen: list[Place]) -> list[str]:
        figures = [[over[place][column] for place in chosen if column in over[place]] for column in columns]
        lowest = sum(over[place]["best"] <= 1e-9 for place in chosen)
        return [
            name,
            f"{mean(both.own('learned')[place].miss_ratio for place in chosen):.3f}",
            *(signed(mean(values)) if values else "not run" for values in figures),
            f"{lowest} of {len(chosen)}",
        ]

    names = list(dict.fromkeys(place[0] for place, _ in places))
    rows = [row(name, [place for place, _ in places if place[0] == name]) for name in names]
    rows.append(row("all", [place for place, _ in places]))
    header = [
        "trace", "`learned`, miss ratio", *(f"over {_class(peer)}, %" for peer in learners), "over the best, %",
        "lowest or equal",
    ]  # fmt: skip
    return markdown(header, rows)


def policies(folder: Path) -> str:
    """Every policy of the release: what it is compared with, or why it is not."""
    compared = {EXACT: "miss for miss", RATIO: "miss ratio", LEARNED: "miss ratio", COUNTED: "among the best"}
    rows = []
    for peer in CATALOGUE:
        how = compared.get(peer.comparison, "no") if peer.is_sound else "no"
        ours = f"`{peer.ours}`" if peer.ours else ""
        rows.append([_class(peer), ours, how, peer.reason])
    return _list(["libCacheSim", "Halcyon", "compared", "why, or how it departs from the paper"], rows)


def weak(folder: Path) -> str:
    """Where the release's counts are not those of the policy's name."""
    both = Comparison(folder)
    places = [place for place, _ in both.places()]
    uniform = [place for place in places if not _uses_sizes(place)]
    rows, lru = [], both.counts(BY_NAME["LRU"])
    for peer in (peer for peer in CATALOGUE if peer.is_run):
        cells = [place for place in uniform if place[0] not in peer.skipped]
        below = sum(both.lowest(peer, place).misses < both.count(BY_NAME["Belady"], place).misses for place in cells)
        if below:
            rows.append([_class(peer), "fewer misses than the optimum, uniform sizes", f"{below} of {len(cells)}"])
    for peer in (peer for peer in CATALOGUE if peer.comparison == LEARNED):
        cells = [place for place in places if place[0] not in peer.skipped]
        # Where LRU has no hit, or as many as the optimum, equal counts say nothing.
        same = [
            place
            for place in cells
            if both.count(BY_NAME["Belady"], place).misses < lru[place].misses < lru[place].requests
            and all(both.count(peer, place, parameters).misses == lru[place].misses for parameters in peer.settings)
        ]
        if same:
            names = ", ".join(dict.fromkeys(name for name, _ in same))
            rows.append([_class(peer), f"the misses of `LRU` in every setting: {names}", f"{len(same)} of {len(cells)}"])
    for peer in (peer for peer in CATALOGUE if peer.is_run and peer.is_online):
        cells = [place for place in places if place[0] not in peer.skipped]
        none = [place for place in cells if both.lowest(peer, place).miss_ratio == 1 > lru[place].miss_ratio]
        if none:
            names = ", ".join(f"{name} at {capacity}" for name, capacity in none)
            rows.append([_class(peer), f"no hit at all, other than `LRU`: {names}", f"{len(none)} of {len(cells)}"])
    worse = [
        place
        for place in places
        if both.count(BY_NAME["WTinyLFU"], place).misses > 1.1 * both.count(BY_NAME["FIFO"], place).misses
    ]
    if worse:
        names = ", ".join(dict.fromkeys(name for name, _ in worse))
        rows.append(["`WTinyLFU`", f"10 % more misses than `FIFO`: {names}", f"{len(worse)} of {len(places)}"])
    return _list(["libCacheSim", "finding", "cells"], rows)


#: The learned baselines of the suite ``rivals``, with the policy of the release and its setting.
RIVALS = (
    ("lrb(objective=object-miss-ratio)", "LRB", "objective=object-miss-ratio"),
    ("3l-cache", "ThreeLCache", ""),
    ("3l-cache(objective=object-miss-ratio)", "ThreeLCache", "objective=object-miss-ratio"),
)


def rivals(folder: Path) -> str:
    """The difference of miss ratios of the learned baselines, relative to the release's, in each cell.

    ``folder`` has the cells of the suite ``rivals``; the counts of the release are in the folder ``peers`` beside it.
    """
    path = folder.parent / "peers" / COUNTS
    counts = {count.key: count for count in read_counts(path)}
    shares: dict[Place, str] = {}
    misses: dict[tuple[str, Place], list[int]] = {}
    for cell in read_cells(folder):
        place = (str(cell.document["trace"]["name"]), int(cell.document["capacity"]))
        shares[place] = str(cell.identity["capacity"])
        own = cell.document["counts"]
        misses.setdefault((str(cell.document["label"]), place), []).append(own["requests"] - own["hits"])
    order = {trace.name: index for index, trace in enumerate(TRACES)}
    places = sorted(shares, key=lambda place: (order.get(place[0], len(order)), place[1]))
    rows = [[f"{place[0]} {shares[place]}"] for place in places]
    within = ["within 1 %"]
    for label, policy, parameters in RIVALS:
        near = 0
        for row, place in zip(rows, places, strict=True):
            runs = misses.get((label, place))
            if not runs:
                raise ResultsError(folder, f"{place[0]} at {place[1]} has no cell of {label}; run 'make rivals'")
            count = counts.get((place[0], policy, parameters, place[1]))
            if count is None:
                raise ResultsError(path, f"{place[0]} at {place[1]} lacks a count of {policy}; 'make peers' makes it.")
            over = [100 * (run / count.misses - 1) for run in (mean(runs), min(runs), max(runs))]
            near += abs(over[0]) <= 1 + 1e-9
            row.append(f"{signed(over[0], 2)} ({signed(over[1], 2)} … {signed(over[2], 2)})")
        within.append(f"{near} of {len(places)}")
    header = ["trace and capacity", *(f"`{label}`, %" for label, _, _ in RIVALS)]
    return markdown(header, [*rows, within])


#: The tables by name.
PEER_TABLES: Mapping[str, tuple[str, Callable[[Path], str]]] = {
    "peers-exact": ("peers", exact),
    "peers-ratio": ("peers", ratio),
    "peers-learned": ("peers", learned),
    "peers-policies": ("peers", policies),
    "peers-weak": ("peers", weak),
    "peers-rivals": ("rivals", rivals),
}
