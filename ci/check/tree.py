"""What the checks share: the files of the checkout, and how a check reports and tests itself."""

import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("cases", "reference", "optimized", "harness", "reports")
SOURCES = (".h", ".cpp", ".c", ".cu")


def files(root=ROOT):
    """Paths below root, as text with "/", that git tracks or would track; all files where there is no git, which is said."""
    try:
        # A checkout may belong to somebody else: root who tests it, the user of a container.
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], capture_output=True, check=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError) as e:
        if Path(root) == ROOT:  # self-tests have trees without git
            said_once(f"git does not list the files here, so all of them are looked at, ignored ones too: "
                      f"{getattr(e, 'stderr', None) or e}")
        listed = [f for f in (str(p.relative_to(root)) for p in Path(root).rglob("*")) if f.split("/")[0] != ".git"]
    return sorted({f for f in listed if f and (Path(root) / f).is_file() and not f.startswith("build/")})


@functools.cache
def said_once(text):
    print(text.strip(), file=sys.stderr)


def sources(root=ROOT, suffixes=SOURCES):
    """Those of our five folders that are C, C++ or CUDA."""
    return [f for f in files(root) if f.split("/")[0] in FOLDERS and f.endswith(suffixes)]


def without_comments(text):
    """C++ text in which comments and the contents of strings are blank; lines keep their numbers."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group())
    kept = lambda m: m.group() if m.group().startswith(("'", '"')) else blank(m)
    token = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/'
    return re.sub(token, kept, text, flags=re.S)


def tree_of(contents):
    """A folder, to be used with `with`, that holds these files {path: text}: the input of a self-test."""
    folder = tempfile.TemporaryDirectory()
    for path, text in contents.items():
        target = Path(folder.name) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


def main(name, check, self_test, found):
    """Runs `check()`, which returns violations as text, or with --self-test `self_test()`, which asserts that the
    check can fail. `found()` says in one line what was looked at. Exits 1 on a violation."""
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        print(f"{name}: the check can fail")
        return
    if len(sys.argv) > 1:
        sys.exit(f"usage: {sys.argv[0]} [--self-test]")
    violations = check()
    for v in violations:
        print(f"{name}: {v}")
    print(f"{name}: {found()}: {'FAILED, ' + str(len(violations)) + ' violations' if violations else 'ok'}")
    sys.exit(1 if violations else 0)


JOBS = len(os.sched_getaffinity(0))
