"""What a planted fault is, and numbers of narrower formats for faults of precision."""
import dataclasses
import typing

import numpy


@dataclasses.dataclass(frozen=True)
class Fault:
    model: str
    exporter: str
    kind: str    # attribute, initialiser, layout, precision, order, edge
    name: str
    call: str    # of the trace, the first to be blamed; or a glob, where nobody can tell calls of a module apart
    cause: str   # a regular expression: what a report that names the cause says
    edit: typing.Callable
    also: tuple = ()  # globs of further calls that it makes others, as where two calls change places

    @property
    def id(self):
        return f"{self.model}.{self.exporter}.{self.name}"


def planter(model, exporter):
    """A list, and a function that adds a fault to it."""
    faults = []
    return faults, lambda *about, also=(): faults.append(Fault(model, exporter, *about, also))


def rounded(array, bits):
    """To the nearest number with so many bits of mantissa, the first one included, ties to even."""
    mantissa, exponent = numpy.frexp(numpy.asarray(array, numpy.float64))
    return numpy.ldexp(numpy.round(numpy.ldexp(mantissa, bits)), exponent - bits)


def bf16(array):
    return rounded(array, 8)


def tf32(array):
    return rounded(array, 11)


def summed_in_f16(terms, axis):
    """One after the other, each sum rounded."""
    total = numpy.float16(0)
    for term in numpy.moveaxis(numpy.asarray(terms), axis, 0):
        total = (total + term.astype(numpy.float16)).astype(numpy.float16)
    return total


def patches(x, kernel, stride=1, padding=0, dilation=1):
    """Of images: [N, C, kernel, kernel, H, W]."""
    x = numpy.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    reach = dilation * (kernel - 1) + 1
    seen = numpy.lib.stride_tricks.sliding_window_view(x, (reach, reach), (2, 3))[:, :, ::stride, ::stride, ::dilation, ::dilation]
    return seen.transpose(0, 1, 4, 5, 2, 3)


def as_int8(array, axis=None):
    """Rounded to 255 steps of one scale, or of one for each index of this axis."""
    others = tuple(d for d in range(array.ndim) if d != axis) if axis is not None else None
    scale = numpy.abs(array).max(axis=others, keepdims=True) / 127
    return numpy.round(array / scale) * scale
