"""Tables of results with several kinds of knowledge, lifetimes, budgets and result versions, each in its own column."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd
import pytest

import lab
from conftest import ROOT, documents, make_cell, write_cell
from lab.comparison import SETTING, Pairing, Sides, compare
from lab.evidence import TABLES, apps, claims
from lab.evidence.formats import forget, pairs_once

pytestmark = pytest.mark.usefixtures("replay")


def counted(hits: int, **changes: Any) -> dict[str, Any]:
    """A cell of 40 counted requests of four users."""
    parts = [hits // 4 + (1 if place < hits % 4 else 0) for place in range(4)]
    return make_cell(
        counts__requests=40, counts__hits=hits, counts__size=40, counts__hit_size=hits,
        units={"kind": "users", "requests": [10] * 4, "hits": parts}, **changes,
    )  # fmt: skip


def table(name: str, results: Path) -> list[dict[str, str]]:
    """The rows of a table by the heads of its columns."""
    suite, make = TABLES[name]
    header, _, *rows = [line.strip("| ").split(" | ") for line in make(results / suite).splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


OFF, ON = {"visits": "off", "visit-price": "0.01"}, {"visits": "on", "visit-price": "0.01"}


def visit(results: Path, hits: int, knowledge: str, prefetch: Mapping[str, Any] | None, **counts: int) -> None:
    """Writes a cell of the suite visits, of the trace news."""
    changes: dict[str, Any] = {f"counts__{name}": value for name, value in counts.items()}
    changes["latency"] = {"mean_ms": f"{1000 * (1 - hits / 40):.3f}", "p99_ms": "1000"}
    if prefetch is not None:
        changes["identity__prefetch"] = {"budget": "2/request", "latency_us": 1_000_000, "parameters": {}, **prefetch}
    write_cell(
        results / "visits",
        counted(
            hits, identity__policy="learned", label="learned", identity__mode="per_user", identity__capacity="60",
            identity__knowledge=knowledge, identity__seed=1, trace__name="globo_news", trace__time_resolution_us=60_000_000, **changes,
        ),
    )  # fmt: skip


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """No prefetching with 10 hits for a model of all users and 8 for one a user; planner(visits=on) with 20 and 8."""
    ours = {"policy": "planner", "parameters": ON}
    visit(tmp_path, 10, "server", None)
    visit(tmp_path, 20, "server", ours, prefetched=50, prefetches_used=15, prefetches_late=2)
    visit(tmp_path, 13, "server", {**ours, "budget": "0/request"}, prefetched=0, prefetches_used=0, prefetches_late=0)
    visit(tmp_path, 12, "server", {"policy": "planner", "parameters": OFF}, prefetched=4, prefetches_used=2, prefetches_late=0)
    visit(tmp_path, 11, "server", {"policy": "visit-refill"}, prefetched=8, prefetches_used=2, prefetches_late=0)
    visit(tmp_path, 8, "device", None)
    visit(tmp_path, 8, "device", ours, prefetched=0, prefetches_used=0, prefetches_late=0)
    visit(tmp_path, 9, "device", {"policy": "planner", "parameters": OFF}, prefetched=2, prefetches_used=1, prefetches_late=0)
    return tmp_path


def test_prefetching_has_its_price_and_the_choice_of_victims_in_the_same_row(visits: Path) -> None:
    (row,) = table("visits", visits)
    assert row["resolution of times"] == "60 s"
    assert [row[name] for name in ("none", "planner", "visit-refill", "victims alone", "planner(visits=on)")] == [
        "25.00", "30.00", "27.50", "32.50", "50.00"
    ]  # fmt: skip
    assert row["planner(visits=on) − none, points"].startswith("+25.00 (")
    # 30 misses of 40 without; 20 misses, of which 2 join a prefetch, and 50 prefetches with.
    assert row["objects fetched a request"] == f"{30 / 40:.2f} → {(20 - 2 + 50) / 40:.2f}"
    assert row["precision, %"] == "30"


def test_device_knowledge_is_beside_server_knowledge(visits: Path) -> None:
    (row,) = table("visits-knowledge", visits)
    assert list(row.values()) == [
        "globo_news", "25.00", "20.00", "30.00 (0.10)", "22.50 (0.05)", "50.00 (1.25)", "20.00 (0.00)", "–"
    ]  # fmt: skip
    (first, *others) = claims._prefetching(visits / "visits")
    assert first[2] == "25.0 → 50.0 %; fetched 0.75 → 1.70 a request, 30 % of the prefetched used"
    assert first[1] == "20.0 → 20.0 %; fetched 0.80 → 0.80 a request, nothing prefetched"
    assert [row[1:3] for row in others] == [["–", "–"]] * 4


def test_an_arm_that_was_not_run_is_a_dash(tmp_path: Path) -> None:
    visit(tmp_path, 10, "server", None)
    visit(tmp_path, 20, "server", {"policy": "planner", "parameters": ON}, prefetched=50, prefetches_used=15)
    (row,) = table("visits", tmp_path)
    assert (row["planner"], row["victims alone"], row["planner(visits=on)"]) == ("–", "–", "50.00")
    assert table("visits-knowledge", tmp_path)[0]["planner(visits=on), device"] == "–"
    for path in (tmp_path / "visits/cells").iterdir():
        if "prefetch" in json.loads(path.read_text())["identity"]:
            path.unlink()
    forget()
    assert list(table("visits-waits", tmp_path)[0].values()) == ["globo_news", "–", "–", "–"]
    assert table("visits-controls", tmp_path)[0]["capacity without prefetching"] == "–"
    assert claims._prefetching(tmp_path / "visits")[0][1] == "–"


def test_announcements_are_arms_of_their_own(tmp_path: Path) -> None:
    prefetch = {"policy": "announced", "parameters": {}, "budget": "2/request", "latency_us": 1_000_000}
    fields: dict[str, Any] = {"identity__mode": "per_user", "identity__capacity": "20"}
    write_cell(tmp_path / "prefetch", counted(10, **fields))
    for hits, count in ((20, 5), (16, 9)):
        write_cell(
            tmp_path / "prefetch",
            counted(
                hits, identity__prefetch=prefetch, identity__knowledge="device", counts__prefetched=4, counts__prefetches_used=1,
                identity__announce=f"popular(count={count})", **fields,
            ),
        )  # fmt: skip
    found = lab.contrasts(lab.load(tmp_path / "prefetch"), "prefetch", "none")
    arm = "announced 2/request 1000 ms, device knowledge, announced popular"
    assert dict(zip(found["arm"], found["difference"])) == pytest.approx({f"{arm}(count=5)": 10 / 40, f"{arm}(count=9)": 6 / 40})


def test_models_of_other_users_are_rows_of_their_own(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"identity__mode": "per_user", "identity__capacity": "20", "identity__knowledge": "device"}
    for hits, pretrain in ((10, None), (20, "other-users"), (16, "b")):
        named = {"identity__pretrain": pretrain} if pretrain else {}
        write_cell(tmp_path / "devices", counted(hits, **named, **fields))
    found = lab.load(tmp_path / "devices")
    ratios = {text: ratio for text, ratio in zip(found["pretrain"].fillna("-"), found["object_hit_ratio"])}
    assert ratios == pytest.approx({"-": 10 / 40, "other-users": 20 / 40, "b": 16 / 40})
    assert "pretrain" in SETTING


def test_a_planner_for_each_user_is_compared_with_the_same_cache_without(tmp_path: Path) -> None:
    planner = {"policy": "planner", "parameters": {}, "budget": "2/request", "latency_us": 1_000_000}
    fields: dict[str, Any] = {"identity__mode": "per_user", "identity__capacity": "20"}
    for hits, changes in (
        (10, {}),
        (22, {"identity__prefetch": planner, "identity__knowledge": "server", "counts__prefetched": 30, "counts__prefetches_used": 15}),
        (12, {"identity__prefetch": planner, "identity__knowledge": "device", "counts__prefetched": 4, "counts__prefetches_used": 1}),
    ):
        write_cell(tmp_path / "prefetch", counted(hits, **fields, **changes))
    results = lab.load(tmp_path / "prefetch")
    found = lab.contrasts(results, "prefetch", "none")
    assert dict(zip(found["arm"], found["difference"])) == pytest.approx(
        {
            "planner 2/request 1000 ms, server knowledge": 12 / 40,
            "planner 2/request 1000 ms, device knowledge": 2 / 40,
        }
    )
    assert set(found["run"]) == {"lru"}
    brought = lab.prefetching(results).set_index("arm")
    assert brought["without"].tolist() == [10 / 40, 10 / 40]
    (row,) = table("prefetch", tmp_path)
    assert (row["none"], row["planner, 1 s"], row["device knowledge: planner, 1 s"]) == ("25.0", "55.0", "30.0")
    assert (row["objects fetched a request at 1 s"], row["precision at 1 s, %"]) == ("0.75 → 1.20", "50")


def tiers(results: Path, policy: str, hits: int, *, lifetimes: bool = False, stale: int = 0) -> None:
    """Writes a cell of the suite kingfisher."""
    names = ("kingfisher-memory", "kingfisher-disk") if policy == "kingfisher" else (policy, policy)
    each: dict[str, Any] = {"memory": "1%", "disk": "16%", "memory_policy": names[0], "disk_policy": names[1]}
    if lifetimes:
        each |= {"memory_lifetime_us": 300_000_000, "disk_lifetime_us": 604_800_000_000}
    write_cell(
        results / "kingfisher",
        counted(
            hits, identity__capacity=None, identity__tiers=each, identity__policy=policy, label=policy, counts__stale=stale,
            counts__memory_hits=1, latency={"mean_ms": f"{hits}.000", "p99_ms": "1"},
        ),
    )  # fmt: skip


def test_tiers_have_kingfishers_lifetimes_or_none(tmp_path: Path) -> None:
    tiers(tmp_path, "kingfisher", 20, stale=8)
    for policy, equal, without in (("lru", 21, 26), ("s3-fifo", 22, 27), ("gdsf", 23, 28), ("learned", 24, 30)):
        tiers(tmp_path, policy, equal, lifetimes=True)
        tiers(tmp_path, policy, without)
    same, none = table("tiers", tmp_path)
    names = ("kingfisher", "lru", "s3-fifo", "gdsf", "learned", "lru − kingfisher, points", "learned − kingfisher, points")
    assert [same[name] for name in names] == ["50.0", "52.5", "55.0", "57.5", "60.0", "+2.50", "+10.00"]
    assert [none[name] for name in names] == ["50.0", "65.0", "67.5", "70.0", "75.0", "+15.00", "+25.00"]
    assert (same["lifetimes"], none["lifetimes"], same["of learned, ms"]) == ("the same", "none", "24.0")
    of_learned = [(row["lifetimes"], row["hit ratio, %"]) for row in table("kingfisher", tmp_path) if row["policy"] == "learned"]
    assert of_learned == [("Kingfisher's", "60.0"), ("none", "75.0")]
    smoke = {row["run"]: row["hit ratio"] for row in table("smoke", tmp_path)}
    assert smoke == {
        "shop, kingfisher": "50.00 %", "shop, learned, the same lifetimes": "60.00 %", "shop, learned, no lifetimes": "75.00 %"
    }  # fmt: skip
    assert apps.expired(tmp_path / "kingfisher") == {"shop": 20.0}


def test_gains_of_labels_are_of_one_kind_of_knowledge(tmp_path: Path) -> None:
    permuted = "permuted within=popularity,age,size"
    hits = {"server": {"given": 20, permuted: 14, "without": 12}, "device": {"given": 16, permuted: 15, "without": 13}}
    for knowledge, by_labels in hits.items():
        for labels, count in by_labels.items():
            for number in (1, 2):
                control = f"{labels} #{number}" if labels == permuted else labels
                write_cell(
                    tmp_path / "hypothesis",
                    counted(
                        count, identity__policy="learned", label="learned", identity__mode="per_user", identity__capacity="60",
                        identity__knowledge=knowledge, identity__labels=control, identity__seed=number,
                    ),
                )  # fmt: skip
    write_cell(tmp_path / "hypothesis", counted(10, identity__mode="per_user", identity__capacity="60"))
    (row,) = table("hypothesis", tmp_path)
    assert row["over permuted labels, points"].startswith("+15.00 (")
    assert row["over one category, points"].startswith("+20.00 (")
    assert row["device knowledge: over permuted labels"].startswith("+2.50 (")
    (row,) = table("categories", tmp_path)
    assert row["device knowledge, 60 objects: over permuted labels"].startswith("+2.50 (")
    (row,) = table("knowledge", tmp_path)
    assert list(row.values()) == ["shop", "25.00", "50.00", "40.00"]


def test_tables_are_of_the_newest_version_and_confirmation_has_the_first_run_beside_it(tmp_path: Path) -> None:
    for version, learned in ((2, 30), (5, 25)):
        for policy, hits in {"learned": learned, "lru": 20, "s3-fifo": 21, "w-tinylfu": 22, "gdsf": 23}.items():
            write_cell(
                tmp_path / "confirmatory",
                counted(hits, identity__policy=policy, label=policy, identity__result_version=version, identity__warmup="0"),
            )
    rows = table("confirmatory-eviction", tmp_path)
    assert [row["these traces"].split(" (")[0] for row in rows] == ["+12.50", "+10.00", "+7.50", "+5.00"]
    first = "these traces, result version 2"
    assert [row[first].split(" (")[0] for row in rows] == ["+25.00", "+22.50", "+20.00", "+17.50"]
    for path in (tmp_path / "confirmatory/cells").iterdir():
        if json.loads(path.read_text())["identity"]["result_version"] == 5:
            path.unlink()
    forget()
    assert first not in table("confirmatory-eviction", tmp_path)[0]


def test_both_forms_of_a_trace_are_averaged_in_the_row_of_the_readme() -> None:
    """The means of the files, computed without the package: first over both forms, then over seventeen traces."""
    cells = documents(ROOT / "Experiments/results/policies")
    ratios: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for cell in cells:
        place = (cell["trace"]["name"], cell["identity"]["capacity"], cell["label"])
        ratios[place].append(cell["counts"]["hits"] / cell["counts"]["requests"])
    traces = {trace for trace, _, _ in ratios}
    expected = []
    for rival in claims.BASELINES:
        forms: dict[str, list[float]] = defaultdict(list)
        for trace in traces:
            own = [
                mean(values) - mean(ratios[trace, capacity, rival])
                for (name, capacity, label), values in ratios.items()
                if (name, label) == (trace, "learned")
            ]
            forms[trace.removesuffix("_objects")].append(mean(own))
        assert len(forms) == 17 and sorted(map(len, forms.values()))[-3:] == [2, 2, 2]
        expected.append(f"{rival} {100 * mean(map(mean, forms.values())):+.2f}")
    row, worst = claims._eviction(ROOT / "Experiments/results/policies")
    assert expected == ["lru +6.62", "s3-fifo +2.18", "w-tinylfu +3.48", "gdsf +2.84"]
    assert [part.split(" (")[0] for part in row[2].split("), ")] == expected
    assert "17 traces" in row[0] and "count once as their mean" in row[0]
    assert "cloudPhysicsIO at 20%" in worst[2] and "no bound" in worst[2]


def sides(trace: str, capacity: str) -> Sides:
    return Sides(trace, "shared", capacity, ["a"], ["b"], ["folder"], counts_as=trace)


def test_forms_of_unequal_number_have_no_mean_of_both(tmp_path: Path) -> None:
    pairs = Pairing([sides("web", "1%"), sides("web", "5%"), sides("web_objects", "1%"), sides("shop_objects", "1%")])
    with pytest.raises(lab.UsageError, match="count as 'web' are not of equal number: web has 2, web_objects has 1"):
        pairs_once(pairs)
    assert [each.counts_as for each in pairs_once(Pairing(pairs.sides[1:])).sides] == ["web", "web", "shop_objects"]


def test_a_command_that_does_not_know_forms_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "replay"
    cell = {"difference": 0.1, "a": {"hit_ratio": 0.5}, "b": {"hit_ratio": 0.4}}
    pooled = {"difference": 0.1, "traces": 2}
    answer = {"schema": "halcyon.comparisons/1", "comparisons": [{"cells": [cell, cell], "pooled": pooled}]}
    command.write_text(f"#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    command.chmod(0o755)
    monkeypatch.setenv("REPLAY", str(command))
    with pytest.raises(lab.ReplayError, match="counts two forms of a trace as two traces: build the command again"):
        compare([pairs_once(Pairing([sides("web", "1%"), sides("web_objects", "1%")]))])


def test_means_over_traces_count_both_forms_once() -> None:
    index = pd.MultiIndex.from_tuples(
        [("web", "1%"), ("web", "5%"), ("web_objects", "1%"), ("shop_objects", "1%")], names=["trace", "capacity"]
    )
    found = lab.over_traces(pd.Series([1.0, 3.0, 8.0, 7.0], index=index))
    assert found.to_dict() == {"web": 5.0, "shop_objects": 7.0}
