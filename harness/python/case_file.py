"""Writes Assay's case files (harness/files/case_file.h) from PyTorch's tensors. Needs h5py."""

import errno
import os
import re
import struct

import h5py
import numpy
import torch

NAMES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
         torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
FORMATS = {torch.contiguous_format: "contiguous_format", torch.channels_last: "channels_last",
           torch.channels_last_3d: "channels_last_3d", torch.preserve_format: "preserve_format"}
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.EBADF}
MOST_COMPACT = 60000  # bytes that fit into a header
MOST_OF_A_CHUNK = 16 << 20


def layout_text(tensor):
    """"@strides(1,7)" of one that is not contiguous."""
    if tensor.is_contiguous() or tensor.numel() == 0:
        return ""
    return f"@strides({','.join(map(str, tensor.stride()))})"


def value_text(value, layouts=False):
    """An argument as it stands in a case's text."""
    if isinstance(value, torch.Tensor):
        return f"{NAMES[value.dtype]}[{'x'.join(map(str, value.shape))}]{layout_text(value) if layouts else ''}"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, torch.dtype):
        return NAMES[value]
    if isinstance(value, torch.memory_format):
        return FORMATS[value]
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(value_text(v, layouts) for v in value) + "]"
    if isinstance(value, str):
        return value
    return repr(value)


def set_text(item, name, text):
    item.attrs.create(name, numpy.bytes_(text.encode()))  # of fixed length: others have no checksum in HDF5


def cannot_write(error):
    """What the system said where HDF5 could not write its file; "" of any other error."""
    number = error.errno if isinstance(error, OSError) else None
    said = re.search(r"errno = (\d+)", str(error))
    number = int(said[1]) if number is None and said else number
    return os.strerror(number) if number in DISK else ""


def newest_format():
    """The newest format that libhdf5 1.10 reads, which Assay reads files with: those of later versions it cannot open."""
    return getattr(h5py.h5f, "LIBVER_V110", h5py.h5f.LIBVER_LATEST)  # before 1.10.2 the latest is no later one


def create_file(path):
    plan = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plan.set_obj_track_times(False)  # the same calls are the same bytes
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(newest_format(), newest_format())
    return h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plan, access))


def lookup3(data):
    """The checksum of HDF5's metadata: Jenkins's hashlittle, from 0."""
    mask = 0xFFFFFFFF

    def rot(x, k):
        return ((x << k) | (x >> (32 - k))) & mask

    a = b = c = (0xDEADBEEF + len(data)) & mask
    while len(data) > 12:
        words = struct.unpack("<3I", data[:12])
        a, b, c = (a + words[0]) & mask, (b + words[1]) & mask, (c + words[2]) & mask
        for shifts in ((4, 6, 8), (16, 19, 4)):
            a = (a - c) & mask ^ rot(c, shifts[0])
            c = (c + b) & mask
            b = (b - a) & mask ^ rot(a, shifts[1])
            a = (a + c) & mask
            c = (c - b) & mask ^ rot(b, shifts[2])
            b = (b + a) & mask
        data = data[12:]
    words = struct.unpack("<3I", data.ljust(12, b"\0"))
    a, b, c = (a + words[0]) & mask, (b + words[1]) & mask, (c + words[2]) & mask
    for first, second, third in ((14, 11, 25), (16, 4, 14)):
        c = ((c ^ b) - rot(b, first)) & mask
        a = ((a ^ c) - rot(c, second)) & mask
        b = ((b ^ a) - rot(a, third)) & mask
    c = ((c ^ b) - rot(b, 24)) & mask
    return c


def mark_as_closed(path):
    """A copy of a file that was flushed is whole, and says that somebody writes to it: a flag in its superblock (of version 3)."""
    with open(path, "r+b") as file:
        head = bytearray(file.read(48))
        if head[:8] != b"\x89HDF\r\n\x1a\n" or head[8] != 3 or head[9] != 8:
            return
        head[11] = 0
        head[44:] = struct.pack("<I", lookup3(bytes(head[:44])))
        file.seek(0)
        file.write(head)


def create_group(parent, name):
    plan = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    plan.set_obj_track_times(False)
    return h5py.Group(h5py.h5g.create(parent.id, name.encode(), gcpl=plan))


def storage_plan(data):
    """Within the header, which has a checksum; larger ones compressed, in chunks with a checksum each."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)
    if data.nbytes <= MOST_COMPACT:
        plan.set_layout(h5py.h5d.COMPACT)
        return plan
    chunk, size = list(data.shape), data.nbytes
    for d in range(data.ndim):
        if size <= MOST_OF_A_CHUNK:
            break
        inner = size // chunk[d]
        chunk[d] = max(1, MOST_OF_A_CHUNK // inner)
        size = inner * chunk[d]
    plan.set_chunk(tuple(chunk))
    plan.set_shuffle()
    plan.set_deflate(1)
    plan.set_fletcher32()
    return plan


def write_tensor(group, name, tensor):
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        data = tensor.view(torch.int16).numpy().view(numpy.uint16)
    elif tensor.dtype == torch.bool:
        data = tensor.view(torch.uint8).numpy()
    else:
        data = tensor.numpy()
    space = h5py.h5s.create_simple(data.shape) if data.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
    dataset = h5py.Dataset(h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(data.dtype), space, storage_plan(data)))
    if data.size:
        dataset[...] = data
    if data.nbytes > MOST_COMPACT:
        dataset.flush()  # of what fails when it is closed, nobody hears
    set_text(dataset, "dtype", NAMES[tensor.dtype])


def write_libraries(file):
    version = torch.__version__.split("+")[0]
    file.attrs.create("libraries", numpy.array([f"torch={version}"], dtype="S"))


def of_dtype(contract, dtype):
    """The clauses that are not of other dtypes alone."""
    clauses = contract.split("\n")
    heads = [re.match(r"([a-z0-9,]+):", clause) for clause in clauses]
    return "\n".join(c for c, head in zip(clauses, heads) if not head or dtype in head.group(1).split(","))
