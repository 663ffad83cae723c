"""python -m assay: the command `assay`."""

from ._command import main

main()
