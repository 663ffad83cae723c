"""Errors of the package. Each message names the argument and the value that is wrong."""

from __future__ import annotations


class UnknownOperator(LookupError):
    """There is no such operator, or the text of a graph is wrong. The message has the nearest names."""


class ArgumentError(ValueError):
    """The operator does not take these arguments, or a contract, a tensor or an option is not one."""


class TooLarge(MemoryError):
    """The call would take more memory than this machine has."""


class ServerError(RuntimeError):
    """The process that judges cannot be started, is of another version, or has ended."""


class Vacuous(UserWarning):
    """The result is right, but the data could not have shown a fault: zeros would have passed, too."""


# The keys are those of harness/serve/request.h.
OF_KIND = {"operator": UnknownOperator, "argument": ArgumentError, "tensor": ArgumentError, "contract": ArgumentError, "memory": TooLarge}
