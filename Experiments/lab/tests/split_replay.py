"""Stands in for the parts by user of `replay`: `sweep --users i/n` and `merge`. Everything else is the real command.

A part holds every n-th group of users of the real cell and its counts; what is not counted by group is in part 1. Parts
add up to the whole by construction, so that tests show whether `lab.distribute` asks for the right parts and keeps them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.cells import identity_hash, read_cells


def option(arguments: list[str], name: str) -> str:
    place = arguments.index(name)
    value = arguments[place + 1]
    del arguments[place : place + 2]
    return value


def write(folder: Path, document: dict[str, Any]) -> None:
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    (folder / "cells" / f"{identity_hash(document['identity'])}.json").write_text(text + "\n")


def part_of(document: Any, users: str) -> dict[str, Any]:
    part: dict[str, Any] = json.loads(json.dumps(document))
    number, count = (int(side) for side in users.split("/"))
    part["identity"]["users"] = users
    for values in part["units"].values():
        if isinstance(values, list):
            values[:] = [value if index % count == number - 1 else 0 for index, value in enumerate(values)]
    for name, unit in (("requests", "requests"), ("hits", "hits"), ("size", "requests"), ("hit_size", "hits")):
        part["counts"][name] = sum(part["units"][unit])
    if number > 1:
        for name in set(part["counts"]) - {"requests", "hits", "size", "hit_size"}:
            part["counts"][name] = 0
        part["series"]["hits"] = [0 for _ in part["series"]["hits"]]
    return part


def add(whole: Any, part: Any) -> Any:
    if isinstance(whole, list):
        return [left + right for left, right in zip(whole, part, strict=True)]
    return {name: whole[name] + part[name] if isinstance(part[name], int) else add(whole[name], part[name])
            for name in part if not isinstance(part[name], str)}  # fmt: skip


def sweep(replay: str, arguments: list[str]) -> int:
    users, results = option(arguments, "--users"), Path(option(arguments, "--results"))
    wanted = [option(arguments, "--cell") for _ in range(arguments.count("--cell"))]
    whole = Path(os.environ["SPLIT_REPLAY_FOLDER"]) / f"{os.getpid()}"
    rest = [argument for argument in arguments if argument not in ("--dry-run", "--format", "json")]
    subprocess.run([replay, *rest, "--results", str(whole)], check=True, capture_output=True)
    parts = {}
    for cell in read_cells(whole):
        if cell.identity["mode"] == "per_user" and cell.identity.get("models", "own") == "own":
            part = part_of(cell.document, users)
            parts[cell.hash] = (identity_hash(part["identity"]), part)
    if "--dry-run" in arguments:
        command = [replay, *arguments, "--results", str(whole)]
        plan = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        plan["cells"] = [{**cell, "hash": parts[cell["hash"]][0]} for cell in plan["cells"] if cell["hash"] in parts]
        print(json.dumps(plan))
        return 0
    for name, part in parts.values():
        if name in wanted:
            write(results, part)
    return 0


def merge(into: Path, sources: list[Path]) -> int:
    sums: dict[str, tuple[dict[str, Any], int]] = {}
    for cell in read_cells(sources):
        document = json.loads(cell.content)
        count = int(document["identity"].pop("users").split("/")[1])
        name = identity_hash(document["identity"])
        if name in sums:
            so_far, parts = sums[name]
            for field in ("counts", "series", "units"):
                so_far[field] = {**so_far[field], **add(so_far[field], document[field])}
            so_far["series"]["window"] = document["series"]["window"]
            sums[name] = (so_far, parts + 1)
        else:
            sums[name] = (document, 1)
    for document, parts in sums.values():
        if parts == count:
            write(into, document)
        else:
            print(f"the parts of {document['label']} are incomplete: {parts} of {count}.", file=sys.stderr)
    return 0


def main() -> int:
    replay, arguments = sys.argv[1], sys.argv[2:]
    if arguments[0] == "merge":
        return merge(Path(arguments[1]), [Path(folder) for folder in arguments[2:]])
    if "--users" in arguments:
        return sweep(replay, arguments)
    os.execv(replay, [replay, *arguments])


if __name__ == "__main__":
    sys.exit(main())
