"""Copies of Debian's libraries to link with and for auditwheel, where those that are installed would not do for a wheel.

libbenchmark asks for std::condition_variable::wait of libstdc++ 12. The function is declared noexcept there, which is all that has changed;
libstdc++ still has it by its old version, too, which is what the copy asks for.

zlib is not put into a wheel by auditwheel, which takes it that each machine has one. The copy has a name that auditwheel does not know; the
program is linked with it, and the copy of libzip asks for it.

A library that is another one than expected is left as it is, which is said.
"""

import shutil
import struct
import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

WAIT = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"


def folder_of_libraries():
    """Where the linker finds them: beside libc's own development files."""
    said = subprocess.run(["cc", "-print-file-name=libzip.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not Path(said).is_absolute():
        raise SystemExit("portable.py: libzip.so is not where the compiler looks: `ci/setup run` installs it")
    return Path(said).resolve().parent


def hash_of(name):
    """As the loader compares versions (System V ABI)."""
    h = 0
    for byte in name.encode():
        h = (h << 4) + byte
        high = h & 0xF0000000
        h = (h ^ (high >> 24)) & ~high
    return h


def versions(data, section, strings):
    """(name, index, where its entry is) of each version that a library needs, by library."""
    at, base = 0, section["sh_offset"]
    while True:
        _, count, file, aux, following = struct.unpack_from("<HHIII", data, base + at)
        entry, found = base + at + aux, []
        for _ in range(count):
            _, _, index, name, step = struct.unpack_from("<IHHII", data, entry)
            found.append((strings.get_string(name), index, entry))
            entry += step
        yield strings.get_string(file), found
        if following == 0:
            return
        at += following


def ask_for_older(path, symbol, newer, older):
    """Of a library that needs the version `newer` for this symbol alone: makes it need `older`, which it must need anyway."""
    data = bytearray(path.read_bytes())
    with open(path, "rb") as file:
        elf = ELFFile(file)
        strings = elf.get_section_by_name(".dynstr")
        indices = elf.get_section_by_name(".gnu.version")
        symbols = elf.get_section_by_name(".dynsym")
        for _, needed in versions(data, elf.get_section_by_name(".gnu.version_r"), strings):
            by_name = {name: (index, entry) for name, index, entry in needed}
            if newer not in by_name:
                continue
            index, entry = by_name[newer]
            users = {symbols.get_symbol(n).name for n in range(symbols.num_symbols()) if indices.get_symbol(n)["ndx"] == index}
            if users != {symbol} or older not in by_name:
                print(f"portable.py: {path.name} needs {newer} for {', '.join(sorted(users))}: left as it is")
                continue
            name = struct.unpack_from("<I", data, by_name[older][1] + 8)[0]
            struct.pack_into("<I", data, entry, hash_of(older))
            struct.pack_into("<I", data, entry + 8, name)
    path.write_bytes(data)


def prepare(folder, path):
    """Makes a folder of copies, to be looked at before the system's. `path` has patchelf."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    source = folder_of_libraries()

    def copy(name, to=None):
        shutil.copyfile((source / name).resolve(), folder / (to or name))
        return folder / (to or name)

    def patchelf(*words):
        subprocess.run(["patchelf", *map(str, words)], check=True, env={"PATH": path})

    for benchmark in source.glob("libbenchmark.so.1*"):
        if benchmark.name == soname(benchmark):
            ask_for_older(copy(benchmark.name), WAIT, "GLIBCXX_3.4.30", "GLIBCXX_3.4.11")
    renamed = "libz_of_assay.so.1"
    patchelf("--set-soname", renamed, copy("libz.so.1", renamed))
    libzip = soname(source / "libzip.so")
    patchelf("--replace-needed", "libz.so.1", renamed, copy(libzip))
    return folder


def soname(path):
    """The name that programs have of a library."""
    with open(path, "rb") as file:
        for tag in ELFFile(file).get_section_by_name(".dynamic").iter_tags("DT_SONAME"):
            return tag.soname
    return path.name
