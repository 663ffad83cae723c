"""Where Assay's program and libraries are.

    subprocess.run([program(), "ops", "prelu"])

They come with an installed package, in its folder `bin`. In a source tree they are what ./assay has built last. The environment
variable ASSAY_PROGRAM names another program.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


class NotInstalled(RuntimeError):
    """Assay's program is not where it should be; the message says where it was looked for."""


def _candidates() -> list[Path]:
    places = [_PACKAGE / "bin" / "assay"]
    tree = _PACKAGE.parents[2]
    if (tree / "CMakePresets.json").exists():
        built = [p for p in tree.glob("build/*/bin/assay") if p.parent.parent.name in ("release", "dev")]
        places += sorted(built, key=lambda p: p.stat().st_mtime, reverse=True)
    return places


def _is_executable(path: str) -> bool:
    """Whether it is a program for this kind of machine, which the command that comes with this package is not."""
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def is_packaged() -> bool:
    """Whether this package has a program of its own, as an installed one has."""
    return (_PACKAGE / "bin" / "assay").exists()


def program() -> str:
    """The path of the executable `assay`. Raises NotInstalled."""
    named = os.environ.get("ASSAY_PROGRAM")
    if named:
        if not os.access(named, os.X_OK):
            raise NotInstalled(f"ASSAY_PROGRAM={named}: is no program that can be run")
        return os.path.abspath(named)
    places = _candidates()
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    found = shutil.which("assay")
    if found and _is_executable(found):
        return found
    looked = ", ".join(map(str, places))
    raise NotInstalled(f"the program `assay` was not found at {looked}, nor on PATH; ASSAY_PROGRAM=/path/to/assay names it")
