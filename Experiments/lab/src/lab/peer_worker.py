"""Runs policies of libCacheSim, each in a process of its own, and prints a line of JSON for each.

Standard input has one JSON document: ``{"trace": PATH, "runs": [[NAME, {PARAMETER: VALUE}, CAPACITY], …]}`` with an
``oracleGeneral`` file. A line of output is ``{"misses": RATIO, "byte_misses": RATIO}`` or ``{"failure": SENTENCE}``.
The release draws random numbers from one generator of the process, so a run's counts would depend on the runs before it. A
crash of the release ends its own process only. This file imports nothing of this package, so that it starts fast.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


#: Seconds after which a run is ended: some policies of the release do not end on some traces.
LIMIT = 1800


def constructor(package: Any, name: str) -> Any:
    """Returns the class of a policy, or the bound function if the package has no class for it."""
    if not name.endswith("_init"):
        return getattr(package, name)
    function = getattr(package.libcachesim_python, name)

    def make(capacity: int, **parameters: Any) -> Any:
        common = package.CommonCacheParams(cache_size=capacity, default_ttl=86400 * 300, hashpower=24)
        return package.CacheBase(function(common, **parameters))

    return make


def _run(package: Any, trace: str, name: str, parameters: dict[str, Any], capacity: int) -> dict[str, float]:
    reader = package.TraceReader(trace, package.TraceType.ORACLE_GENERAL_TRACE, package.ReaderInitParam())
    misses, byte_misses = constructor(package, name)(capacity, **parameters).process_trace(reader)
    return {"misses": misses, "byte_misses": byte_misses}


def _in_a_process(package: Any, trace: str, run: list[Any]) -> str:
    receiving, sending = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(receiving)
        signal.alarm(LIMIT)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            result: dict[str, Any] = dict(_run(package, trace, *run))
        except Exception as error:
            result = {"failure": f"{type(error).__name__}: {error}"}
        os.write(sending, json.dumps(result).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return json.dumps({"failure": f"did not end in {LIMIT} s"})
    if os.WIFSIGNALED(status):
        return json.dumps({"failure": f"ended by signal {os.WTERMSIG(status)}"})
    return text or json.dumps({"failure": f"ended with status {os.waitstatus_to_exitcode(status)}, without a result"})


def main() -> None:
    """Reads the runs and prints their results in order."""
    import libcachesim

    document = json.load(sys.stdin)
    for run in document["runs"]:
        print(_in_a_process(libcachesim, document["trace"], run), flush=True)


if __name__ == "__main__":
    main()
