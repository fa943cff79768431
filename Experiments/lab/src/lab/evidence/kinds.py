"""Tables of the suite kinds: when categories pay for eviction, on synthetic kinds of images and on real traces."""

from __future__ import annotations

import json
from pathlib import Path

from lab.comparison import Interval, compare, pairing
from lab.errors import ResultsError
from lab.evidence.devices import labels_over
from lab.evidence.formats import points, stored
from lab.evidence.labels import CONTROLS
from lab.tables import markdown

#: The file beside the cells with what `replay inspect` measured of real traces.
REAL = "real.json"


def gains(folder: Path) -> dict[tuple[str, str, str], Interval]:
    """What labels add to the learner's hit ratio over permuted ones, by trace, capacity and knowledge."""
    results = stored(folder)
    learned = results[results["label"] == "learned"]
    found: dict[tuple[str, str, str], Interval] = {}
    for knowledge in ("device", "server"):
        own = learned[learned["knowledge"] == knowledge]
        sides = [own[(own["label_control"] == "given") == is_given] for is_given in (True, False)]
        (comparison,) = compare([pairing(sides[0], sides[1], compared=["label_control"])])
        found |= {(pair.trace, pair.capacity, knowledge): pair.interval for pair in comparison.pairs}
    return found


def synthetic(folder: Path) -> str:
    """What labels add to the learner's hit ratio over permuted ones, by how much the rates of reuse of kinds differ."""
    results, found = stored(folder), gains(folder)
    given = results[results["label_control"] == "given"]
    ratios = given.groupby(["trace", "capacity", "label"])["object_hit_ratio"].mean()
    means = {key: 100 * float(value) for key, value in ratios.items()}
    rows = []
    for trace in dict.fromkeys(results["trace"]):
        for capacity in ("20", "60", "180"):
            row = [str(trace), capacity] + [f"{means[str(trace), capacity, policy]:.1f}" for policy in ("lru", "belady")]
            rows.append([*row, *(points(found[str(trace), capacity, knowledge]) for knowledge in ("device", "server"))])
    rows.sort(key=lambda row: int(row[0].removeprefix("R=")))
    header = ["reuse differs by", "objects", "lru, %", "belady, %", "labels add on a device, points", "labels add on a server, points"]
    return markdown(header, rows)


def reuse_ratios(folder: Path) -> dict[str, float | None]:
    """Returns the factor R by which the rates of reuse of categories differ, by real trace; ``None`` where the lowest rate is 0.

    Raises ``ResultsError`` if the folder has no such figures.
    """
    path = folder / REAL
    if not path.exists():
        raise ResultsError(path, "is missing; Experiments/kinds.py writes it where HALCYON_TRACES is set.")
    return {str(name): None if ratio is None else float(ratio) for name, ratio in json.loads(path.read_text("utf-8")).items()}


def real(folder: Path) -> str:
    """The table of real traces: R, what the map says for it at 60 objects, and what labels add there."""
    found = gains(folder)
    measured = labels_over(folder.parent / "devices", CONTROLS[0])
    rows = []
    for trace, ratio in sorted(reuse_ratios(folder).items(), key=lambda item: item[1] or float("inf")):
        shown = "–" if ratio is None else f"{ratio:.1f}"
        near = "–" if ratio is None else _near(found, ratio)
        rows.append([trace, shown, near, points(measured[trace, "60"])])
    return markdown(["trace", "reuse differs by", "the map on a device, 60 objects, points", "labels add there, points"], rows)


def _near(found: dict[tuple[str, str, str], Interval], ratio: float) -> str:
    """What the map says between the two factors beside a ratio: the range of their gains."""
    factors = sorted({int(trace.removeprefix("R=")) for trace, _, _ in found})
    below = max((factor for factor in factors if factor <= ratio), default=factors[0])
    above = min((factor for factor in factors if factor >= ratio), default=factors[-1])
    shown = sorted(100 * found[f"R={factor}", "60", "device"].difference for factor in {below, above})
    return " … ".join(f"{gain:+.2f}".replace("-", "−") for gain in shown)
