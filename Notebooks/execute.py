#!/usr/bin/env python3
"""Executes notebooks from top to bottom, or checks those that are committed.

    execute.py Notebooks/*.ipynb --folder .build/notebooks     # writes each with its outputs
    execute.py Notebooks/*.ipynb --in-place                    # renews the committed ones
    execute.py Notebooks/*.ipynb --check                       # outputs, no error, fresh, below 500 KB

Prints each cell as it starts. Stops at the first cell that fails, or when the time is up, and then leaves that notebook
as it was. Paths of this machine do not get into the result: the repository's path is cut away, and any other home,
temporary or working directory that is left is an error. REPLAY, HALCYON_RECORD and HALCYON_NOTEBOOK_TRACE count from
where the command is called. Exit status: 0, 1 if a notebook fails, 64 for wrong usage.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST = 500_000  # bytes of a notebook that is still fit to be committed
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|tmp|var|work|opt|private)/[^\s\"'<>,)]+")


def main() -> int:
    parser = argparse.ArgumentParser(description="Executes notebooks from top to bottom, or checks committed ones.")
    parser.error = lambda message: (parser.print_usage(sys.stderr), parser.exit(64, f"Error: {message}\n"))
    parser.add_argument("notebooks", type=Path, nargs="+", metavar="NOTEBOOK")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--folder", type=Path, help="the folder to write to")
    kind.add_argument("--in-place", action="store_true", help="write the notebooks themselves")
    kind.add_argument("--check", action="store_true", help="execute nothing; fail if one is not fit to be committed")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for a whole notebook (default: 600)")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.notebooks)

    for name in ("REPLAY", "HALCYON_RECORD", "HALCYON_NOTEBOOK_TRACE"):
        if os.environ.get(name):
            os.environ[name] = str(Path(os.environ[name]).resolve())
    for path in arguments.notebooks:
        target = path if arguments.in_place else arguments.folder / path.name
        failure = renew(path, target, arguments.timeout)
        if failure:
            return fail(f"{path}: {failure}")
    return 0


def renew(path: Path, target: Path, seconds: float) -> str | None:
    """Executes a notebook and writes it to `target`. Returns what went wrong, or None."""
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
    except (OSError, nbformat.reader.NotJSONError) as error:
        return f"cannot be read as a notebook: {error}"
    print(path, flush=True)
    failure = execute(notebook, path.resolve().parent, seconds)
    if failure:
        return failure
    clean(notebook)
    text = nbformat.writes(notebook) + "\n"
    left = MACHINE_PATH.search(text)
    if left:
        return f"an output names a path of this machine, {left.group()}; nothing was written."
    if len(text.encode()) > LARGEST:
        return f"the result has {len(text.encode()):,} bytes, {LARGEST:,} are allowed; nothing was written."
    write(text, target)
    print(f"{target}: {len(text.encode()):,} bytes", flush=True)
    return None


def check(paths: list[Path]) -> int:
    """Prints what is wrong with committed notebooks, one line each, and returns the exit status."""
    findings = [f"{path}: {sentence}" for path in paths for sentence in faults(path)]
    for finding in findings:
        print(finding)
    print(f"{len(paths)} notebooks, {len(findings)} findings")
    return 1 if findings else 0


def faults(path: Path) -> list[str]:
    """Returns what makes a notebook unfit to be committed."""
    try:
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        sources, counts = [source(cell) for cell in cells], [cell["execution_count"] for cell in cells]
        outputs = [output for cell in cells for output in cell["outputs"]]
    except OSError as error:
        return [f"cannot be read: {error.strerror}."]
    except (ValueError, KeyError, TypeError) as error:
        return [f"is no notebook of format 4: {error}."]
    found = []
    if any(output["output_type"] == "error" for output in outputs):
        found.append("was saved with an error; run it again.")
    if counts != list(range(1, len(cells) + 1)):
        found.append("was not executed from top to bottom in one run.")
    if not any("image/png" in output.get("data", {}) for output in outputs):
        found.append("has no picture in its outputs.")
    if any(output.get("name") == "stderr" for output in outputs):
        found.append("has warnings in its outputs.")
    if notebook.get("metadata", {}).get("halcyon", {}).get("sources") != digest(sources):
        found.append("has outputs of other code than it shows; run execute.py --in-place.")
    left = MACHINE_PATH.search(text)
    if left:
        found.append(f"names a path of a machine, {left.group()}.")
    if len(text.encode()) > LARGEST:
        found.append(f"has {len(text.encode()):,} bytes, {LARGEST:,} are allowed.")
    return found


def source(cell) -> str:
    """Returns the text of a cell, which a file keeps as lines."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def digest(sources: list[str]) -> str:
    """Returns a digest of the code cells: the outputs belong to it."""
    return hashlib.sha256("\0".join(sources).encode()).hexdigest()[:16]


def execute(notebook, directory: Path, seconds: float) -> str | None:
    """Runs all cells in `directory`. Returns what went wrong, or None."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

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
        "halcyon": {"sources": digest([source(cell) for cell in notebook.cells if cell.cell_type == "code"])},
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
