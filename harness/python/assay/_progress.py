"""How far a run is, while it runs: read from the journal that the program keeps in the folder of its case files.

    assay.verify(f, "relu", progress=lambda p: print(p.done, p.total))

Nothing is asked of the program for this, and nothing of the function's processes.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Sequence, Union

_EVERY = 0.25  # seconds


@dataclass(frozen=True)
class Progress:
    """Where a run is.

    Attributes
    ----------
    done, total : int
        Generated cases that have been run, and all.
    failures : int
        Faults that were found until now.
    seconds : float
        Since it began.
    """

    name: str
    done: int
    total: int
    failures: int
    seconds: float

    def __str__(self) -> str:
        faults = f", {self.failures} fault{'' if self.failures == 1 else 's'}" if self.failures else ""
        return f"{self.name}: {self.done:,} of {self.total:,} cases{faults}, {self.seconds:.0f} s"


def _is_shown() -> bool:
    """Whether somebody watches: a terminal, or a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stderr.isatty() or getattr(shell, "kernel", None) is not None


class _Line:
    """One line of standard error, written over and over."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, p: Progress) -> None:
        text = str(p)
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


class Watch:
    """Reports how far the run of a command is; called again and again while it runs."""

    def __init__(self, wanted: Union[bool, Callable[[Progress], Any], None], name: str, folder: Path, command: Sequence[str]):
        if wanted is not None and not isinstance(wanted, bool) and not callable(wanted):
            raise TypeError(f"progress={wanted!r}: True, False, None or a function of one argument")
        self._line = _Line() if wanted is True or wanted is None and _is_shown() else None
        self._report = self._line or (wanted if callable(wanted) else None)
        self._name, self._folder, self._command = name, folder, set(command)
        self._others = {(p.name, p.stat().st_ino) for p in folder.glob("*.journal")} if self._report is not None else set()
        self._begin = self._next = time.monotonic()
        self._file: Optional[Any] = None
        self._rest = ""
        self._done = self._total = self._failures = 0

    def __call__(self) -> None:
        now = time.monotonic()
        if self._report is None or now < self._next:
            return
        self._next = now + _EVERY
        if self._file is None and not self._found():
            return
        before = (self._done, self._failures)
        *lines, self._rest = (self._rest + self._file.read()).split("\n")
        for line in lines:
            self._read(line)
        if self._total and (self._line is not None or (self._done, self._failures) != before):
            self._report(Progress(self._name, self._done, self._total, self._failures, now - self._begin))

    def _found(self) -> bool:
        for path in self._folder.glob("*.journal"):
            try:
                if (path.name, path.stat().st_ino) in self._others:
                    continue
                file = path.open(errors="replace")
                asked = json.loads(file.readline())["run"]["asked"]
            except (OSError, ValueError, KeyError):
                continue
            if self._command.issuperset(asked):
                self._file = file
                return True
            file.close()
        return False

    def _read(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            return
        if "document" in entry:
            self._total = max(self._total, entry["document"].get("cases_not_run", 0))
        for row in entry.get("add", {}).get("results", []):
            self._done += row.get("cases", 0)
            self._failures += len(row.get("failures", []))
        self._done = min(self._done, self._total)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._line is not None:
            self._line.close()
