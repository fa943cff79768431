"""Counts of libCacheSim's release: their file, the tables beside Halcyon's cells, and runs of the release itself."""

from __future__ import annotations

import csv
import struct
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import pytest

import lab
from conftest import ROOT, make_cell, write_cell
from lab import peer_runs, peers
from lab.evidence import peers as peer_tables
from lab.__main__ import main
from lab.evidence import fill
from lab.peers import (
    CATALOGUE, COUNTED, COUNTS, EXACT, LEARNED, RATIO, TRACES, Count, Peer, read_counts, unlisted, write_counts,
)  # fmt: skip

HEADER = "trace,sizes,policy,parameters,capacity,requests,misses,byte_misses"
ROW = "feed,bytes,LRU,,10,100,40,4000"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the first line must be 'trace,sizes,policy"),
        ("trace,policy\n", "the first line must be 'trace,sizes,policy"),
        (f"{HEADER}\nfeed,bytes,LRU,,10,100,40\n", "line 2: has 7 fields of 8"),
        (f"{HEADER}\nfeed,bytes,LRU,,10,100,4.5,4000\n", "line 2: misses is '4.5'; an integer from 0 is expected"),
        (f"{HEADER}\nfeed,bytes,LRU,,10,100,-4,4000\n", "line 2: misses is '-4'"),
        (f"{HEADER}\nfeed,bytes,LRU,,10,100,101,4000\n", "line 2: 101 misses of 100 requests at a capacity of 10"),
        (f"{HEADER}\nfeed,bytes,LRU,,0,100,40,4000\n", "line 2: 40 misses of 100 requests at a capacity of 0 cannot be"),
        (f"{HEADER}\nmine,bytes,LRU,,10,100,40,4000\n", "line 2: there is no trace 'mine' in the suite"),
        (f"{HEADER}\nfeed,objects,LRU,,10,100,40,4000\n", "line 2: sizes of feed are 'bytes', not 'objects'"),
        (f"{HEADER}\nfeed,bytes,MRU,,10,100,40,4000\n", "line 2: the policy 'MRU' is none of those that are run"),
        (f"{HEADER}\nfeed,bytes,nop_init,,10,100,40,4000\n", "the policy 'nop_init' is none of those that are run"),
        (f"{HEADER}\nfeed,bytes,LRU,k=2,10,100,40,4000\n", "the policy 'LRU\\(k=2\\)' is none of those that are run"),
        (f"{HEADER}\n{ROW}\n{ROW}\n", "line 3: is not sorted after the line above it, or repeats it"),
        (f"{HEADER}\n{ROW}\nfeed,bytes,FIFO,,10,100,40,4000\n", "line 3: is not sorted"),
        (f"{HEADER}\n{ROW}\nfeed,bytes,LRU,,10,100,41,4000\n", "line 3: has the same cell as the line above it"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(lab.ResultsError, match=sentence) as raised:
        read_counts(path)
    assert str(raised.value).startswith(f"{path}: ") and "\n" not in str(raised.value)


def test_a_missing_file_and_one_that_is_no_text_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(lab.ResultsError, match=r"cannot be read \(No such file or directory\); 'make peers' writes it"):
        read_counts(tmp_path / "none.csv")
    (tmp_path / "broken.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(lab.ResultsError, match="is not text in UTF-8"):
        read_counts(tmp_path / "broken.csv")


def test_counts_are_written_sorted_and_read_again(tmp_path: Path) -> None:
    first = Count("feed", "bytes", "LRU", "", 10, 100, 40, 4000)
    second = Count("feed", "bytes", "LRU", "", 9, 100, 50, 4000)
    write_counts(tmp_path / "counts.csv", [first, second])
    assert (tmp_path / "counts.csv").read_text() == f"{HEADER}\nfeed,bytes,LRU,,9,100,50,4000\n{ROW}\n"
    assert read_counts(tmp_path / "counts.csv") == [second, first]


def test_the_stored_counts_are_complete_and_within_the_traces() -> None:
    path = ROOT / "Experiments" / "results" / "peers" / COUNTS
    counts = read_counts(path)
    peer_runs._check_complete(path, counts)
    assert {count.trace for count in counts} == {trace.name for trace in TRACES}


def test_a_policy_that_the_list_lacks_is_found() -> None:
    classes = [peer.name for peer in CATALOGUE if not peer.name.endswith("_init")]
    functions = [peer.bound_function for peer in CATALOGUE]
    assert unlisted(classes, functions) == []
    assert unlisted([*classes, "Newest"], [*functions, "Newest_init"]) == ["Newest", "Newest_init"]
    assert unlisted([name for name in classes if name != "LRU"], functions) == ["LRU"]
    assert unlisted(classes, [name for name in functions if name != "CAR_init"]) == ["CAR_init"]


def test_the_list_has_every_policy_of_the_release() -> None:
    pytest.importorskip("libcachesim")
    peer_runs.check_release()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two cells of a trace without sizes and one of a trace with sizes, of six policies, with the counts beside them."""
    catalogue = (
        Peer("FIFO", EXACT, "fifo"), Peer("LRU", EXACT, "lru"), Peer("Belady", EXACT, "belady", is_online=False),
        Peer("LeCaR", RATIO, "lecar"), Peer("ClockPro", COUNTED, is_sound=False, reason="suspect"),
        Peer("ThreeLCache", LEARNED, "learned", ("", "objective=object-miss-ratio")),
        Peer("LRB", LEARNED, "learned", ("objective=object-miss-ratio",), skipped=("feed",)),
        Peer("WTinyLFU", RATIO, "w-tinylfu", uses_sizes=True), Peer("nop_init", "omitted", reason="keeps nothing"),
    )  # fmt: skip
    monkeypatch.setattr(peer_tables, "CATALOGUE", catalogue)
    folder = tmp_path / "peers"
    # Trace, capacity: misses of Halcyon by label, one value for each seed.
    ours: dict[tuple[str, str, int], dict[str, list[int]]] = {
        ("web12", "1%", 5): {
            "fifo": [60], "lru": [52], "belady": [40], "lecar": [50, 56], "learned": [44, 46], "w-tinylfu": [66],
        },
        ("web12", "5%", 25): {
            "fifo": [50], "lru": [40], "belady": [30], "lecar": [44, 44], "learned": [40, 40], "w-tinylfu": [50],
        },
        ("feed", "1%", 900): {
            "fifo": [80], "lru": [70], "belady": [50], "lecar": [75, 75], "learned": [60, 60], "w-tinylfu": [60],
        },
    }  # fmt: skip
    for (trace, capacity, size), labels in ours.items():
        for label, seeds in labels.items():
            for seed, misses in enumerate(seeds, start=1):
                write_cell(
                    folder,
                    make_cell(
                        identity__fingerprint=trace, identity__policy=label, identity__capacity=capacity,
                        identity__seed=seed if len(seeds) > 1 else None, trace__name=trace, label=label, capacity=size,
                        counts__requests=100, counts__hits=100 - misses, counts__size=1000,
                        counts__hit_size=1000 - 10 * misses, units=None,
                    ),
                )  # fmt: skip
    theirs = {
        ("web12", "objects", 5): {
            "FIFO": 60, "LRU": 50, "Belady": 40, "LeCaR": 50, "ClockPro": 39, "ThreeLCache": 50,
            "ThreeLCache,objective=object-miss-ratio": 50, "LRB,objective=object-miss-ratio": 48, "WTinyLFU": 100,
        },
        ("web12", "objects", 25): {
            "FIFO": 50, "LRU": 40, "Belady": 30, "LeCaR": 40, "ClockPro": 35, "ThreeLCache": 45,
            "ThreeLCache,objective=object-miss-ratio": 32, "LRB,objective=object-miss-ratio": 40, "WTinyLFU": 50,
        },
        ("feed", "bytes", 900): {
            "FIFO": 80, "LRU": 70, "Belady": 50, "LeCaR": 75, "ClockPro": 45, "ThreeLCache": 70,
            "ThreeLCache,objective=object-miss-ratio": 70, "WTinyLFU": 61,
        },
    }  # fmt: skip
    counts = [
        Count(trace, sizes, name.partition(",")[0], name.partition(",")[2], size, 100, misses, 10 * misses)
        for (trace, sizes, size), policies in theirs.items()
        for name, misses in policies.items()
    ]
    write_counts(folder / COUNTS, counts)
    return folder


def rows(text: str) -> list[list[str]]:
    return [[field.strip() for field in line.strip("|\n ").split(" | ")] for line in text.splitlines()[2:]]


def test_exact_counts_and_the_size_of_a_difference(folder: Path) -> None:
    assert rows(peer_tables.exact(folder)) == [
        ["`fifo`", "`FIFO`", "3 of 3", "none"],
        ["`lru`", "`LRU`", "2 of 3", "web12 1%: +2 (+4.000 %)"],
        ["`belady`", "`Belady`", "3 of 3", "none"],
    ]


def test_missed_bytes_count_too(folder: Path) -> None:
    counts = read_counts(folder / COUNTS)
    write_counts(
        folder / COUNTS, [replace(count, byte_misses=count.byte_misses + (count.policy == "FIFO")) for count in counts]
    )
    assert rows(peer_tables.exact(folder))[0][2] == "0 of 3"


def test_miss_ratios_are_relative_to_the_release(folder: Path) -> None:
    # lecar, the mean over seeds: 53/50, 44/40 and 75/75.
    assert rows(peer_tables.ratio(folder))[0] == [
        "`lecar`", "`LeCaR`", "+5.3", "1 of 3", "+10.0 (web12 5%)", "0.0 (feed 1%)",
    ]  # fmt: skip
    # w-tinylfu as if it were compared where sizes vary only: 60/61.
    assert rows(peer_tables.ratio(folder))[1][2:] == ["−1.6", "0 of 1", "−1.6 (feed 1%)", "−1.6 (feed 1%)"]


def test_the_learner_is_compared_with_the_best_setting_and_the_best_sound_online_policy(folder: Path) -> None:
    found = {row[0]: row[1:] for row in rows(peer_tables.learned(folder))}
    # web12: 45 and 40 of 100; 3L-Cache 50 and 32; LRB 48 and 40; the best of all 48 (LRB) and 32, not ClockPro and Belady.
    assert found["web12"] == ["0.425", "+7.5", "−3.1", "+9.4", "1 of 2"]
    # feed: 60, of 70 under 3L-Cache and 61 under W-TinyLFU; LRB was not run.
    assert found["feed"] == ["0.600", "−14.3", "not run", "−1.6", "1 of 1"]
    assert found["all"] == ["0.483", "+0.2", "−3.1", "+5.7", "2 of 3"]


def test_weak_points_are_counted(folder: Path) -> None:
    assert rows(peer_tables.weak(folder)) == [
        ["`ClockPro`", "fewer misses than the optimum, uniform sizes", "1 of 2"],
        ["`ThreeLCache`", "the misses of `LRU` in every setting: feed, web12", "2 of 3"],
        ["`LRB`", "the misses of `LRU` in every setting: web12", "1 of 2"],
        ["`WTinyLFU`", "no hit at all, other than `LRU`: web12 at 5", "1 of 3"],
        ["`WTinyLFU`", "10 % more misses than `FIFO`: web12", "1 of 3"],
    ]


def test_every_policy_has_a_row_with_its_reason(folder: Path) -> None:
    found = {row[0]: row[1:] for row in rows(peer_tables.policies(folder))}
    names = ["FIFO", "LRU", "Belady", "LeCaR", "ClockPro", "ThreeLCache", "LRB", "WTinyLFU", "nop_init"]
    assert list(found) == [f"`{name}`" for name in names]
    assert found["`ClockPro`"] == ["", "no", "suspect"] and found["`nop_init`"] == ["", "no", "keeps nothing"]
    assert found["`LRU`"][:2] == ["`lru`", "miss for miss"]


def test_the_tables_are_known_to_documents(folder: Path) -> None:
    text = fill("<!-- table: peers-exact -->\n<!-- end of table -->\n", folder.parent)
    assert "| `lru` | `LRU` | 2 of 3 |" in text


def test_the_baselines_are_compared_cell_by_cell(folder: Path) -> None:
    rivals = folder.parent / "rivals"
    # Of 50, 70 and 70 counted (3L-Cache), 48 and 40 (LRB).
    ours = {
        "lrb(objective=object-miss-ratio)": {5: [48, 48], 25: [39, 42]}, "3l-cache": {5: [49, 52], 25: [45, 45]},
        "3l-cache(objective=object-miss-ratio)": {5: [50, 50], 25: [32, 32]},
    }  # fmt: skip
    for label, cells in ours.items():
        for capacity, seeds in cells.items():
            for seed, misses in enumerate(seeds, start=1):
                write_cell(
                    rivals,
                    make_cell(
                        identity__fingerprint="web12", identity__policy=label, identity__capacity=f"{capacity // 5}%",
                        identity__seed=seed, trace__name="web12", label=label, capacity=capacity, counts__requests=100,
                        counts__hits=100 - misses, counts__size=1000, counts__hit_size=1000 - 10 * misses, units=None,
                    ),
                )  # fmt: skip
    assert rows(peer_tables.rivals(rivals)) == [
        ["web12 1%", "0.00 (0.00 … 0.00)", "+1.00 (−2.00 … +4.00)", "0.00 (0.00 … 0.00)"],
        ["web12 5%", "+1.25 (−2.50 … +5.00)", "0.00 (0.00 … 0.00)", "0.00 (0.00 … 0.00)"],
        ["within 1 %", "1 of 2", "2 of 2", "2 of 2"],
    ]
    counts = [count for count in read_counts(folder / COUNTS) if count.policy != "LRB"]
    write_counts(folder / COUNTS, counts)
    with pytest.raises(lab.ResultsError, match="web12 at 5 lacks a count of LRB; 'make peers' makes it"):
        peer_tables.rivals(rivals)


def test_results_that_do_not_fit_are_one_sentence(folder: Path) -> None:
    counts = read_counts(folder / COUNTS)
    write_counts(folder / COUNTS, [count for count in counts if count.policy != "LRU"])
    with pytest.raises(lab.ResultsError, match="has no count of LRU; 'make peers' makes it"):
        peer_tables.exact(folder)
    write_counts(folder / COUNTS, [count for count in counts if (count.policy, count.capacity) != ("LRU", 25)])
    with pytest.raises(lab.ResultsError, match="web12 at 25 lacks a count of LRU"):
        peer_tables.exact(folder)
    write_counts(folder / COUNTS, [count for count in counts if count.trace != "feed"])
    with pytest.raises(lab.ResultsError, match="feed has no requests, and 100 in the stored cells"):
        peer_tables.exact(folder)


def test_a_trace_is_converted(tmp_path: Path) -> None:
    source, target = tmp_path / "trace.csv", tmp_path / "trace.oracleGeneral"
    source.write_text("time,key,size\n1,a,10\n2.9,b,20\n3,a,99\n3,a,10\n")
    converted = peer_runs.convert(source, target, uses_sizes=True)
    # Number of the object, size of its first request, index of its next request.
    expected = [(1, 1, 10, 2), (2, 2, 20, -1), (3, 1, 10, 3), (3, 1, 10, -1)]
    assert [struct.unpack("<IQIq", target.read_bytes()[at : at + 24]) for at in range(0, 96, 24)] == expected
    assert (converted.requests, converted.size, converted.distinct_size) == (4, 50, 30)
    assert converted.capacities == [1, 1, 3, 6]
    source.write_text("time,key\n1,700\n2,5\n")
    assert peer_runs.convert(source, target, uses_sizes=False).distinct_size == 2
    assert struct.unpack("<IQIq", target.read_bytes()[:24]) == (1, 700, 1, -1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("time,key,size\n", "has no requests"),
        ("time,key\n1,a\n", "line 2: needs a key, a time and a size"),
        ("time,key,size\n1,a,3\nx,a,3\n", "line 3: needs a key, a time and a size"),
        ("time,key,size\n1,a,-3\n", "does not fit libCacheSim's binary form"),
    ],
)
def test_a_trace_that_cannot_be_converted_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "trace.csv").write_text(text)
    with pytest.raises(lab.ResultsError, match=sentence):
        peer_runs.convert(tmp_path / "trace.csv", tmp_path / "trace", uses_sizes=True)


def test_a_missing_release_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "libcachesim", None)
    assert main(["peers", "counts.csv", "--check"]) == 64
    assert "'pip install libcachesim==0.3.5' installs it" in capsys.readouterr().err


def lru_misses(keys: list[str], capacity: int) -> int:
    """The misses of LRU, by a dictionary."""
    cache: OrderedDict[str, None] = OrderedDict()
    misses = 0
    for key in keys:
        if key in cache:
            cache.move_to_end(key)
            continue
        misses += 1
        if len(cache) == capacity:
            cache.popitem(last=False)
        cache[key] = None
    return misses


def test_the_release_is_run_and_a_changed_count_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("libcachesim")
    monkeypatch.setattr(peer_runs, "CATALOGUE", (peers.BY_NAME["LRU"], peers.BY_NAME["CAR_init"], peers.BY_NAME["ThreeLCache"]))
    monkeypatch.setattr(peer_runs, "TRACES", (TRACES[0],))
    monkeypatch.setattr(peer_runs, "check_release", lambda: None)
    with (ROOT / "Traces" / "shop.csv").open() as whole:
        lines = [next(whole) for _ in range(3001)]
    (tmp_path / "shop.csv").write_text("".join(lines))
    keys = [row["key"] for row in csv.DictReader(lines)]
    path = tmp_path / "counts.csv"
    command = ["peers", str(path), "--bundled", str(tmp_path)]
    assert main(command) == 0
    assert "16 runs" in capsys.readouterr().out
    counts = read_counts(path)
    expected = {len(set(keys)) * share // 100: 0 for share in (1, 5, 10, 20)}
    found = {count.capacity: count.misses for count in counts if count.policy == "LRU"}
    assert found == {capacity: lru_misses(keys, capacity) for capacity in expected}
    assert main(command) == 0 and ": 0 runs" in capsys.readouterr().out
    assert main([*command, "--check", "--all"]) == 0
    assert "0 of 16 counts differ" in capsys.readouterr().out
    path.write_text(path.read_text().replace(f",{found[max(found)]},", f",{found[max(found)] - 1},", 1))
    assert main([*command, "--check", "--all"]) == 1
    assert f"LRU at {max(found)}: {found[max(found)]} misses" in capsys.readouterr().out
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert main([*command, "--check"]) == 65
    assert "shop lacks counts of" in capsys.readouterr().err


def test_a_run_that_fails_names_its_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("libcachesim")
    monkeypatch.setattr(peer_runs, "CATALOGUE", (Peer("FlashProb", EXACT),))
    monkeypatch.setattr(peer_runs, "TRACES", (TRACES[0],))
    monkeypatch.setattr(peer_runs, "check_release", lambda: None)
    (tmp_path / "shop.csv").write_text("time,key\n" + "".join(f"{at},{at % 700}\n" for at in range(2000)))
    with pytest.raises(lab.LabError, match="shop: FlashProb at 7 failed: ended by signal 6"):
        peer_runs.count(tmp_path / "counts.csv", bundled=tmp_path)
