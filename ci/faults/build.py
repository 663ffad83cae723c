"""Builds our kernels, changed or not, as plugin libraries."""

import json
import os
import shlex
import shutil
import subprocess
import threading
from pathlib import Path

# Of the standard library.
HEADERS = [f"#include <{name}>" for name in ("algorithm", "array", "functional", "numeric", "vector")]


class BuildError(Exception):
    pass


def changed(text, fault, path):
    """The source with the fault in it. The text to replace must stand there exactly once."""
    if fault["find"] is None:
        return text
    find, put = fault["find"].strip("\n"), fault["put"].strip("\n")
    count = text.count(find)
    if count != 1:
        raise BuildError(f"{path}: the text to change stands there {count} times, not once: {find!r}")
    return text.replace(find, put)


def read_dependencies(text):
    """The files that an object is made of, in the compiler's words."""
    return text.replace("\\\n", " ").split(":", 1)[1].split()


class Builder:
    """Libraries of the stem's kernels for a fault: {"file", "find", "put", "stem"}; find None changes nothing.

    Sources in optimized/ are copied, changed and compiled with the flags of the program's build, but for their
    optimisation, which faults do not depend on; objects that the change cannot touch are compiled once, and so are the
    headers that are not ours. A C file is a plugin by itself."""

    kind = "cpu"
    libraries = ["-fopenmp", "-lfmt"]

    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = root, build, folder
        self.lock = threading.Lock()
        self.locks = {}  # of what is built once
        self.controls = {}  # stem -> a library without a fault
        self.shared = {}  # source -> (object, files it includes), unchanged
        self.base = folder / f"unchanged.{self.kind}"  # a copy, so that all faults change the same sources
        shutil.rmtree(self.base, ignore_errors=True)
        shutil.copytree(root / "optimized", self.base / "optimized", ignore=shutil.ignore_patterns("onednn", "test"))
        self.prepare()

    def prepare(self):
        self.narrow(self.base / "optimized/cpu/levels.h", self.base / "optimized/cpu/highway_levels.h")
        self.headers = self.precompiled(self.base / "optimized/cpu/highway_levels.h")

    def library(self, name, fault):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        library = folder / "libfault.so"
        if fault["file"].endswith(".c"):
            source = folder / Path(fault["file"]).name
            source.write_text(changed((self.root / fault["file"]).read_text(), fault, fault["file"]))
            self.run(["cc", "-std=gnu99", "-O1", "-g1", "-w", "-fPIC", "-shared", "-I", self.root / "cases/vocabulary", source,
                      "-o", library, "-lm"])
            return library
        tree = folder / "optimized"
        shutil.copytree(self.base / "optimized", tree)
        target = folder / fault["file"]
        target.write_text(changed(target.read_text(), fault, fault["file"]))
        objects, touched = [], fault["find"] is None
        for source in self.sources(fault["stem"]):
            shared, included = self.unchanged(source)
            if fault["find"] is None or fault["file"] not in included:
                objects.append(shared)
                continue
            objects.append(folder / (Path(source).stem + ".o"))
            self.compile(folder / source, objects[-1], tree)
            touched = True
        if not touched:
            raise BuildError(f"{fault['file']} is part of no source of the stem {fault['stem']}")
        self.run(["c++", "-shared", "-o", library, *objects, self.build / "cases/libassay_cases.a", *self.libraries,
                  "-Wl,--exclude-libs,ALL", "-Wl,--no-undefined"])
        return library

    def unchanged_library(self, fault):
        """The library of a fault that changes nothing: one for all of a stem, or of a C file."""
        in_c = fault["file"].endswith(".c")
        name = Path(fault["file"]).name if in_c else fault["stem"]
        with self.one_at_a_time(name):
            if name not in self.controls:
                self.controls[name] = self.library(f"control.of.{self.kind}.{name}", fault)
            return self.controls[name]

    def one_at_a_time(self, name):
        with self.lock:
            return self.locks.setdefault(name, threading.Lock())

    def sources(self, stem):
        """What the plugin of one stem is made of: the plugin's table, the shared layer and the stem itself."""
        stems = {p.stem for p in (self.root / "cases/ops").glob("*.h")}
        layer = [p for p in sorted([*(self.base / "optimized/cpu").glob("*.cpp"), *(self.base / "optimized/geometry").glob("*.cpp")])
                 if p.stem in (stem, f"{stem}_backward") or not any(p.stem == s or p.stem.startswith(s + "_") for s in stems)]
        return ["optimized/plugin.cpp", *(str(p.relative_to(self.base)) for p in layer)]

    def unchanged(self, source):
        """The object of a source without a fault, and the files of ours that it includes."""
        with self.one_at_a_time(source):
            if source not in self.shared:
                obj = self.base / (source.replace("/", ".") + ".o")
                self.compile(self.base / source, obj, self.base / "optimized", "-MMD", "-MF", f"{obj}.d")
                self.shared[source] = (obj, self.of_base(read_dependencies(Path(f"{obj}.d").read_text())))
            return self.shared[source]

    def of_base(self, included):
        prefix = str(self.base) + "/"
        # A header that is included as "../geometry/wrap.h" is in cpu/../geometry.
        paths = (os.path.normpath(i) for i in included)
        return {i.removeprefix(prefix) for i in paths if i.startswith(prefix)}

    def compile(self, source, obj, tree, *more):
        command = [w if w != f"-I{self.root}/optimized" else f"-I{tree}" for w in self.flags()]
        self.run([*command, *more, "-include", self.headers, "-I", tree, "-c", source, "-o", obj])

    def precompiled(self, highway):
        """Highway and headers that are not ours: a copy, as faults may not be in what objects share."""
        header = self.base / "headers.h"
        header.write_text("\n".join(['#include "vocabulary/kernel.h"', highway.read_text().replace("#pragma once\n", ""), *HEADERS, ""]))
        self.run([*self.flags(), "-x", "c++-header", header, "-o", f"{header}.gch"])
        return header

    def flags(self):
        """The command that compiles the CPU kernels in the program's build, without files and warnings, and with less optimisation."""
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            if "/optimized/cpu/" in entry["file"]:
                words = shlex.split(entry["command"])
                drop = {words.index("-c"), words.index(entry["file"])}
                for i, w in enumerate(words):
                    if w in ("-o", "-include"):  # the latter: the program's precompiled headers
                        drop |= {i, i + 1}
                return [w for i, w in enumerate(words) if i not in drop and not w.startswith("-W")] + ["-w", "-O1", '-DASSAY_PLUGIN_NAME="assay-cpu"']
        raise BuildError(f"{self.build}/compile_commands.json names no source of optimized/cpu")

    @staticmethod
    def narrow(levels, highway):
        """One ISA level instead of all: faults do not depend on it, and compiling takes a third of the time."""
        avx2 = " avx2 " in Path("/proc/cpuinfo").read_text()
        text = levels.read_text()
        kept = {True: "cpu.avx2", False: "cpu.baseline"}[avx2]
        lines = text.splitlines()
        for macro in ("#define ASSAY_CPU_LEVELS(op, function, contract_text)", "#define ASSAY_CPU_FUNCTOR(op, driver, functor, contract_text)"):
            begin = next(i for i, l in enumerate(lines) if l.startswith(macro))
            end = next(i for i in range(begin, len(lines)) if not lines[i].endswith("\\"))
            body = " ".join(l.rstrip("\\").strip() for l in lines[begin:end + 1])[len(macro):]
            entry = next(e for e in body.split("ASSAY_CPU_LEVEL(") if f'"{kept}"' in e).rstrip(", ")
            lines[begin:end + 1] = [f"{macro} ASSAY_CPU_LEVEL({entry}"]
        levels.write_text("\n".join(lines) + "\n")
        text = highway.read_text()
        if avx2:
            text = changed(text, {"find": "#define HWY_BASELINE_TARGETS HWY_EMU128", "put": "#define HWY_BASELINE_TARGETS HWY_AVX2"},
                           highway)
        highway.write_text(text.replace("#pragma once\n", "#pragma once\n#define HWY_COMPILE_ONLY_STATIC\n"))

    @staticmethod
    def run(command):
        r = subprocess.run(command, capture_output=True, text=True)
        if r.returncode:
            errors = [l for l in r.stderr.splitlines() if "error" in l or "undefined" in l] or r.stderr.splitlines()
            raise BuildError("; ".join(errors[:3]) or f"{command[0]} failed")
