#!/usr/bin/python3
"""A stand-in for an inference engine: the model of model.py in NumPy, with a fault of your choice.

    cases/example/engine.py WEIGHTS.npz DUMP.npz [FAULT...]

WEIGHTS.npz is what model.py wrote. DUMP.npz gets the result of each layer, and the parameters as the engine has them:

    assay bisect trace.h5 DUMP.npz
"""

import math
import sys

import numpy

FAULTS = {
    "slope_axis": "PReLU takes its slope by the last dimension",
    "slope_order": "PReLU's slopes are in the opposite order",
    "slope_maximum": "PReLU as max(x, a x)",
    "nhwc": "the pool's result is handed over with its channels last",
    "weights_bf16": "the convolution's weights were rounded to bf16 when they were loaded",
    "overwritten": "a later layer writes into the pool's result before it is read",
    "unbiased": "layer norm divides by n - 1",
    "gelu_tanh": "GELU by tanh instead of erf",
    "padding": "the convolution's padding is off by one",
    "slopes_packed": "PReLU's slopes were rounded to bf16 when they were packed",
    "slopes_overwritten": "another layer wrote over PReLU's packed slopes",
}


def bf16(x):
    bits = x.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(numpy.float32)


def convolution(x, weight, bias, shift):
    padded = numpy.zeros((*x.shape[:2], x.shape[2] + 2, x.shape[3] + 2), numpy.float32)
    padded[:, :, 1 - shift:x.shape[2] + 1 - shift, 1 - shift:x.shape[3] + 1 - shift] = x
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    return numpy.einsum("nchwij,ocij->nohw", windows, weight, dtype=numpy.float32, optimize=False) + bias[:, None, None]


def run(w, faults):
    out = {}
    weight = w["conv.weight"]
    if "weights_bf16" in faults:
        weight = bf16(weight)
    x = out["conv"] = convolution(w["input"], weight, w["conv.bias"], 1 if "padding" in faults else 0)
    scale = w["bn.weight"] / numpy.sqrt(w["bn.running_var"] + numpy.float32(1e-5))
    x = (x - w["bn.running_mean"][:, None, None]) * scale[:, None, None] + w["bn.bias"][:, None, None]
    out["bn"] = x
    slopes = bf16(w["act.weight"]) if "slopes_packed" in faults else w["act.weight"]
    out["act:packed/weight"] = slopes
    if "slopes_overwritten" in faults:
        slopes = numpy.concatenate([w["bn.bias"][:5], slopes[5:]])
    out["act:executed/weight"] = slopes
    if "slope_order" in faults:
        slopes = slopes[::-1]
    slopes = slopes if "slope_axis" in faults else slopes[:, None, None]
    x = numpy.maximum(x, slopes * x) if "slope_maximum" in faults else numpy.where(x > 0, x, slopes * x)
    out["act"] = x
    n, c, height, width = x.shape
    x = x.reshape(n, c, height // 2, 2, width // 2, 2).max(axis=(3, 5))
    out["pool"] = x
    received = x
    if "nhwc" in faults:
        received = x.transpose(0, 2, 3, 1)
    if "overwritten" in faults:
        received = x.copy()
        received.reshape(-1)[:40] = w["head.weight"].reshape(-1)[:40]
    x = received.reshape(n, -1)
    out["norm:input"] = x
    mean = x.mean(axis=1, keepdims=True, dtype=numpy.float64)
    variance = ((x - mean) ** 2).sum(axis=1, keepdims=True) / (x.shape[1] - ("unbiased" in faults))
    x = ((x - mean) / numpy.sqrt(variance + 1e-5)).astype(numpy.float32) * w["norm.weight"] + w["norm.bias"]
    out["norm"] = x
    x = out["head"] = x @ w["head.weight"].T + w["head.bias"]
    if "gelu_tanh" in faults:
        x = 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x.astype(numpy.float64) + 0.044715 * x.astype(numpy.float64) ** 3)))
    else:
        x = 0.5 * x * (1 + numpy.vectorize(math.erf)(x.astype(numpy.float64) / math.sqrt(2)))
    x = out["gelu"] = x.astype(numpy.float32)
    e = numpy.exp((x - x.max(axis=1, keepdims=True)).astype(numpy.float64))
    out["softmax.int"] = (e / e.sum(axis=1, keepdims=True)).astype(numpy.float32)
    parameters = {name: t for name, t in w.items() if name != "input" and t.ndim > 0}
    parameters["conv.weight"] = weight
    return out | parameters


def main():
    if len(sys.argv) < 3 or any(f not in FAULTS for f in sys.argv[3:]):
        sys.exit(__doc__ + "\nFaults:\n" + "".join(f"    {name:<14} {says}\n" for name, says in FAULTS.items()))
    weights = dict(numpy.load(sys.argv[1]))
    numpy.savez(sys.argv[2], **{n: numpy.ascontiguousarray(t, numpy.float32) for n, t in run(weights, sys.argv[3:]).items()})


if __name__ == "__main__":
    main()
