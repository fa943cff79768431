"""The report: what it holds, and what a headless Chromium without a network shows."""

from __future__ import annotations

import base64
import functools
import html.parser
import json
import math
import os
import random
import re
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ROOT, cell_bytes, documents, make_cell, write_cell
from scipy.stats import binomtest

import lab
from lab.page.browser import browser, capture, find_browser, open_page, screenshot

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CORE = ["learned", "lru", "s3-fifo", "gdsf", "belady"]
EVIL = "<script>alert(1)</script> \"q\" 'a' & <b>b</b>"


def add(folder: Path, trace: str, capacity: str, policy: str, ratio: float, *, seed: int | None = None, **changes: Any) -> None:
    """Writes a cell of 800 counted requests in 32 windows and 10 groups of users, with a hit ratio near ``ratio``."""
    fixed = random.Random(f"{trace} {capacity}")
    units = [fixed.randint(40, 120) for _ in range(9)]
    units.append(800 - sum(units))
    drawn = random.Random(f"{trace} {capacity} {policy} {seed} {sorted(changes.items())}")
    hits = [sum(drawn.random() < ratio for _ in range(count)) for count in units]
    series = [0] * 32
    for _ in range(sum(hits)):
        series[drawn.choice([place for place, count in enumerate(series) if count < 25])] += 1
    values: dict[str, Any] = {
        "identity__policy": policy, "label": policy, "identity__seed": seed, "identity__capacity": capacity,
        "identity__fingerprint": f"{sum(map(ord, trace)):016x}", "trace__name": trace, "trace__requests": 1067,
        "trace__size_unit": "bytes", "capacity": 1000 * int(capacity.rstrip("%")),
        "counts__requests": 800, "counts__hits": sum(hits), "counts__size": 80_000, "counts__hit_size": 90 * sum(hits),
        "units": {
            "kind": "users", "requests": units, "hits": hits, "sizes": [100 * count for count in units],
            "hit_sizes": [90 * count for count in hits],
        },
        "series": {"hits": series, "window": 25},
    }  # fmt: skip
    sidecar = {"build_id": "ab12", "seconds": 0.5, "requests_per_second": drawn.uniform(1e5, 5e6), "system": "Test OS", "cores": 2}
    write_cell(folder, make_cell(**{**values, **changes}), sidecar)


def fill(folder: Path) -> None:
    """Two traces, six policies, two capacities; labels and prefetching on the first trace."""
    ratios = {"fifo": 0.3, "lru": 0.35, "s3-fifo": 0.4, "gdsf": 0.42, "belady": 0.7}
    for trace, shift in (("alpha", 0.0), ("beta", 0.1)):
        for capacity, more in (("1%", 0.0), ("10%", 0.2)):
            for policy, ratio in ratios.items():
                add(folder, trace, capacity, policy, ratio + shift + more)
            for seed in (1, 2):
                add(folder, trace, capacity, "learned", 0.45 + shift + more, seed=seed)
    for labels in ("without", "permuted uniform #1", "permuted uniform #2"):
        for capacity in ("1%", "10%"):
            for seed in (1, 2) if labels == "without" else (1,):
                add(folder, "alpha", capacity, "learned", 0.44, seed=seed, identity__labels=labels)
    for latency, used in ((0, 300), (500_000, 200)):
        for seed in (1, 2):
            prefetch = {"policy": "planner", "parameters": {}, "budget": "2/request", "latency_us": latency}
            add(
                folder, "alpha", "1%", "lru", 0.5, seed=seed, identity__prefetch=prefetch, counts__prefetched=500 + seed,
                counts__prefetches_used=used, counts__prefetches_late=seed, counts__prefetched_size=50_000,
                counts__prefetch_wasted_size=100,
            )  # fmt: skip


def raw(folder: Path) -> list[dict[str, Any]]:
    """The cells as they are on disk."""
    return documents(folder)


def chosen(folder: Path, trace: str, policy: str, capacity: str, **identity: Any) -> list[dict[str, Any]]:
    """The cells of one policy; without labels and prefetching unless they are named."""
    wanted = {"labels": "given", "prefetch": None, **identity}
    return [
        cell
        for cell in raw(folder)
        if cell["trace"]["name"] == trace and cell["label"] == policy and cell["identity"]["capacity"] == capacity
        and all(cell["identity"].get(name) == value for name, value in wanted.items())
    ]  # fmt: skip


def ratio(cells: list[dict[str, Any]], part: str = "hits", whole: str = "requests") -> float:
    """The mean hit ratio of cells in %."""
    assert cells
    return 100 * mean(float(cell["counts"][part]) / float(cell["counts"][whole]) for cell in cells)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of results that has data for every section."""
    folder = tmp_path_factory.mktemp("report") / "suite"
    fill(folder)
    return folder


CALIBRATION = {
    "schema": "halcyon.replay/3", "trace": {"path": "alpha.csv"},
    "runs": [
        {
            "label": "lru", "mode": "shared", "capacity_asked": "1%", "seed": seed,
            "prefetch": {
                "policy": "planner", "fetch_latency": 0,
                "calibration": [
                    {"from": 0, "to": 0.1, "count": 1000, "predicted": 0.05, "observed": 0.04 + 0.01 * seed},
                    {"from": 0.1, "to": 1, "count": 0, "predicted": 0, "observed": 0},
                ],
            },
        }
        for seed in (1, 2)
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of `replay run` in the form that the test below compares with the command's."""
    path = tmp_path_factory.mktemp("runs") / "run.json"
    path.write_text(json.dumps(CALIBRATION))
    return path


@pytest.fixture(scope="module")
def page(results: Path, run_file: Path) -> Path:
    """The page of ``results``."""
    path = results.parent / "report.html"
    assert lab.report(results, path, title="Test", runs=[run_file]) == len(raw(results)) == 40
    return path


@functools.cache
def need_browser() -> None:
    """Skips, aloud, without Chromium; fails if HALCYON_STRICT is 1."""
    if find_browser() is None:
        sentence = "the report was not opened: no Chromium with chromedriver; .ci/install-dependencies browser installs them"
        if os.environ.get("HALCYON_STRICT") == "1":
            pytest.fail(sentence)
        warnings.warn(sentence)
        pytest.skip(sentence)


@pytest.fixture(scope="module")
def chrome() -> Iterator[Chrome]:
    """A browser at 1280 pixels."""
    need_browser()
    with browser() as driver:
        yield driver


@pytest.fixture
def opened(chrome: Chrome, page: Path) -> Chrome:
    """The page, freshly loaded."""
    open_page(chrome, page)
    return chrome


def data(driver: Chrome, chart: str) -> list[dict[str, Any]]:
    """What a chart shows: name, x and y of each trace of Plotly."""
    script = (
        "const found = document.getElementById(arguments[0]).data || [];"
        "return found.map((each) => ({name: each.name, x: [...each.x], y: [...each.y],"
        "  low: ((each.error_y || each.error_x || {}).arrayminus || null), high: ((each.error_y || each.error_x || {}).array || null)}))"
    )
    found: list[dict[str, Any]] = driver.execute_script(script, chart)
    return found


def line(driver: Chrome, chart: str, name: str) -> dict[str, Any]:
    """The one trace with a name."""
    (found,) = [each for each in data(driver, chart) if each["name"] == name]
    return found


def select(driver: Chrome, control: str, text: str) -> None:
    """Chooses an entry of a list by its text."""
    from selenium.webdriver.support.ui import Select

    Select(driver.find_element("id", control)).select_by_visible_text(text)


def press(driver: Chrome, selector: str) -> None:
    """Clicks an element that may be covered by its label."""
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def log(driver: Chrome, kind: str) -> list[Any]:
    """The entries of a log of the browser since the last call."""
    entries: list[Any] = driver.get_log(kind)  # type: ignore[no-untyped-call]
    return entries


def errors(driver: Chrome) -> list[Any]:
    """Messages of the console since the last call."""
    return [entry for entry in log(driver, "browser") if entry["level"] in ("SEVERE", "WARNING")]


def test_page_opens_without_errors_and_without_network(opened: Chrome) -> None:
    assert errors(opened) == []
    assert opened.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)") == []
    messages = [json.loads(entry["message"])["message"] for entry in log(opened, "performance")]
    requested = {each["params"]["request"]["url"] for each in messages if each["method"] == "Network.requestWillBeSent"}
    assert requested and all(url.startswith(("file:", "data:", "blob:", "about:")) for url in requested)


def test_every_section_is_there_with_its_traces(opened: Chrome) -> None:
    sections = opened.execute_script("return [...document.querySelectorAll('section')].map((each) => each.id)")
    assert sections == [
        "curves", "differences", "series", "worst", "costs", "gains", "prefetch", "calibration", "runs", "provenance",
    ]  # fmt: skip
    links = opened.execute_script("return [...document.querySelectorAll('.contents a')].map((each) => each.hash.slice(1))")
    assert links == sections
    counts = {chart: len(data(opened, f"chart-{chart}")) for chart in
              ("curves", "differences", "series", "worst", "costs", "gains", "precision", "traffic", "fetched", "calibration")}  # fmt: skip
    assert counts == {
        "curves": 5 + 1,  # core policies, and the band of learned's seeds
        "differences": 3,  # without lru itself and the optimum
        "series": 2 * 3,  # with bands
        "worst": 2 * 5 + 1,  # a bar and a point of all but FIFO, and one trace for the crosses
        "costs": 5,  # the optimum is a line
        "gains": 2, "precision": 2, "traffic": 2, "fetched": 2, "calibration": 2,
    }  # fmt: skip
    described = opened.execute_script("return [...document.querySelectorAll('section')].filter((each) => !each.querySelector('.read')).length")
    assert described == 0


def test_another_trace_policy_and_measure_show_the_cells_values(opened: Chrome, results: Path) -> None:
    def expected(trace: str, policy: str, **counts: str) -> list[float]:
        return [ratio(chosen(results, trace, policy, capacity), **counts) for capacity in ("1%", "10%")]

    for trace in ("alpha", "beta"):
        select(opened, "choose-trace", trace)
        for policy in CORE:
            shown = line(opened, "chart-curves", policy)
            assert shown["x"] == [1000, 10_000]
            assert shown["y"] == pytest.approx(expected(trace, policy), abs=1e-3)
    assert expected("alpha", "learned") != pytest.approx(expected("beta", "learned"), abs=1e-3)

    band = line(opened, "chart-curves", "learned (band)")
    seeds = [[ratio([cell]) for cell in chosen(results, "beta", "learned", capacity)] for capacity in ("1%", "10%")]
    assert band["y"] == pytest.approx([*map(min, seeds), *reversed([*map(max, seeds)])], abs=1e-3)

    press(opened, "input[name=view][value=miss]")
    assert line(opened, "chart-curves", "gdsf")["y"] == pytest.approx([100 - value for value in expected("beta", "gdsf")], abs=1e-3)
    press(opened, "input[name=view][value=hit]")
    press(opened, "input[name=measure][value=byte]")
    assert line(opened, "chart-curves", "gdsf")["y"] == pytest.approx(expected("beta", "gdsf", part="hit_size", whole="size"), abs=1e-3)
    press(opened, "input[name=measure][value=object]")

    # Few policies are all shown.
    assert line(opened, "chart-curves", "fifo")["y"] == pytest.approx(expected("beta", "fifo"), abs=1e-3)
    assert opened.find_element("id", "choose-policies").text.startswith("6 of 6")
    press(opened, ".popup input[value='fifo']")
    press(opened, ".popup input[value='gdsf']")
    names = [each["name"] for each in data(opened, "chart-curves")]
    assert names == ["learned (band)", "learned", "lru", "s3-fifo", "belady"]
    press(opened, ".popup input[value='fifo']")
    assert line(opened, "chart-curves", "fifo")["y"] == pytest.approx(expected("beta", "fifo"), abs=1e-3)
    assert opened.find_element("id", "choose-policies").text.startswith("5 of 6")
    assert errors(opened) == []


def test_differences_have_the_paired_intervals(opened: Chrome, results: Path) -> None:
    frame = lab.load(results)
    found = lab.differences(frame[frame["label_control"] == "given"], "lru")
    for policy in ("learned", "s3-fifo", "gdsf"):
        shown = line(opened, "chart-differences", policy)
        rows = found[(found["trace"] == "alpha") & (found["run"] == policy)].sort_values("capacity_size")
        points = [
            ratio(chosen(results, "alpha", policy, capacity)) - ratio(chosen(results, "alpha", "lru", capacity))
            for capacity in ("1%", "10%")
        ]
        assert shown["y"] == pytest.approx(points, abs=1e-3)
        assert [y - low for y, low in zip(shown["y"], shown["low"])] == pytest.approx([100 * v for v in rows["low"]], abs=1e-3)
        assert [y + high for y, high in zip(shown["y"], shown["high"])] == pytest.approx([100 * v for v in rows["high"]], abs=1e-3)
        assert all(low > 0 for low in shown["low"])
    press(opened, "#choose-optimum")
    assert "belady" in [each["name"] for each in data(opened, "chart-differences")]


def test_time_series_average_eight_windows(opened: Chrome, results: Path) -> None:
    def points(policy: str) -> list[float]:
        runs = [cell["series"]["hits"] for cell in chosen(results, "alpha", policy, "10%")]
        return [100 * mean(sum(run[start : start + 8]) / 200 for run in runs) for start in range(0, 32, 8)]

    difference = [a - b for a, b in zip(points("learned"), points("lru"))]
    assert line(opened, "chart-series", "learned")["y"] == pytest.approx(difference, abs=1e-3)
    press(opened, "input[name=series][value=ratio]")
    assert line(opened, "chart-series", "learned")["y"] == pytest.approx(points("learned"), abs=1e-3)
    assert line(opened, "chart-series", "learned")["x"] == pytest.approx([12.5, 37.5, 62.5, 87.5])

    # One run: the interval is that of a mean of eight windows of 25 requests, with 7 degrees of freedom.
    (cell,) = chosen(results, "alpha", "s3-fifo", "10%")
    first = [100 * hits / 25 for hits in cell["series"]["hits"][:8]]
    spread = math.sqrt(sum((value - mean(first)) ** 2 for value in first) / 7 / 8)
    band = line(opened, "chart-series", "s3-fifo (band)")["y"]
    assert (band[0] - band[-1]) / 2 == pytest.approx(2.364624 * spread, abs=1e-3)


def test_worst_case_is_that_of_the_traces(opened: Chrome, results: Path) -> None:
    def over(trace: str) -> float:
        return mean(
            100 * ((100 - ratio(chosen(results, trace, "lru", name))) / (100 - ratio(chosen(results, trace, "fifo", name))) - 1)
            for name in ("1%", "10%")
        )

    low, high = sorted((over("alpha"), over("beta")))
    assert line(opened, "chart-worst", "lru")["x"] == [pytest.approx((low + high) / 2, abs=1e-3)]
    bar = line(opened, "chart-worst", "lru (10th to 90th percentile)")["x"]
    assert bar == pytest.approx([low + 0.1 * (high - low), low + 0.9 * (high - low)], abs=1e-3)
    assert any(x == pytest.approx(high, abs=1e-3) for x in line(opened, "chart-worst", "worst trace")["x"])


def test_costs_are_those_of_the_sidecars(opened: Chrome, results: Path) -> None:
    sidecars = {path.stem: json.loads(path.read_text()) for path in (results / "provenance").iterdir()}

    def microseconds(cells: list[dict[str, Any]]) -> list[float]:
        return [1e6 / float(sidecars[lab.identity_hash(cell["identity"])]["requests_per_second"]) for cell in cells]

    select(opened, "choose-cost-trace", "beta")
    shown = line(opened, "chart-costs", "learned")
    cells = [chosen(results, "beta", "learned", name) for name in ("1%", "10%")]
    base = [chosen(results, "beta", "lru", name) for name in ("1%", "10%")]
    fast, slow = (mean(end(microseconds(runs)) for runs in cells) for end in (min, max))
    assert shown["x"] == [pytest.approx(fast, abs=1e-3)]
    script = (
        "return document.getElementById('chart-costs').data.find((each) => each.name === 'learned').error_x"
    )
    bar = opened.execute_script(script)
    assert (bar["array"], bar["arrayminus"]) == ([pytest.approx(slow - fast, abs=1e-3)], [0])
    warning = opened.find_element("id", "warning-costs").text
    assert warning.startswith("Warning: 4 of 5 policies have one run of each cell, so that their noise is unknown; ")
    assert warning.endswith("Compare speeds with the benchmarks, not with this chart.")
    assert shown["y"] == [pytest.approx(10 * mean(ratio(a) - ratio(b) for a, b in zip(cells, base)), abs=1e-3)]
    assert errors(opened) == []


def test_gains_are_over_the_controls(opened: Chrome, results: Path) -> None:
    given = [ratio(chosen(results, "alpha", "learned", name)) for name in ("1%", "10%")]
    without = [ratio(chosen(results, "alpha", "learned", name, labels="without")) for name in ("1%", "10%")]
    permuted = [
        mean(ratio(chosen(results, "alpha", "learned", name, labels=f"permuted uniform #{place}")) for place in (1, 2))
        for name in ("1%", "10%")
    ]
    for name, control in (("over one category for all objects", without), ("over labels permuted uniform", permuted)):
        shown = line(opened, "chart-gains", name)
        assert shown["x"] == pytest.approx([a - b for a, b in zip(given, control)], abs=1e-3)
        assert all(low > 0 for low in shown["low"])


def test_prefetching_is_compared_with_the_same_cache_without(opened: Chrome, results: Path) -> None:
    prefetch = {"policy": "planner", "parameters": {}, "budget": "2/request", "latency_us": 0}
    cells = chosen(results, "alpha", "lru", "1%", prefetch=prefetch)
    (base,) = chosen(results, "alpha", "lru", "1%")
    misses = 800 - base["counts"]["hits"]
    assert len(cells) == 2
    name = "lru, prefetch planner, ideal (zero latency)"
    shown = line(opened, "chart-precision", name)
    assert shown["y"] == [pytest.approx(100 * mean((300 / 501, 300 / 502)), abs=1e-3)]
    assert shown["x"] == [pytest.approx(100 * mean((misses - 800 + cell["counts"]["hits"]) / misses for cell in cells), abs=1e-3)]
    shown = line(opened, "chart-traffic", name)
    fetched = [(800 - cell["counts"]["hits"] + 500 + cell["identity"]["seed"] - cell["identity"]["seed"]) / 800 for cell in cells]
    assert shown["x"] == [pytest.approx(mean(fetched), abs=1e-3)]
    assert shown["y"] == [pytest.approx(ratio(cells) - ratio([base]), abs=1e-3)]
    assert "ideal (zero latency)" in opened.find_element("id", "legend-prefetch").text


def test_calibration_has_wilson_intervals(opened: Chrome) -> None:
    shown = line(opened, "chart-calibration", "planner, ideal (zero latency), alpha.csv, shared cache, lru at 1%")
    assert (shown["x"], shown["y"]) == ([pytest.approx(5)], [pytest.approx(5.5)])
    expected = binomtest(55, 1000).proportion_ci(0.95, "wilson")
    assert shown["y"][0] - shown["low"][0] == pytest.approx(100 * expected.low, abs=1e-3)
    assert shown["y"][0] + shown["high"][0] == pytest.approx(100 * expected.high, abs=1e-3)


def rows(driver: Chrome, column: str) -> list[str]:
    """A column of the table of runs."""
    found: list[str] = driver.execute_script(
        "const heads = [...document.querySelectorAll('#table-runs th')].map((each) => each.textContent);"
        "const place = heads.indexOf(arguments[0]);"
        "return [...document.querySelectorAll('#table-runs tbody tr')].map((each) => each.children[place].textContent)",
        column,
    )
    return found


def test_table_is_sorted_and_filtered(opened: Chrome, results: Path) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

    (head,) = [each for each in opened.find_elements("css selector", "#table-runs th") if each.text == "hit ratio, %"]
    expected = sorted(100 * cell["counts"]["hits"] / 800 for cell in raw(results))
    head.find_element("tag name", "button").send_keys(Keys.ENTER)
    assert [float(text) for text in rows(opened, "hit ratio, %")] == pytest.approx(expected, abs=0.0051)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element("tag name", "button").send_keys(Keys.ENTER)
    assert [float(text) for text in rows(opened, "hit ratio, %")] == pytest.approx(expected[::-1], abs=0.0051)
    assert head.get_attribute("aria-sort") == "descending"

    opened.find_element("id", "filter-runs").send_keys("beta S3-FIFO")
    status = opened.find_element("id", "status-runs")
    WebDriverWait(opened, 5).until(lambda _: status.text == "1 to 2 of 2 runs")
    assert rows(opened, "trace") == ["beta", "beta"] and rows(opened, "policy") == ["s3-fifo", "s3-fifo"]
    opened.find_element("id", "filter-runs").send_keys(" nothing")
    WebDriverWait(opened, 5).until(lambda _: status.text == "No run matches the filter.")


def test_controls_work_by_keyboard(opened: Chrome) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    reached = []
    for _ in range(40):
        ActionChains(opened).send_keys(Keys.TAB).perform()
        reached.append(opened.execute_script("return document.activeElement.id || document.activeElement.name || ''"))
    assert {"choose-trace", "choose-mode", "choose-setting", "view", "measure", "choose-policies", "choose-optimum"} <= set(reached)
    before = data(opened, "chart-curves")[0]["y"]
    opened.find_element("id", "choose-trace").send_keys(Keys.ARROW_DOWN)
    assert data(opened, "chart-curves")[0]["y"] != before
    assert opened.execute_script("return document.activeElement.id") == "choose-trace"


@pytest.mark.parametrize("dark", [False, True])
def test_page_fits_a_narrow_screen_and_has_two_schemes(page: Path, tmp_path: Path, dark: bool) -> None:
    need_browser()
    with browser(380, 800, dark=dark) as driver:
        open_page(driver, page)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 380
        wide = driver.execute_script(
            "return [...document.querySelectorAll('.chart, select, fieldset')].filter((each) => each.getBoundingClientRect().right > 381).map((each) => each.id)"
        )
        assert wide == []
        back = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (back == "rgb(255, 255, 255)") is not dark
        colour = driver.execute_script("return document.getElementById('chart-curves').data.at(-1).line.color")
        assert colour == ("#f0f1f3" if dark else "#1c1e21")
        picture = capture(driver, 380)
    assert picture.startswith(b"\x89PNG") and int.from_bytes(picture[16:20]) == 380
    assert int.from_bytes(picture[20:24]) > 3000


def test_screenshot_is_a_picture_of_the_whole_page(page: Path, tmp_path: Path) -> None:
    need_browser()
    screenshot(page, tmp_path / "report.png")
    content = (tmp_path / "report.png").read_bytes()
    assert content.startswith(b"\x89PNG") and int.from_bytes(content[16:20]) == 1280
    assert [path.name for path in tmp_path.iterdir()] == ["report.png"]


def test_printed_page_has_light_colours_and_no_controls_that_need_a_screen(opened: Chrome) -> None:
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    result = opened.execute_cdp_cmd("Page.printToPDF", {})
    assert base64.b64decode(result["data"]).startswith(b"%PDF")
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    assert errors(opened) == []


class Parsed(html.parser.HTMLParser):
    """The tags, the links and the JSON of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.scripts: dict[str, str] = defaultdict(str)
        self._id: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]
        self._id = dict(attrs).get("id") if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._id:
            self.scripts[self._id] += data

    def columns(self) -> dict[str, list[Any]]:
        """The cells' columns, decoded."""
        columns = json.loads(self.scripts["halcyon-cells"])["columns"]
        return {
            name: column if isinstance(column, list)
            else [None if code < 0 else column["values"][code] for code in column["codes"]]
            for name, column in columns.items()
        }  # fmt: skip


def test_page_is_one_file_with_the_cells(page: Path, results: Path, run_file: Path) -> None:
    text = page.read_text()
    parsed = Parsed(text)
    assert parsed.links and all(link.startswith("#") for link in parsed.links)
    assert text.count("plotly.js v") == 1
    assert "default-src 'none'" in text
    assert str(results.parent) not in text
    columns = parsed.columns()
    found = {name: (hits, suite) for name, hits, suite in zip(columns["hash"], columns["hits"], columns["suite"])}
    assert found == {lab.identity_hash(cell["identity"]): (cell["counts"]["hits"], "suite") for cell in raw(results)}
    lab.report(results, page.with_name("again.html"), title="Test", runs=[run_file])
    assert page.with_name("again.html").read_text() == text


def test_hash_of_all_cells_is_what_the_page_says_how_to_compute(page: Path, results: Path) -> None:
    # The cells are files here, which are the lines of a pack.
    command = f'cat "{results}/cells"/*.json | LC_ALL=C sort -u | sha256sum'
    done = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)
    facts = json.loads(Parsed(page.read_text()).scripts["halcyon-data"])["provenance"]["facts"]
    assert [values for name, values in facts if name == "hash of all cells"] == [[[done.stdout.split()[0], None]]]


def test_belady_is_a_bound_of_equal_sizes_and_a_mark_of_others(tmp_path: Path, chrome: Chrome) -> None:
    bound = "where all sizes are equal, it is the bound for caches without prefetching"
    mark = "where sizes vary, it is a mark and not the optimum, which belady-size may exceed"
    for name, sizes, sentence, label in (
        ("equal", (10,), f"belady knows the future: {bound}.", "belady (bound): "),
        ("vary", (500,), f"belady knows the future: {mark}.", "belady (a mark: sizes vary): "),
        ("both", (10, 500), f"belady knows the future: {bound}; {mark}.", "belady (a mark: sizes vary): "),
    ):
        folder = tmp_path / name
        for trace, size in zip(("alpha", "beta"), sizes):
            for policy, ratio in (("lru", 0.3), ("belady", 0.7)):
                add(folder, trace, "1%", policy, ratio, trace__distinct_size=size)
        lab.report(folder, tmp_path / "report.html")
        open_page(chrome, tmp_path / "report.html")
        text = " ".join(chrome.find_element("id", "curves").text.split())
        assert sentence in text
        script = "return document.getElementById('chart-costs').layout.annotations.map((each) => each.text)"
        assert [each.startswith(label) for each in chrome.execute_script(script)] == [True]
    folder = tmp_path / "online"
    add(folder, "alpha", "1%", "lru", 0.3)
    lab.report(folder, tmp_path / "report.html")
    assert "knows the future" not in (tmp_path / "report.html").read_text().split("<script")[0]


def test_arms_of_per_user_caches_are_named_by_who_knew_what(tmp_path: Path) -> None:
    users: dict[str, Any] = {"identity__mode": "per_user"}
    prefetch = {"policy": "planner", "parameters": {}, "budget": "2/request", "latency_us": 1_000_000}
    counts = {"counts__prefetched": 40, "counts__prefetches_used": 20, "counts__prefetches_late": 0}
    add(tmp_path / "suite", "alpha", "1%", "lru", 0.3, **users)
    for knowledge in ("server", "device"):
        add(tmp_path / "suite", "alpha", "1%", "learned", 0.4, seed=1, identity__knowledge=knowledge, **users)
    add(tmp_path / "suite", "alpha", "1%", "lru", 0.5, identity__prefetch=prefetch, identity__knowledge="server", **counts, **users)
    add(tmp_path / "suite", "alpha", "1%", "lru", 0.35, identity__prefetch=prefetch, identity__knowledge="device", **counts, **users)
    lab.report(tmp_path / "suite", tmp_path / "report.html", baseline="learned, device knowledge")
    text = (tmp_path / "report.html").read_text()
    found = re.search(r'<script type="application/json" id="halcyon-data">(.*?)</script>', text, re.DOTALL)
    assert found
    shown = json.loads(found[1])
    assert shown["baseline"] == "learned, device knowledge"
    assert {arm["name"] for arm in shown["arms"]} == {
        "lru", "learned, server knowledge", "learned, device knowledge", "lru, prefetch planner, 1 s, server knowledge",
        "lru, prefetch planner, 1 s, device knowledge",
    }  # fmt: skip
    lru = 100 * sum(chosen(tmp_path / "suite", "alpha", "lru", "1%")[0]["counts"]["hits"] for _ in range(1)) / 800
    assert [(row["policy"], row["hit_ratio_without"]) for row in shown["prefetch"]] == [("lru", lru), ("lru", lru)]
    assert "one model and one planner that learn from the live\nrequests of all users" in text


def test_names_are_escaped(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = tmp_path / "suite"
    for policy in ("lru", EVIL):
        for capacity in ("1%", "10%"):
            add(folder, EVIL, capacity, policy, 0.5)
    path = tmp_path / "report.html"
    lab.report(folder, path, title=EVIL, baseline=EVIL)
    parsed = Parsed(path.read_text())
    assert set(parsed.columns()["trace"]) == {EVIL}
    assert parsed.tags.count("script") == 2 + 1 + 5 and "b" not in parsed.tags[: parsed.tags.index("main")]
    driver: Chrome = request.getfixturevalue("chrome")
    open_page(driver, path)
    assert errors(driver) == []
    assert driver.find_element("tag name", "h1").text == EVIL
    assert rows(driver, "trace")[0] == EVIL
    assert EVIL in driver.find_element("id", "legend-curves").text
    assert driver.execute_script("return document.querySelectorAll('main b').length") <= driver.execute_script(
        "return document.querySelectorAll('#absent b').length"
    )


def test_one_cell_makes_a_page_that_says_what_is_absent(tmp_path: Path, chrome: Chrome) -> None:
    folder = tmp_path / "suite"
    write_cell(folder, make_cell())
    assert lab.report(folder, tmp_path / "report.html") == 1
    open_page(chrome, tmp_path / "report.html")
    assert errors(chrome) == []
    sections = chrome.execute_script("return [...document.querySelectorAll('section')].map((each) => each.id)")
    assert sections == ["curves", "runs", "provenance", "absent"]
    (shown,) = data(chrome, "chart-curves")
    assert (shown["name"], shown["x"]) == ("lru", [50])
    text = chrome.find_element("id", "absent").text
    assert "Calibration: stored cells hold no predictions. Run replay run TRACE --prefetch planner --format json" in text
    assert "Cost against benefit: speed is in the folders provenance" in text
    assert "without provenance (build and machine unknown)" in chrome.find_element("id", "facts").text


def test_cells_without_requests_or_capacity_are_shown_in_the_table(tmp_path: Path, chrome: Chrome) -> None:
    folder = tmp_path / "suite"
    none = {"requests": 0, "hits": 0, "size": 0, "hit_size": 0, "evictions": 0, "refused": 0}
    write_cell(folder, make_cell(counts=none, units=None))
    write_cell(folder, make_cell(identity__capacity=None, identity__tiers={"memory": "1%", "disk": "10%"}, units=None))
    lab.report(folder, tmp_path / "report.html")
    open_page(chrome, tmp_path / "report.html")
    assert errors(chrome) == []
    assert sorted(rows(chrome, "capacity")) == ["1 %", "memory 1 %, disk 10 %"]


def test_folder_without_cells_is_an_error_and_keeps_the_page(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    path = tmp_path / "report.html"
    path.write_text("earlier")
    with pytest.raises(lab.ResultsError, match="there is no cell to report; run `replay sweep` first"):
        lab.report(tmp_path, path)
    assert path.read_text() == "earlier"
    done = subprocess.run([sys.executable, "-m", "lab", "report", str(tmp_path), str(path)], capture_output=True, text=True)
    assert done.returncode == 65 and done.stderr.count("\n") == 1


def test_wrong_arguments_are_one_sentence(tmp_path: Path, results: Path) -> None:
    with pytest.raises(lab.UsageError, match="no cell has the run 'x'; runs in these results: belady, fifo"):
        lab.report(results, tmp_path / "report.html", baseline="x")
    for content, sentence in (
        ("{", "is no JSON result of `replay run` or `replay explain`"),
        ('{"schema": "halcyon.cell/1"}', "is no JSON result"),
        ('{"schema": "halcyon.replay/3"}', "has an unexpected form"),
        ('{"schema": "halcyon.replay/3", "trace": {"path": "a"}, "runs": []}', "has no calibration"),
    ):
        path = tmp_path / "run.json"
        path.write_text(content)
        with pytest.raises(lab.ResultsError, match=re.escape(sentence)):
            lab.report(results, tmp_path / "report.html", runs=[path])
    with pytest.raises(lab.ResultsError, match="cannot be read"):
        lab.report(results, tmp_path / "report.html", runs=[tmp_path / "absent.json"])
    assert not (tmp_path / "report.html").exists()


def test_results_of_the_command_have_the_calibration_that_is_read(replay: str, results: Path, tmp_path: Path) -> None:
    trace = str(ROOT / "Traces" / "shop.csv")
    run, explained = tmp_path / "run.json", tmp_path / "explain.json"
    command = [replay, "run", trace, "--limit", "20000", "--policy", "lru", "--only", "--prefetch", "planner,none", "--capacity", "5%"]
    subprocess.run([*command, "--format", "json", "--output", str(run)], check=True, capture_output=True)
    command = [replay, "explain", trace, "--limit", "20000", "--format", "json", "--output", str(explained)]
    subprocess.run(command, check=True, capture_output=True)
    lab.report(results, tmp_path / "report.html", runs=[run, explained])
    shown = json.loads(Parsed((tmp_path / "report.html").read_text()).scripts["halcyon-data"])["calibration"]
    (stored,) = [each["prefetch"]["calibration"] for each in json.loads(run.read_text())["runs"] if "prefetch" in each]
    assert [each["observed"] for each in shown[0]["bins"]] == pytest.approx(
        [100 * each["observed"] for each in stored if each["count"]], abs=1e-3
    )
    assert len(shown) == 2 and sum(each["count"] for each in shown[1]["bins"]) > 0


def test_one_trace_under_two_names_counts_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    add(first, "web", "1%", "lru", 0.5)
    add(second, "web_objects", "1%", "lru", 0.5, identity__fingerprint=f"{sum(map(ord, 'web')):016x}", units=None, series=None)
    with pytest.raises(lab.ResultsError, match="differs from .*; a cell has the same counts wherever it was run"):
        lab.report([first, second], tmp_path / "report.html")
    (cell,) = raw(first)
    (path,) = (second / "cells").iterdir()
    path.write_text(json.dumps({**cell, "trace": {**cell["trace"], "name": "web_objects"}}))
    assert lab.report([first, second], tmp_path / "report.html") == 1
    columns = Parsed((tmp_path / "report.html").read_text()).columns()
    assert (columns["trace"], columns["suite"]) == (["web_objects"], ["first, second"])
    assert "web_objects (also named web)" in (tmp_path / "report.html").read_text()


def test_page_of_all_stored_results(chrome: Chrome, tmp_path: Path) -> None:
    folders = [path.parent for path in sorted((ROOT / "Experiments" / "results").glob("*/cells.jsonl.zst"))]
    if not folders:
        pytest.skip("no results are stored")
    path = tmp_path / "report.html"
    assert lab.report(folders, path) == len({name for folder in folders for name in cell_bytes(folder)})
    assert path.stat().st_size < 12e6
    open_page(chrome, path)
    assert errors(chrome) == []
    # 2 s on a quiet machine; the limit is for one that is not.
    assert chrome.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd") < 12_000
    select(chrome, "choose-trace", "web12")
    files = documents(ROOT / "Experiments" / "results" / "policies")
    for policy in CORE:
        own = [each for each in files if each["trace"]["name"] == "web12" and each["label"] == policy]
        expected = [ratio([each for each in own if each["identity"]["capacity"] == name]) for name in ("1%", "5%", "10%", "20%")]
        assert line(chrome, "chart-curves", policy)["y"] == pytest.approx(expected, abs=1e-3)
    over: dict[str, list[float]] = defaultdict(list)
    misses = {(each["trace"]["name"], each["identity"]["capacity"], each["label"]): 1 - ratio([each]) / 100 for each in files}
    for (trace, capacity, policy), miss in misses.items():
        if policy == "s3-fifo":
            over[trace].append(100 * (miss / misses[trace, capacity, "fifo"] - 1))
    once: dict[str, list[float]] = defaultdict(list)
    for trace, values in over.items():
        once[trace.removesuffix("_objects")].append(mean(values))
    assert line(chrome, "chart-worst", "s3-fifo")["x"] == [pytest.approx(mean(map(mean, once.values())), abs=1e-3)]
