"""What goes wrong before there is a dump."""

from __future__ import annotations

import importlib
from typing import Any, Dict, Iterable


class EngineError(ValueError):
    """The engine cannot be run so; the message says which argument, which value, and what to do."""


class EngineMissing(RuntimeError):
    """A package is not here; the message says which one to install."""


def imported(module: str, package: str, what: str) -> Any:
    """A module of an engine's, or EngineMissing."""
    import sys

    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise EngineMissing(f"{what} needs the package {package}, which {sys.executable} does not have: {sys.executable} -m pip install {package} "
                            f"(ASSAY_ENGINE_PYTHON names another Python; {e})") from None


def only_options(given: Dict[str, str], known: Iterable[str], engine: str) -> None:
    for name in given:
        if name not in known:
            raise EngineError(f"--option {name}: {engine} takes {', '.join(known) or 'no options'}")
