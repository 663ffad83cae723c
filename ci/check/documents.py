"""What README, HACKING.md and docs/ consist of: fenced blocks, and what running them needs.

  sh [exits N] [needs NAME...] [nightly]   is run, and exits with 0 or N; where NAME is missing, or by day, it is not run
  text                                     must be in what the block before printed, in this order; "..." stands for anything
  text example                             output that is not checked
  console REASON                           is not run, and why
"""

import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import tree

LIMIT = 1500  # seconds for one block
NIGHTLY = bool(os.environ.get("ASSAY_NIGHTLY"))
# What a block may need, and whether it is here.
NEEDS = {
    "numpy": lambda: importlib.util.find_spec("numpy"),
    "torch": lambda: importlib.util.find_spec("torch"),
    "pytest": lambda: importlib.util.find_spec("pytest"),
    "h5py": lambda: importlib.util.find_spec("h5py"),
    "clang": lambda: shutil.which("clang"),
    "pkg-config": lambda: shutil.which("pkg-config"),
    "onnx": lambda: Path("/usr/share/libonnx-testdata").is_dir() or Path("/usr/share/onnx").is_dir() or
    subprocess.run(["dpkg-query", "-W", "libonnx-testdata"], capture_output=True).returncode == 0,
}


class Broken(Exception):
    """What in the text is not so."""


@dataclasses.dataclass
class Block:
    language: str
    words: list  # those after the language
    above: str   # the paragraph in front
    contents: str
    line: int


@dataclasses.dataclass
class Ways:
    """How an `sh` block is run."""
    exits: int = 0
    needs: tuple = ()
    nightly: bool = False


def pages(root=tree.ROOT):
    return [f for f in tree.files(root) if f in ("README.md", "HACKING.md") or re.fullmatch(r"docs/.*\.md", f)]


def blocks(text):
    for m in re.finditer(r"^```(\w*)([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        above = text[:m.start()].rstrip().split("\n\n")[-1]
        yield Block(m[1], m[2].split(), above, m[3], text[:m.start()].count("\n") + 1)


def without_blocks(text):
    """The text with its blocks blank; lines keep their numbers."""
    return re.sub(r"^```.*?^```$", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.MULTILINE | re.DOTALL)


def ways_of(block, where):
    ways, words = Ways(), list(block.words)
    while words:
        word = words.pop(0)
        if word == "exits" and words and words[0].isdigit():
            ways.exits = int(words.pop(0))
        elif word == "needs" and words and words[0] in NEEDS:
            while words and words[0] in NEEDS:
                ways.needs += (words.pop(0),)
        elif word == "nightly":
            ways.nightly = True
        else:
            raise Broken(f"{where}: the block says {' '.join(block.words)!r}; after sh stand \"exits N\", \"needs\" with any of "
                         f"{', '.join(NEEDS)}, and \"nightly\"")
    return ways


def why_not(ways):
    """Why such a block is not run here and now, or None."""
    for name in ways.needs:
        if not NEEDS[name]():
            return f"needs {name}"
    return "nightly" if ways.nightly and not NIGHTLY else None


def form_errors(text, page):
    """What of a page's blocks is of no kind that is known, and blocks that nobody would run."""
    found = []
    for b in blocks(text):
        where = f"{page}:{b.line}"
        if b.language == "sh":
            try:
                ways_of(b, where)
            except Broken as e:
                found.append(str(e))
        elif b.language == "text":
            if b.words not in ([], ["example"]):
                found.append(f"{where}: after text stands nothing or \"example\", not {' '.join(b.words)!r}")
        elif b.language == "console":
            if not b.words:
                found.append(f"{where}: say after console why the block is not run")
        elif b.language not in ("cpp", "c"):
            found.append(f"{where}: a block of {b.language or 'no language'}; there are sh, text, console, cpp and c")
    lines = without_blocks(text).splitlines()
    for n, line in enumerate(lines):
        if line.startswith("    ") and line.strip() and (n == 0 or not lines[n - 1].strip()):
            found.append(f"{page}:{n + 1}: an indented block: fence it, with its language")
    return found


def missing_line(expected, printed):
    """The first line of a `text` block that was not printed after those before it, or None."""
    lines, at = [" ".join(l.split()) for l in printed.splitlines()], 0
    for line in expected.splitlines():
        words = " ".join(line.split())
        if words in ("", "..."):
            continue
        pattern = ".*".join(re.escape(p) for p in words.split("..."))
        while at < len(lines) and not re.fullmatch(pattern, lines[at]):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return None


def write_source(block, root, where):
    """A block of C++ or C goes to the file that the paragraph above it begins with."""
    path = re.match(r"(?:\d+\. )?`([\w./-]+)`", block.above)
    if not path:
        raise Broken(f"{where}: the paragraph above the block does not begin with the path of a file: {block.above!r}")
    target = Path(root) / path[1]
    if target.exists():
        raise Broken(f"{where}: {path[1]} is there already")
    if not target.parent.is_dir():
        raise Broken(f"{where}: there is no folder for {path[1]}")
    target.write_text(block.contents)


def follow(text, page, root, environment, writes=False, say=print):
    """Runs the blocks of a page in the tree `root`, from top to bottom; with `writes` those of sources are written. Returns how many ran,
    how many were written, and [(place, why)] of those that were not run. Raises Broken."""
    printed, ran, written, not_run = None, 0, 0, []
    for b in blocks(text):
        where = f"{page}:{b.line}"
        if b.language in ("cpp", "c") and writes:
            write_source(b, root, where)
            written += 1
        elif b.language == "sh":
            ways = ways_of(b, where)
            if reason := why_not(ways):
                not_run.append((where, reason))
                printed = ...
                continue
            begin = time.monotonic()
            r = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", b.contents], cwd=root, env=environment, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT)
            printed = r.stdout
            say(f"{where}: exit {r.returncode} after {time.monotonic() - begin:.1f} s")
            if r.returncode != ways.exits:
                raise Broken(f"{where}: exit {r.returncode} instead of {ways.exits}:\n{b.contents}{printed[-3000:]}")
            ran += 1
        elif b.language == "text" and not b.words and printed is not ...:
            if printed is None:
                raise Broken(f"{where}: nothing was run whose output this could be")
            lost = missing_line(b.contents, printed)
            if lost is not None:
                raise Broken(f"{where}: the output has no line {lost!r} at its place:\n{printed[-3000:]}")
    return ran, written, not_run


def copy_tree(to):
    """A copy of the checkout's files, with a repository of its own whose index has them: files of the copy are known there."""
    shutil.rmtree(to, ignore_errors=True)
    for f in tree.files(tree.ROOT):
        (to / f).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.ROOT / f, to / f)
    subprocess.run(["git", "init", "--quiet", to], check=True)
    subprocess.run(["git", "-C", to, "add", "--all"], check=True)


def environment_of_blocks():
    """Of a user who lets nothing be installed or built, and whose Python is the one that NEEDS asks."""
    kept = {k: v for k, v in os.environ.items() if k not in ("ASSAY_OUT", "ASSAY_PARTS")}
    return {"ASSAY_PYTHON": sys.executable} | kept | {"ASSAY_NO_SETUP": "1"}
