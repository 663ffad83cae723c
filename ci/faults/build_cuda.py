"""Builds kernels of optimized/cuda, changed or not, as plugins that run them on the processor under the checker."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from build import BuildError, Builder, read_dependencies

# Of optimized/cuda's CMake files, whose sources these libraries are made of.
KERNELS = "assay_cuda_emulated"
TARGETS = (KERNELS, "assay_cuda_interpreter", "assay_cuda_geometry", "assay_cuda_simulator_plugin")


class CudaBuilder(Builder):
    """Libraries of a stem's kernels as Builder makes them of optimized/cpu, with what runs them: scheduler, checker, interpreter."""

    kind = "cuda"
    libraries = ["-lfmt", "-ldl"]

    def prepare(self):
        os.environ["ASSAY_CUDA_CHECK"] = "1"  # for the workers of each `assay` that runs these libraries: the checker is on
        self.commands, self.simulator, self.objects, self.of_kernels = {}, [], {}, []
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            at = words.index("-o")
            target = next((t for t in TARGETS if f"{t}.dir/" in words[at + 1]), None)
            if target is None or Path(entry["file"]).stem == "cmake_pch.hxx":
                continue
            source = self.in_base(Path(entry["file"]))
            self.objects[source] = Path(entry["directory"]) / words[at + 1]
            # Without files and warnings; faults do not depend on optimisation.
            drop = {at, at + 1, words.index("-c"), words.index(entry["file"])}
            for i, w in enumerate(words):
                if w == "-include":  # the program's precompiled headers, which are of unchanged sources
                    drop |= {i, i + 1}
            self.commands[source] = [*(w for i, w in enumerate(words) if i not in drop and not w.startswith("-W")), "-w", "-O1"]
            if target == KERNELS:
                self.of_kernels = self.commands[source]
            else:
                self.simulator.append(source)
        if "-fsanitize=thread" not in self.of_kernels:
            raise BuildError(f"{self.build}/compile_commands.json names no kernels for the checker: build with GCC")

    def in_base(self, source):
        """The name of a source in the copy of optimized/. Those of the build, which include others, are put there."""
        if source.parent.name != "together":
            return str(source.relative_to(self.root))
        name = f"optimized/cuda/together/{source.name}"
        (self.base / name).parent.mkdir(exist_ok=True)
        shutil.copy2(source, self.base / name)
        return name

    def sources(self, stem):
        """The stem's kernels, what they call, and the simulator that runs them."""
        cuda = self.base / "optimized/cuda"
        stems = {p.stem for p in (self.root / "cases/ops").glob("*.h")}
        kernels, layer = [], []
        for path in sorted(cuda.glob("*.cu")):
            source = str(path.relative_to(self.base))
            if path.stem in (stem, f"{stem}_backward"):
                kernels.append(source)
            elif not any(path.stem == s or path.stem.startswith(s + "_") for s in stems):
                layer.append(source)
        if not kernels:
            raise BuildError(f"there is no optimized/cuda/{stem}.cu")
        included = set().union(*(self.unchanged(k)[1] for k in kernels))
        return [*kernels, *(s for s in layer if s.removesuffix(".cu") + ".h" in included), *self.simulator]

    def unchanged(self, source):
        """The object of the program's build, unless something that it is made of is newer: they are half of what is compiled."""
        with self.one_at_a_time(source):
            built = self.objects.get(source)
            if source not in self.shared and built and built.is_file():
                asked = subprocess.run([*self.command(source, self.base / "optimized"), "-MM", self.base / source],
                                       capture_output=True, text=True)
                included = read_dependencies(asked.stdout) if asked.returncode == 0 else [str(built.parent / "none")]
                made = built.stat().st_mtime
                if all(Path(i).exists() and Path(i).stat().st_mtime <= made for i in included):
                    self.shared[source] = (built, self.of_base(included))
        return super().unchanged(source)

    def command(self, source, tree):
        words = self.commands.get(str(source).removeprefix(f"{tree.parent}/"), self.of_kernels)
        moved = {f"-I{self.root}/optimized": f"-I{tree}", f"-I{self.root}/optimized/cuda": f"-I{tree}/cuda"}
        return [moved.get(w, w) for w in words]

    def compile(self, source, obj, tree, *more):
        self.run([*self.command(source, tree), *more, "-c", source, "-o", obj])
