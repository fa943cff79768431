"""The command line: ``python -m lab export | report | screenshot | distribute | evidence | rerun | peers``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lab.errors import LabError, ResultsError, UsageError

EX_USAGE, EX_DATA, FAILED = 64, 65, 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EX_USAGE, f"Error: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status: 0, 1 a cell failed, 64 wrong usage, 65 unusable data."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except UsageError as error:
        return _fail(error, EX_USAGE)
    except ResultsError as error:
        return _fail(error, EX_DATA)
    except LabError as error:
        return _fail(error, FAILED)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else error, FAILED)
    except KeyboardInterrupt:
        print("stopped; what has arrived is stored, run the same command again to go on.", file=sys.stderr)
        return 130


def _parser() -> _Parser:
    parser = _Parser(prog="python -m lab", description="Halcyon's stored results as tables, pages and Dask tasks.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    command = commands.add_parser("export", help="write the cells of results folders as CSV or Parquet")
    command.add_argument("folders", nargs="+", metavar="FOLDER")
    command.add_argument("path", metavar="FILE", help="ends with .csv or .parquet")
    command.set_defaults(run=_export)

    command = commands.add_parser("report", help="write an HTML page of the cells of results folders")
    command.add_argument("folders", nargs="+", metavar="FOLDER")
    command.add_argument("path", metavar="FILE.html")
    command.add_argument("--baseline", metavar="RUN", help="default: lru, if it was run")
    command.add_argument("--measure", choices=("object", "byte"), default="object", help="default: object")
    command.add_argument("--title", default="Results")
    command.add_argument(
        "--run", dest="runs", action="append", default=[], metavar="FILE",
        help="a JSON result of `replay run` or `replay explain`, for the calibration; repeatable",
    )  # fmt: skip
    command.set_defaults(run=_report)

    command = commands.add_parser("screenshot", help="write a picture of a page of `report`, as Chromium shows it")
    command.add_argument("page", metavar="FILE.html")
    command.add_argument("path", metavar="FILE.png")
    command.add_argument("--width", type=int, default=1280, help="in pixels (default: 1280)")
    command.add_argument("--dark", action="store_true", help="in dark colours")
    command.set_defaults(run=_screenshot)

    command = commands.add_parser("distribute", help="run the missing cells of a suite as tasks of Dask")
    command.add_argument("suite", metavar="SUITE")
    command.add_argument("results", metavar="FOLDER")
    command.add_argument("--replay", help="the command, or its path (default: REPLAY, or the release build)")
    command.add_argument("--address", help="a running scheduler, as tcp://HOST:8786 (default: local processes)")
    command.add_argument("--workers", type=int, default=2, help="local processes (default: 2)")
    command.add_argument("--retries", type=int, default=3, help="repetitions after a killed worker (default: 3)")
    command.add_argument("--users", type=int, metavar="N", help="split per-user cells into N parts by user")
    command.add_argument("--batch-seconds", type=float, default=30, help="estimated seconds of a task (default: 30)")
    command.set_defaults(run=_distribute)

    command = commands.add_parser("evidence", help="write the tables of documents from stored results")
    command.add_argument("results", metavar="RESULTS", help="the folder of the suites' folders of results")
    command.add_argument("documents", nargs="+", metavar="DOCUMENT")
    command.add_argument("--check", action="store_true", help="write nothing; fail if a table differs")
    command.add_argument("--pictures", metavar="FOLDER", help="write overview.svg, prefetching.svg and kinds.svg, too")
    command.set_defaults(run=_evidence)

    command = commands.add_parser("rerun", help="run some stored cells of a suite again and compare their bytes")
    command.add_argument("suite", metavar="SUITE")
    command.add_argument("results", metavar="FOLDER")
    command.add_argument("--replay", help="the command, or its path (default: REPLAY, or the release build)")
    command.add_argument("--cells", type=int, default=5, help="cells to draw (default: 5)")
    command.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    command.add_argument("--trace", action="append", default=[], metavar="NAME", help="draw from this trace; repeatable")
    command.set_defaults(run=_rerun)

    command = commands.add_parser("peers", help="count the misses of libCacheSim's release on PyPI")
    command.add_argument("counts", metavar="FILE", help="the file of its counts")
    command.add_argument("--bundled", default="Traces", help="the folder of the bundled traces (default: Traces)")
    command.add_argument(
        "--traces", default=os.environ.get("HALCYON_TRACES"), help="of the others (default: HALCYON_TRACES)"
    )
    command.add_argument("--check", action="store_true", help="write nothing; run a part again and fail if it differs")
    command.add_argument("--all", action="store_true", help="run all cells again, not only missing or drawn ones")
    command.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    command.add_argument("--workers", type=int, default=2, help="local processes (default: 2)")
    command.set_defaults(run=_peers)
    return parser


def _export(options: argparse.Namespace) -> int:
    from lab.tables import export

    rows = export(options.folders, options.path)
    print(f"{options.path}: {rows:,} cells")
    return 0


def _report(options: argparse.Namespace) -> int:
    from lab.page import report

    rows = report(
        options.folders, options.path, baseline=options.baseline, measure=options.measure, title=options.title,
        runs=options.runs,
    )  # fmt: skip
    print(f"{options.path}: {rows:,} cells")
    return 0


def _screenshot(options: argparse.Namespace) -> int:
    from lab.page.browser import needed, screenshot

    needed()
    if not Path(options.page).is_file():
        raise ResultsError(options.page, "there is no such page; `report` writes one.")
    screenshot(options.page, options.path, width=options.width, dark=options.dark)
    print(options.path)
    return 0


def _distribute(options: argparse.Namespace) -> int:
    from lab.distribution import distribute

    outcome = distribute(
        options.suite, options.results, replay=options.replay, client=options.address, workers=options.workers,
        retries=options.retries, users=options.users, batch_seconds=options.batch_seconds,
        progress=lambda line: print(line, file=sys.stderr, flush=True),
    )  # fmt: skip
    print(
        f"{outcome.cells:,} cells: {outcome.stored_before:,} were stored, {outcome.stored:,} run, "
        f"{len(outcome.failed):,} failed, in {outcome.seconds:.1f} s"
    )
    for failed in outcome.failed:
        print(f"failed: {failed.name} {failed.hash}: {failed.sentence}", file=sys.stderr)
    return FAILED if outcome.failed else 0


def _evidence(options: argparse.Namespace) -> int:
    from lab.evidence import write
    from lab.frontier import frontier
    from lab.kinds_map import kinds_map
    from lab.overview import overview
    from lab.tables import write_text_beside

    changed = write(Path(options.results), [Path(path) for path in options.documents], check=options.check)
    pictures = {"overview.svg": overview, "prefetching.svg": frontier, "kinds.svg": kinds_map}
    for name, drawn in pictures.items() if options.pictures else ():
        picture, text = Path(options.pictures) / name, drawn(Path(options.results))
        if not picture.exists() or picture.read_text(encoding="utf-8") != text:
            changed.append(picture)
            if not options.check:
                write_text_beside(picture, text)
    for path in changed:
        print(f"{path}: {'differs from the stored results; run make evidence' if options.check else 'written'}")
    return FAILED if changed and options.check else 0


def _rerun(options: argparse.Namespace) -> int:
    from lab.rerun import rerun

    count, different = rerun(
        Path(options.suite), Path(options.results), replay=options.replay, cells=options.cells, seed=options.seed,
        traces=options.trace,
    )  # fmt: skip
    for name in different:
        print(f"{name}: the result differs from the stored one, or could not be made")
    print(f"{options.suite}: {count} cells run again, {len(different)} differ")
    return FAILED if different else 0


def _peers(options: argparse.Namespace) -> int:
    from lab import peer_runs

    counts, bundled = Path(options.counts), Path(options.bundled)
    traces = Path(options.traces) if options.traces else None
    if options.workers < 1:
        raise UsageError(f"--workers is {options.workers}; at least 1 is needed.")

    def progress(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    if not options.check:
        ran = peer_runs.count(
            counts, bundled=bundled, traces=traces, again=options.all, workers=options.workers, progress=progress
        )
        print(f"{counts}: {ran:,} runs")
        return 0
    ran, different = peer_runs.check(
        counts, bundled=bundled, traces=traces, everything=options.all, seed=options.seed, workers=options.workers,
        progress=progress,
    )  # fmt: skip
    for line in different:
        print(line)
    print(f"{counts}: {len(different)} of {ran:,} counts differ")
    return FAILED if different else 0


def _fail(error: object, status: int) -> int:
    print(f"Error: {error}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
