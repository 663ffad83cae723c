"""Copies of a trace while it is recorded, of which one stays if the program is killed."""

import contextlib
import os
import shutil
import time

import case_file


class Kept:
    """A copy of the trace now and then, which is whole: the file that is written to is none until it is closed, and a program that is
    killed does not close it. It takes a fiftieth of the time."""

    LEAST, SHARE = 0.25, 50

    def __init__(self, file, partial, kept):
        self.file, self.partial, self.kept = file, partial, kept
        self.next = 0.0

    def copy(self):
        begin = time.monotonic()
        if begin < self.next:
            return
        try:
            self.file.flush()
            shutil.copyfile(self.partial, self.kept + ".new")
            case_file.mark_as_closed(self.kept + ".new")
            os.replace(self.kept + ".new", self.kept)
        except OSError:  # there may be no room for both: the trace itself says what cannot be written
            self.remove()
            self.next = float("inf")
            return
        end = time.monotonic()
        self.next = end + max(self.LEAST, self.SHARE * (end - begin))

    def remove(self):
        for path in (self.kept, self.kept + ".new"):
            with contextlib.suppress(OSError):
                os.remove(path)
