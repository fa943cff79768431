"""Tables of lists, from cells made by hand."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pytest

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
