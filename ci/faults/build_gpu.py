"""Builds cuda.gpu with a changed way to the device and back, as a plugin on the stand-in for a GPU."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

from build import BuildError, changed


class GpuBuilder:
    """Libraries that differ from the build's in one source of CUDA C++, which no other includes. Of a fault
    {"file", "find", "put"} with find None: the build's own."""

    def __init__(self, root, build, folder):
        self.root, self.build, self.folder = root, build, folder
        target = "assay_cuda_standin_plugin"
        made = subprocess.run(["cmake", "--build", build, "--target", target], capture_output=True, text=True)
        if made.returncode:
            raise BuildError(f"{target} cannot be built: it takes nvcc and GoogleTest")
        self.plugin = build / f"optimized/cuda/standin/lib{target}.so"
        link = subprocess.run(["ninja", "-t", "commands", "-s", str(self.plugin.relative_to(build))], cwd=build, capture_output=True,
                              text=True, check=True)
        # Between what CMake's generator puts around a command.
        self.link = shlex.split(link.stdout.strip().removeprefix(": && ").removesuffix(" && :"))
        self.commands = {}
        for entry in json.loads((build / "compile_commands.json").read_text()):
            if "assay_cuda_gpu.dir" in entry["command"]:
                self.commands[entry["file"]] = entry

    def library(self, name, fault):
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        source = self.root / fault["file"]
        if str(source) not in self.commands:
            raise BuildError(f"{fault['file']} is no source of cuda.gpu")
        command = shlex.split(self.commands[str(source)]["command"])
        unchanged = command[command.index("-o") + 1]
        copy, obj = folder / source.name, folder / f"{source.stem}.o"
        copy.write_text(changed(source.read_text(), fault, fault["file"]))
        command[command.index("-o") + 1] = str(obj)
        command = [str(copy) if w == str(source) else w for w in command]
        # Headers beside the source.
        self.run([*command, f"-I{source.parent}"])
        library = folder / "libfault.so"
        link = [str(obj) if w == unchanged else w for w in self.link]
        link[link.index("-o") + 1] = str(library)
        if str(obj) not in link:
            raise BuildError(f"{unchanged} is not linked")
        self.run(link)
        return library

    def unchanged_library(self, _):
        return self.plugin

    def run(self, command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.build)
        if done.returncode:
            errors = [l for l in done.stderr.splitlines() if "error" in l or "undefined" in l] or done.stderr.splitlines()
            raise BuildError("; ".join(errors[:3]) or f"{command[0]} failed")
