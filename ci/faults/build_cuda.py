"""Builds kernels of optimized/cuda, changed or not, as plugins that run them on the processor under the checker."""

import json
import shlex
import shutil
import threading
from pathlib import Path

from build import BuildError, Builder, changed


class CudaBuilder:
    """Libraries of the stem's kernels for a fault, as Builder makes them of optimized/cpu."""

    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = root, build, folder
        self.lock = threading.Lock()
        self.locks, self.controls = {}, {}  # by stem: a library without a fault
        self.shared, self.making = {}, {}  # source -> object, unchanged; source -> lock
        self.base = folder / "unchanged_cuda"
        shutil.rmtree(self.base, ignore_errors=True)
        shutil.copytree(root / "optimized", self.base / "optimized", ignore=shutil.ignore_patterns("onednn", "test"))
        self.commands = self.flags()

    def library(self, name, fault):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        tree = folder / "optimized"
        shutil.copytree(self.base / "optimized", tree)
        target = folder / fault["file"]
        target.write_text(changed(target.read_text(), fault, fault["file"]))
        objects = []
        for source in self.sources(fault["stem"]):
            if fault["find"] is None or not source.endswith(".cu"):
                objects.append(self.unchanged(source))
                continue
            objects.append(folder / (Path(source).stem + ".o"))
            self.compile(folder / source, objects[-1], tree)
        library = folder / "libfault.so"
        Builder.run(["c++", "-shared", "-o", library, *objects, self.build / "cases/libassay_cases.a", "-lfmt", "-ldl",
                     "-Wl,--exclude-libs,ALL", "-Wl,--no-undefined"])
        return library

    def unchanged_library(self, fault):
        """The library of a fault that changes nothing: one for all of a stem."""
        with self.lock:
            lock = self.locks.setdefault(fault["stem"], threading.Lock())
        with lock:
            if fault["stem"] not in self.controls:
                self.controls[fault["stem"]] = self.library(f"control.of.cuda.{fault['stem']}", fault)
            return self.controls[fault["stem"]]

    def sources(self, stem):
        """The stem's kernels, the scheduler and the checker, the geometry that CPU kernels have too, the plugin's table."""
        cuda = self.base / "optimized/cuda"
        kernels = [p for p in cuda.glob("*.cu") if p.stem in (stem, f"{stem}_backward")]
        if not kernels:
            raise BuildError(f"there is no optimized/cuda/{stem}.cu")
        rest = [*cuda.glob("emulation/*.cpp"), cuda / "memory_emulated.cpp"]
        rest += [self.base / "optimized" / p for p in self.commands["geometry"]]
        return [str(p.relative_to(self.base)) for p in sorted([*kernels, *rest, self.base / "optimized/plugin.cpp"])]

    def unchanged(self, source):
        with self.lock:
            lock = self.making.setdefault(source, threading.Lock())
        with lock:
            if source not in self.shared:
                obj = self.base / (source.replace("/", ".") + ".o")
                self.compile(self.base / source, obj, self.base / "optimized")
                self.shared[source] = obj
            return self.shared[source]

    def compile(self, source, obj, tree):
        command = self.commands["kernels" if str(source).endswith(".cu") else "scheduler"]
        inside = {f"-I{self.root}/optimized": f"-I{tree}", f"-I{self.root}/optimized/cuda": f"-I{tree}/cuda"}
        language = ["-x", "c++"] if str(source).endswith(".cu") else []
        Builder.run([*(inside.get(w, w) for w in command), *language, "-c", source, "-o", obj])

    def flags(self):
        """The commands that compile the checked kernels and their scheduler in the program's build, without files and warnings."""
        found = {"geometry": []}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            if not any("assay_cuda_checked" in w for w in words):
                continue
            kind = "kernels" if entry["file"].endswith(".cu") else "scheduler"
            if "/optimized/cpu/" in entry["file"]:
                found["geometry"].append(str(Path(entry["file"]).relative_to(self.root / "optimized")))
            drop = {words.index("-o"), words.index("-o") + 1, words.index("-c"), words.index(entry["file"])}
            if "-x" in words:
                drop |= {words.index("-x"), words.index("-x") + 1}
            found[kind] = [w for i, w in enumerate(words) if i not in drop and not w.startswith("-W")] + ["-w", "-O1"]
        if len(found) != 3:
            raise BuildError(f"{self.build}/compile_commands.json names no kernels for the checker: build with GCC")
        return found
