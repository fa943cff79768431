"""The README's picture, and the confirmatory suite, on the committed results."""

from __future__ import annotations

import hashlib
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

import pytest
from conftest import documents

from lab.errors import ResultsError
from lab.evidence import kinds
from lab.frontier import PRICES, frontier, points
from lab.kinds_map import kinds_map
from lab.overview import overview

EXPERIMENTS = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def test_picture_has_the_means_of_the_cells() -> None:
    misses: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in documents(EXPERIMENTS / "results/policies"):
        key = (cell["trace"]["name"], cell["identity"]["capacity"])
        misses[cell["label"]][key].append(1 - cell["counts"]["hits"] / cell["counts"]["requests"])
    # A trace with its sizes and with every size 1 counts once; both have four capacities.
    relative: dict[str, list[float]] = defaultdict(list)
    for (trace, capacity), own in misses["learned"].items():
        relative[trace.removesuffix("_objects")].append(100 * (mean(own) / mean(misses["lru"][trace, capacity]) - 1))
    picture = ElementTree.fromstring(overview(EXPERIMENTS / "results"))
    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert texts[texts.index("learned") + 1] == f"{mean(map(mean, relative.values())):+.1f}".replace("-", "−")
    assert "globo_news" in texts and len(list(picture.iter(f"{SVG}circle"))) == 7 + 2 * 5


def test_frontier_has_the_precision_and_coverage_of_the_cells() -> None:
    own: dict[str, dict[str, int]] = {}
    for cell in documents(EXPERIMENTS / "results/visits"):
        run, prefetch = cell["identity"], cell["identity"].get("prefetch", {})
        place = (cell["trace"]["name"], run["mode"], run.get("knowledge"), run["capacity"], run["seed"], run["labels"])
        if place != ("completejourney", "per_user", "server", "60", 1, "given") or prefetch.get("latency_us", 1_000_000) != 1_000_000:
            continue
        if prefetch.get("policy") in (None, "visit-refill") and prefetch.get("budget", "2/request") == "2/request":
            own[prefetch.get("policy", "none")] = cell["counts"]
    drawn = points(EXPERIMENTS / "results")
    refill = next(point for point in drawn["completejourney"] if point.name == "visit-refill")
    assert refill.precision == pytest.approx(100 * own["visit-refill"]["prefetches_used"] / own["visit-refill"]["prefetched"])
    missed = own["none"]["requests"] - own["none"]["hits"]
    assert refill.coverage == pytest.approx(100 * (own["visit-refill"]["hits"] - own["none"]["hits"]) / missed)
    picture = ElementTree.fromstring(frontier(EXPERIMENTS / "results"))
    assert len(drawn) == 5 and all(len([one for one in of if "price" in one.name]) == len(PRICES) for of in drawn.values())
    assert len(list(picture.iter(f"{SVG}circle"))) == sum(len(of) for of in drawn.values())


def test_map_of_kinds_has_the_gains_of_the_cells_and_the_real_traces() -> None:
    ratios: dict[tuple[str, str, str, bool], list[float]] = defaultdict(list)
    for cell in documents(EXPERIMENTS / "results/kinds"):
        run = cell["identity"]
        if cell["label"] == "learned":
            of = (cell["trace"]["name"], run["capacity"], run["knowledge"], run["labels"] == "given")
            ratios[of].append(cell["counts"]["hits"] / cell["counts"]["requests"])
    picture = ElementTree.fromstring(kinds_map(EXPERIMENTS / "results"))
    texts = [text.text or "" for text in picture.iter(f"{SVG}text")]
    gains = [text for text in texts if re.fullmatch(r"[+−][0-9]\.[0-9][0-9]", text)]
    order = [
        (f"R={factor}", capacity, knowledge)
        for knowledge in ("device", "server")
        for capacity in ("20", "60", "180")
        for factor in (1, 2, 4, 8, 16, 32)
    ]
    assert len(gains) == len(order) == 36
    for text, (trace, capacity, knowledge) in zip(gains, order):
        given, permuted = (mean(ratios[trace, capacity, knowledge, is_given]) for is_given in (True, False))
        expected = 100 * (given - permuted)
        assert float(text.replace("−", "-")) == pytest.approx(expected, abs=0.0051)
    for name, ratio in kinds.reuse_ratios(EXPERIMENTS / "results/kinds").items():
        assert texts.count(name) == (0 if ratio is None else 2)


def test_picture_of_nothing_is_refused(tmp_path: Path) -> None:
    for draw in (overview, frontier, kinds_map):
        with pytest.raises(ResultsError):
            draw(tmp_path)


def test_confirmatory_suite_is_the_frozen_one() -> None:
    document = (EXPERIMENTS / "confirmatory.md").read_text(encoding="utf-8")
    stated = re.search(r"^    ([0-9a-f]{64})$", document, re.MULTILINE)
    assert stated
    suite = (EXPERIMENTS / "suites/confirmatory.yml").read_bytes()
    # What the runs knew was the default, and was written out later.
    assert hashlib.sha256(suite.replace(b"    knowledge: server\n", b"")).hexdigest() == stated[1]
    versions = Counter(cell["identity"]["result_version"] for cell in documents(EXPERIMENTS / "results/confirmatory"))
    assert 2 in versions and set(versions.values()) == {644}
