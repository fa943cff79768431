"""The errors that this package raises."""

from __future__ import annotations

import os


class LabError(Exception):
    """A failure that one sentence explains; the base class of the others."""


class ResultsError(LabError):
    """A file or a folder of results that cannot be used.

    ``path`` is that file or folder.
    """

    def __init__(self, path: str | os.PathLike[str], sentence: str) -> None:
        self.path = os.fspath(path)
        super().__init__(f"{self.path}: {sentence}")

    def __reduce__(self) -> tuple[type[ResultsError], tuple[str, str]]:
        return (ResultsError, (self.path, str(self).removeprefix(f"{self.path}: ")))


class ReplayError(LabError):
    """A run of the command ``replay`` that gave no usable output."""


class UsageError(LabError):
    """An argument outside its accepted values."""
