"""Functions for python_verify_test.py: right ones, wrong ones, and such as try to deceive whoever judges them."""

import ctypes
import os
import threading
import time

import numpy

import assay


def relu(x):
    return numpy.where(x < 0, x.dtype.type(0), x)


def relu_into(x, out):
    out[...] = relu(x)


@assay.kernel("relu", contract="strict", name="marked")
def relu_marked(self):
    return relu(self)


def leaky(x):
    return numpy.where(x > 0, x, x * x.dtype.type(0.01))


def zeros(x):
    return numpy.zeros_like(x)


def own_input(x):
    return x


_by_address = {}


def cached_by_address(x):
    return _by_address.setdefault((x.ctypes.data, x.shape, x.strides), relu(x))


_calls = 0


def right_at_first(x):
    global _calls
    _calls += 1
    return relu(x) if _calls <= 4 else numpy.zeros_like(x)


def late(x, out):
    def write():
        time.sleep(0.02)
        out[...] = relu(x)

    threading.Thread(target=write).start()


def patched_comparison(x):
    numpy.allclose = numpy.array_equal = numpy.testing.assert_allclose = lambda *a, **k: True
    time.perf_counter = time.monotonic = lambda: 0.0
    return numpy.zeros_like(x)


def reads_past_the_end(x):
    last = x.ctypes.data + sum((n - 1) * s for n, s in zip(x.shape, x.strides)) + x.itemsize
    if x.size:
        ctypes.string_at(last, 1)
    return relu(x)


def writes_its_input(x):
    if x.size:
        ctypes.memset(x.ctypes.data, 0, x.itemsize)
    return relu(x)


def crashes(x):
    ctypes.string_at(8)


def exits(x):
    os._exit(0)


def hangs(x):
    while True:
        pass


def raises(x):
    raise ValueError("no such thing")


def other_dtype(x):
    return relu(x).astype("f8")


def other_shape(x):
    return relu(x).ravel()[:1]


def nothing(x):
    return None


def refuses_halves(x):
    if x.dtype == numpy.float16:
        raise NotImplementedError("no f16")
    return relu(x)


def takes_too_much(x, y):
    return x


def softmax(x, dim):
    e = numpy.exp(x - x.max(axis=dim, keepdims=True, initial=-numpy.inf))
    return e / e.sum(axis=dim, keepdims=True)


def softmax_that_overflows(x, dim):
    with numpy.errstate(all="ignore"):
        e = numpy.exp(x)
        return e / e.sum(axis=dim, keepdims=True)
