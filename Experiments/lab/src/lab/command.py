"""Finds the command ``replay`` and runs it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.errors import ReplayError, UsageError


def find_replay(named: str | None = None, folder: Path | None = None) -> str:
    """Returns the path of the command.

    That is ``named``, a path or a name to search for; without it, the same from the variable ``REPLAY``; without both,
    the release build of the repository that holds ``folder`` (default: the working directory), and then ``replay`` on
    the search path. Raises ``UsageError`` if there is none.
    """
    named = named or os.environ.get("REPLAY")
    if named:
        found = shutil.which(named)
    else:
        start = (folder or Path.cwd()).resolve()
        builds = [above / ".build" / "release" / "replay" for above in (start, *start.parents)]
        found = next((os.fspath(build) for build in builds if build.is_file()), None) or shutil.which("replay")
    if found is None:
        raise UsageError(
            f"the command '{named or 'replay'}' was not found; run 'make release', or give its path in the variable "
            "REPLAY or with --replay."
        )
    return os.path.abspath(found)


def run_replay(
    replay: str, arguments: Sequence[str], *, text: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command, with ``text`` as its standard input, and returns its output.

    Raises ``ReplayError`` if it cannot be started.
    """
    try:
        return subprocess.run([replay, *arguments], input=(text or "").encode(), capture_output=True, check=False)
    except OSError as error:
        raise ReplayError(
            f"'{replay}' cannot be run: {error.strerror}; give the path of the command with --replay."
        ) from None


def last_sentence(output: bytes) -> str:
    """Returns the last line of an error output that says something, without the prefix ``Error:``."""
    lines = [line.strip() for line in output.decode(errors="replace").splitlines()]
    for line in reversed(lines):
        if line and not re.match(r"(usage:|see ['‘])", line, re.IGNORECASE):
            return re.sub(r"^(Error|replay):\s*", "", line)
    return ""
