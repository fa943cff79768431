#!/usr/bin/env python3
"""Executes a notebook from top to bottom and writes it with its outputs.

    execute.py Notebooks/01-hypothesis.ipynb --output .build/notebooks/01-hypothesis.ipynb

Prints each cell as it starts. Stops at the first cell that fails, or when the time is up, and then writes nothing.
Paths of this machine do not get into the result: the repository's path is cut away, and any other home, temporary or
working directory that is left is an error. The environment's REPLAY and HALCYON_NOTEBOOK_TRACE count from where the
command is called.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 1_000_000  # bytes of a notebook that is still fit to be committed
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|tmp|var|work|opt|private)/[^\s\"'<>,)]+")


def main() -> int:
    parser = argparse.ArgumentParser(description="Executes a notebook from top to bottom.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="the file to write; may be the notebook itself")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for the whole notebook (default: 900)")
    arguments = parser.parse_args()

    for name in ("REPLAY", "HALCYON_NOTEBOOK_TRACE"):
        if os.environ.get(name):
            os.environ[name] = str(Path(os.environ[name]).resolve())
    try:
        notebook = nbformat.read(arguments.notebook, as_version=4)
    except (OSError, nbformat.reader.NotJSONError) as error:
        return fail(f"{arguments.notebook} cannot be read as a notebook: {error}")

    failure = execute(notebook, arguments.notebook.resolve().parent, arguments.timeout)
    if failure:
        return fail(f"{arguments.notebook}: {failure}")
    clean(notebook)
    text = nbformat.writes(notebook) + "\n"
    left = MACHINE_PATH.search(text)
    if left:
        return fail(f"an output names a path of this machine, {left.group()}; nothing was written.")
    if len(text.encode()) > LARGEST:
        return fail(f"the result has {len(text.encode()):,} bytes, {LARGEST:,} are allowed; nothing was written.")
    write(text, arguments.output)
    print(f"{arguments.output}: {len(text.encode()):,} bytes", flush=True)
    return 0


def execute(notebook, directory: Path, seconds: float) -> str | None:
    """Runs all cells in `directory`. Returns what went wrong, or None."""
    start = time.monotonic()
    count = len(notebook.cells)

    def announce(cell, cell_index):
        if cell.cell_type == "code":
            first = cell.source.strip().partition("\n")[0]
            print(f"{time.monotonic() - start:6.1f} s  cell {cell_index + 1} of {count}: {first}", flush=True)

    def left(_cell) -> int:
        return max(1, round(start + seconds - time.monotonic()))

    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout_func=left,
        # The interrupt lets the notebook end the command that it waits for.
        interrupt_on_timeout=True,
        resources={"metadata": {"path": str(directory)}},
        on_cell_start=announce,
    )
    try:
        client.execute()
    except CellTimeoutError:
        return f"not through after {seconds:.0f} s."
    except CellExecutionError as error:
        if time.monotonic() - start >= seconds:
            return f"not through after {seconds:.0f} s."
        return f"a cell failed.\n{error}"
    except DeadKernelError:
        return "the Python kernel died."
    except RuntimeError as error:
        return f"the Python kernel did not start: {error}."
    print(f"{time.monotonic() - start:6.1f} s  all {count} cells are through", flush=True)
    return None


def clean(notebook) -> None:
    """Takes out what differs from run to run or tells of the machine."""
    # The identifiers are numbered so that a new run changes only what it found.
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index + 1:02d}"
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if "text" in output:
                output.text = output.text.replace(f"{ROOT}/", "")
            for kind, value in output.get("data", {}).items():
                if isinstance(value, str) and not kind.startswith("image/png"):
                    output.data[kind] = value.replace(f"{ROOT}/", "")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


def write(text: str, path: Path) -> None:
    """Writes beside, then renames: there is never half a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def fail(sentence: str) -> int:
    print(f"execute.py: {sentence}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
