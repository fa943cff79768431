"""Tables of lists, from cells made by hand."""

from __future__ import annotations

import importlib.util
import random
from collections import defaultdict
from collections.abc import Hashable
from types import ModuleType
from typing import Any

import pytest
from conftest import ROOT

from lab.evidence import lists

SETTINGS = '{"categories":"%s","profile":"%s"}'


def cell(**changes: Any) -> dict[Hashable, Any]:
    given: dict[str, Any] = {
        "prefetch": "lists", "prefetch_parameters": SETTINGS % ("on", "both"), "prefetch_budget": "4/list",
        "knowledge": "device", "pretrain": "other-users", "label_control": "given", **changes,
    }  # fmt: skip
    return dict(given.items())


@pytest.mark.parametrize(
    ("changes", "arm"),
    [
        ({}, "both"),
        ({"prefetch_parameters": SETTINGS % ("on", "pooled")}, "pooled"),
        ({"prefetch_parameters": SETTINGS % ("on", "personal"), "knowledge": "server", "pretrain": None}, "personal"),
        ({"prefetch_parameters": SETTINGS % ("off", "both")}, "none"),
        ({"label_control": "permuted within=popularity"}, "permuted"),
        ({"announce": "rates(every=1h)"}, "both"),
        ({"announce": "popular(count=100,every=1h)"}, "counts"),
        ({"pretrain": None}, "shipped"),
        ({"pretrain": None, "prefetch_parameters": '{"categories":"on","model":"none","profile":"both"}'}, "nothing"),
        ({"prefetch": "list-order"}, "list-order"),
        ({"prefetch": None}, None),
    ],
)
def test_the_arm_of_a_cell_is_what_it_knows_of_labels(changes: dict[str, Any], arm: str | None) -> None:
    assert lists._arm(cell(**changes)) == arm


def test_the_count_is_the_budget_of_a_list() -> None:
    assert lists._count(cell()) == 4
    assert lists._count(cell(prefetch=None, prefetch_budget=None)) == 0


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("first_requests", ROOT / "Experiments/first_requests.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_list_before_a_first_request_has_what_exists_and_was_not_requested(script: ModuleType) -> None:
    drawn = random.Random(7)
    requests = [(1_000 * time, f"u{drawn.randrange(6)}", f"o{drawn.randrange(60 + time)}", "c") for time in range(400)]
    appeared: dict[str, int] = {}
    for time, _, key, _ in requests:
        appeared.setdefault(key, time)
    rows = script.rows(requests, 4, random.Random(1))
    assert rows == script.rows(requests, 4, random.Random(1)) and [row[0] for row in rows] == sorted(row[0] for row in rows)
    shown: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for time, event, user, key, _, number in rows:
        if event == "shown":
            shown[number].append((time, user, key))
    requested: dict[str, set[str]] = defaultdict(set)
    openings = [row for row in rows if row[1] == "request"]
    assert len(openings) == len(shown) and len({user for _, _, user, _, _, _ in rows}) == 4
    places = []
    for (time, _, user, key, _, _), number in zip(openings, sorted(shown, key=lambda number: shown[number][0])):
        items = [item for _, _, item in shown[number]]
        assert {(at, whose) for at, whose, _ in shown[number]} == {(time - 5, user)}
        assert len(items) == len(set(items)) == 25 and key in items
        assert not requested[user] & set(items)
        assert all(appeared[item] <= time + 86_400 for item in items)
        requested[user].add(key)
        places.append(items.index(key))
    assert min(places) <= 2 and max(places) >= 22
    given = {(user, key) for _, user, key, _ in requests if user in requested}
    assert given == {(user, key) for user, keys in requested.items() for key in keys}
