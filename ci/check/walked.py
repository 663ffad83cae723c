"""Pages whose blocks of C++ are written to files, and which build what they say. ci/check/walk follows them."""

import documents

BY_DAY = ("docs/internals/add-an-operator.md",)
BY_NIGHT = ("docs/internals/add-a-file-format.md",)
PAGES = BY_DAY + BY_NIGHT


def now():
    return PAGES if documents.NIGHTLY else BY_DAY
