"""What the notebooks need besides frames and figures: the command, a folder of their own, and captions."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from lab.command import find_replay, last_sentence
from lab.errors import ReplayError, UsageError
from lab.frames import load
from lab.planning import read_plan
from lab.tables import write_text_beside

#: The variable that asks for small inputs, as continuous integration does.
SMALL = "HALCYON_NOTEBOOK_SMALL"
#: The variable that names a trace to read in place of a notebook's own.
TRACE = "HALCYON_NOTEBOOK_TRACE"
#: The variable that names the example `RecordAndReplay`, if it is not built here.
RECORD = "HALCYON_RECORD"


class Workspace:
    """The command ``replay``, and a folder for the results of one notebook.

    ``lab.command.find_replay`` finds the command in the repository above the working directory. The folder is ``.build/notebooks/work/NAME``. Results in it are kept: a notebook that is run again runs new cells only.
    """

    def __init__(self, name: str, *, root: str | os.PathLike[str] | None = None) -> None:
        #: The repository.
        self.root = Path(root).resolve() if root else _root()
        #: Whether small inputs are asked for.
        self.small = os.environ.get(SMALL, "") not in ("", "0")
        #: The trace of the reader, or None for the notebook's own.
        self.trace = Path(os.environ[TRACE]).resolve() if os.environ.get(TRACE) else None
        #: The folder of this notebook.
        self.folder = self.root / ".build" / "notebooks" / "work" / name
        self._replay = find_replay(folder=self.root)
        if self.trace and not self.trace.is_file():
            raise UsageError(f"{TRACE} names {self.trace.name}, which is no file.")
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, *arguments: str | os.PathLike[str], seconds: float = 600) -> str:
        """Returns what the command prints. Raises ``ReplayError`` with its own sentence if it fails."""
        words = [os.fspath(argument) for argument in arguments]
        try:
            done = subprocess.run(
                [self._replay, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds
            )
        except OSError as error:
            raise ReplayError(f"replay cannot be run: {error.strerror}.") from None
        except subprocess.TimeoutExpired:
            raise ReplayError(f"`replay {words[0]}` was not through after {seconds:g} s.") from None
        if done.returncode != 0:
            reason = last_sentence(done.stderr) or f"it exited with {done.returncode}."
            raise ReplayError(f"`replay {words[0]}` failed: {reason}")
        return done.stdout.decode()

    def json(self, *arguments: str | os.PathLike[str]) -> Any:
        """Returns the document that the command prints with ``--format json``."""
        return json.loads(self.run(*arguments, "--format", "json"))

    def generate(self, model: str, *, seed: int = 1, **parameters: float) -> Path:
        """Makes a synthetic trace in the folder and returns its path.

        An underscore in the name of a parameter stands for a hyphen. A trace of the same model, seed and parameters
        is made once.
        """
        settings = [f"{name.replace('_', '-')}={value:g}" for name, value in parameters.items()]
        path = self.folder / f"{'-'.join([model, str(seed), *(_plain(text) for text in settings)])}.csv"
        if not path.exists():
            options = [option for text in settings for option in ("--set", text)]
            self.run("generate", model, "--seed", str(seed), *options, "--output", path)
        return path

    def sweep(self, suite: str, name: str = "suite") -> pd.DataFrame:
        """Runs a suite and returns its cells, as ``lab.load`` does.

        ``suite`` is the text of the YAML file, which is written to the folder; paths of traces are relative to it. The
        results are in the folder ``NAME``. Cells that an earlier version of the suite left there are not returned.
        """
        path = self.folder / f"{name}.yml"
        write_text_beside(path, suite)
        results = self.folder / name
        plan = read_plan(self._replay, path, results)
        if plan.failed:
            failure = plan.failed[0]
            raise ReplayError(f"the suite '{name}' cannot be run: {failure.name}: {failure.sentence}")
        self.run("sweep", path, "--results", results)
        # A cell is stored under the name that its trace had at first; here it has the name that the suite gives it.
        traces = {cell.hash: cell.trace for cell in plan.cells}
        frame = load(results)
        chosen = frame[frame["hash"].isin(list(traces))].reset_index(drop=True)
        return chosen.assign(trace=chosen["hash"].map(traces).astype("string"))

    def over_run(
        self, trace: str | os.PathLike[str], policy: str, capacity: int, requests: int, *, points: int = 12, seed: int = 1
    ) -> pd.DataFrame:
        """Returns the metrics that a policy publishes, at equal distances over its run: a column per metric.

        A policy publishes moving averages as they are at the end. A run over the first n requests ends where the whole
        run was after n requests, so runs over growing parts give the averages over time. The first quarter is left
        out. ``capacity`` is a number of objects or bytes, since a share of a part is another capacity.
        """
        rows = []
        for point in range(1, points + 1):
            limit = round(requests * (0.25 + 0.75 * point / points))
            report = self.json(
                "run", trace, "--policy", policy, "--only", "--capacity", str(capacity), "--limit", str(limit),
                "--seed", str(seed),
            )  # fmt: skip
            rows.append({"requests": limit, **report["runs"][0].get("metrics", {})})
        return pd.DataFrame(rows)

    def record(self, policy: str, requests: int) -> Path:
        """Makes the access log of a live cache with the example ``RecordAndReplay`` and returns its path.

        The same log is made once. Raises ``UsageError`` if the example is not built.
        """
        path = self.folder / f"{_plain(policy)}-{requests}.sqlite"
        if path.exists():
            return path
        builds = [self.root / ".build" / kind / "RecordAndReplay" for kind in ("release", "debug")]
        named = os.environ.get(RECORD)
        example = next((build for build in ([Path(named)] if named else builds) if build.is_file()), None)
        if example is None:
            raise UsageError(
                "the example RecordAndReplay is not built; run 'swift build -c release --scratch-path .build --package-path Experiments/Examples --product RecordAndReplay'."
            )
        done = subprocess.run(
            [str(example), policy, str(requests), str(path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=600
        )
        if done.returncode != 0:
            said = last_sentence(done.stdout) or last_sentence(done.stderr) or f"it exited with {done.returncode}."
            raise ReplayError(f"RecordAndReplay failed: {said}")
        return path

    def stored(self, suite: str) -> pd.DataFrame:
        """Returns the committed cells of a suite below ``Experiments/results``."""
        return load(self.root / "Experiments" / "results" / suite)


def png(figure: Figure, *, dpi: int = 100, colours: int = 256) -> bytes:
    """Returns a figure as PNG with a palette, which takes a third of the bytes of full colour."""
    from PIL import Image

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor="white")
    image = Image.open(buffer).convert("RGB").quantize(
        colours, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
    )
    packed = io.BytesIO()
    image.save(packed, format="PNG", optimize=True)
    return packed.getvalue()


def show(figure: Figure, caption: str) -> None:
    """Shows a figure in a notebook and its caption, in Markdown, below it."""
    display = _display()
    text = " ".join(caption.split())
    display.display(display.Image(data=png(figure), format="png"))
    display.display(display.Markdown(f"*Figure.* {text}"))


def table(frame: pd.DataFrame, digits: int = 2) -> None:
    """Shows a frame in a notebook as a table in Markdown, without its index."""
    display = _display()
    display.display(display.Markdown(markdown_table(frame, digits)))


def markdown_table(frame: pd.DataFrame, digits: int = 2) -> str:
    """Returns a frame as a table in Markdown. Numbers are aligned to the right, reals have ``digits`` digits."""

    def text(value: Any) -> str:
        if pd.isna(value):
            return "–"
        if isinstance(value, float):
            return _minus(f"{value:,.{digits}f}")
        if isinstance(value, int) or hasattr(value, "__index__"):
            return f"{int(value):,}"
        return str(value)

    aligned = ["--:" if pd.api.types.is_numeric_dtype(frame[name]) else "---" for name in frame.columns]
    lines = [[str(name) for name in frame.columns], aligned]
    lines += [[text(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def names(items: "list[str] | pd.Series[str]") -> str:
    """Returns names as a list in a sentence: ``none``, ``a``, ``a and b``, ``a, b and c``."""
    unique = [str(item) for item in dict.fromkeys(items)]
    if not unique:
        return "none"
    return unique[0] if len(unique) == 1 else f"{', '.join(unique[:-1])} and {unique[-1]}"


def signed(value: float, digits: int = 2) -> str:
    """Returns a number with its sign; one that rounds to 0 has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else _minus(text)


def _display() -> Any:
    """Returns IPython's module, which only a notebook needs."""
    return importlib.import_module("IPython.display")


def _minus(text: str) -> str:
    negative = text.startswith("-") and any(digit in text for digit in "123456789")
    return f"−{text[1:]}" if negative else text.removeprefix("-")


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]", "", text)


def _root() -> Path:
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "Package.swift").is_file():
            return folder
    raise UsageError("no folder above the working directory has a Package.swift; start the notebook in the repository.")
