"""Builds kernels of optimized/cuda, changed or not, as plugins that run them on the processor under the checker."""

import json
import shlex
import subprocess
from pathlib import Path

from build import BuildError, Builder, read_dependencies


class CudaBuilder(Builder):
    """Libraries of a stem's kernels as Builder makes them of optimized/cpu, with the scheduler and the checker."""

    kind = "cuda"
    libraries = ["-lfmt", "-ldl"]

    def prepare(self):
        self.commands, self.geometry, self.objects = {}, [], {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            at = words.index("-o")
            if "assay_cuda_checked" not in words[at + 1]:
                continue
            source = str(Path(entry["file"]).relative_to(self.root))
            self.objects[source] = Path(entry["directory"]) / words[at + 1]
            if "/optimized/cpu/" in entry["file"]:
                self.geometry.append("optimized" + entry["file"].removeprefix(f"{self.root}/optimized"))
            # Without files and warnings; faults do not depend on optimisation.
            drop = {at, at + 1, words.index("-c"), words.index(entry["file"])}
            kept = [w for i, w in enumerate(words) if i not in drop and not w.startswith("-W")]
            self.commands["kernels" if entry["file"].endswith(".cu") else "scheduler"] = [*kept, "-w", "-O1"]
        if len(self.commands) != 2:
            raise BuildError(f"{self.build}/compile_commands.json names no kernels for the checker: build with GCC")

    def sources(self, stem):
        """The stem's kernels, what they call, the scheduler and the checker, the geometry that CPU kernels have too, the
        plugin's table."""
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
        layer = [s for s in layer if s.removesuffix(".cu") + ".h" in included]
        rest = [str(p.relative_to(self.base)) for p in sorted([*cuda.glob("emulation/*.cpp"), cuda / "memory_emulated.cpp"])]
        return [*kernels, *layer, *rest, *self.geometry, "optimized/plugin.cpp"]

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
        words = self.commands["kernels" if str(source).endswith(".cu") else "scheduler"]
        moved = {f"-I{self.root}/optimized": f"-I{tree}", f"-I{self.root}/optimized/cuda": f"-I{tree}/cuda"}
        return [moved.get(w, w) for w in words]

    def compile(self, source, obj, tree, *more):
        self.run([*self.command(source, tree), *more, "-c", source, "-o", obj])
