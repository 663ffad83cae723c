"""What the checks ask the built program. Needs build/dev, or the folder in ASSAY_BUILD."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import tree

BUILD = Path(os.environ.get("ASSAY_BUILD", tree.ROOT / "build/dev"))


def state_of(build):
    """What the list of operators depends on: the program, its libraries of kernels, the system's packages, and which PyTorch it asks."""
    files = [build / "bin/assay", build / "bin/assay-torch", *sorted(build.glob("optimized/lib*.so")), Path("/var/lib/dpkg/status")]
    return [[str(f), f.stat().st_mtime_ns] for f in files if f.exists()] + [os.environ.get("ASSAY_TORCH_PYTHON", "")]


def facts(build=BUILD):
    """{"operators": `assay ops --json -`, "torch": "torch 1.13.0" or ""}. Kernels are asked what they take, which is 12 s of processor
    time: the answer of one state of the build is kept in it, for the checks after this one."""
    kept, state = build / "facts.json", state_of(build)
    try:
        found = json.loads(kept.read_text())
        if found["state"] == state:
            return found
    except (OSError, ValueError, KeyError):
        pass
    found = {"state": state, "operators": json.loads(said("ops", "--json", "-", build=build)), "torch": version_of_torch(build)}
    kept.write_text(json.dumps(found))
    return found


def version_of_torch(build):
    """What PyTorch says of itself when it runs a case."""
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run([build / "bin/assay", "verify", "--case", "relu:f32:self=1:seed=1", "--impl", "torch", "--json", "-", "--out", folder],
                             capture_output=True, text=True)
    if ran.returncode != 0:
        return ""
    return " ".join(json.loads(ran.stdout)["results"][0]["information"].split()[:2])


def operators(build=BUILD):
    return facts(build)["operators"]


def said(*words, build=BUILD):
    """What the program prints for these words, which must be all well."""
    return subprocess.run([build / "bin/assay", *words], capture_output=True, check=True, text=True).stdout
