#!/usr/bin/python3
"""A stand-in for an inference engine: the model of model.py on Assay's own kernels, with a fault of your choice.

    cases/example/engine.py WEIGHTS.npz DUMP.npz [FAULT...]

WEIGHTS.npz is what model.py wrote. DUMP.npz gets the result of each layer, and the parameters as the engine has them:

    assay bisect trace.h5 DUMP.npz

The kernels are those of build/release, or of the library that ASSAY_KERNELS names.
"""

import os
import sys
from pathlib import Path

import numpy

from kernels import Kernels

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


def run(kernels, w, faults):
    out = {}
    weight = bf16(w["conv.weight"]) if "weights_bf16" in faults else w["conv.weight"]
    x, padding = w["input"], [1, 1]
    if "padding" in faults:  # two rows and columns in front, none after
        x, padding = numpy.pad(x, [(0, 0), (0, 0), (2, 0), (2, 0)]), [0, 0]
    n, _, height, width = w["input"].shape
    x, = kernels("convolution", [x, weight, w["conv.bias"], [1, 1], padding, [1, 1], False, [0, 0], 1],
                 [(n, len(weight), height, width)])
    out["conv"] = x
    x = kernels("native_batch_norm", [x, w["bn.weight"], w["bn.bias"], w["bn.running_mean"], w["bn.running_var"],
                                      False, 0.1, 1e-5], [x.shape, (0,), (0,)])[0]
    out["bn"] = x
    slopes = bf16(w["act.weight"]) if "slopes_packed" in faults else w["act.weight"]
    out["act:packed/weight"] = slopes
    if "slopes_overwritten" in faults:
        slopes = numpy.concatenate([w["bn.bias"][:5], slopes[5:]])
    out["act:executed/weight"] = slopes
    if "slope_order" in faults:
        slopes = slopes[::-1]
    if "slope_axis" in faults:
        x = numpy.moveaxis(kernels("prelu", [numpy.moveaxis(x, 3, 1), slopes], [(n, width, x.shape[1], height)])[0], 1, 3)
    elif "slope_maximum" in faults:
        x, = kernels("maximum", [x, x * slopes[:, None, None]], [x.shape])
    else:
        x, = kernels("prelu", [x, slopes], [x.shape])
    out["act"] = x
    x, _ = kernels("max_pool2d_with_indices", [x, [2, 2], [2, 2], [0, 0], [1, 1], False],
                   [(n, x.shape[1], height // 2, width // 2)] * 2, ["f4", "i8"])
    out["pool"] = x
    received = x
    if "nhwc" in faults:
        received = x.transpose(0, 2, 3, 1)
    if "overwritten" in faults:
        received = x.copy()
        received.reshape(-1)[:40] = w["head.weight"].reshape(-1)[:40]
    x = out["norm:input"] = received.reshape(n, -1)
    size = x.shape[1]
    x = kernels("native_layer_norm", [x, [size], None, None, 1e-5], [x.shape, (n, 1), (n, 1)])[0]
    if "unbiased" in faults:
        x *= numpy.float32(numpy.sqrt(1 - 1 / size))
    x = out["norm"] = x * w["norm.weight"] + w["norm.bias"]
    x, = kernels("linear", [x, w["head.weight"], w["head.bias"]], [(n, len(w["head.weight"]))])
    out["head"] = x
    x, = kernels("gelu", [x, "tanh" if "gelu_tanh" in faults else "none"], [x.shape])
    out["gelu"] = x
    out["softmax.int"], = kernels("softmax.int", [x, -1, None], [x.shape])
    parameters = {name: t for name, t in w.items() if name != "input" and t.ndim > 0}
    parameters["conv.weight"] = weight
    return out | parameters


def main():
    if len(sys.argv) < 3 or any(f not in FAULTS for f in sys.argv[3:]):
        sys.exit(__doc__ + "\nFaults:\n" + "".join(f"    {name:<18} {says}\n" for name, says in FAULTS.items()))
    root = Path(__file__).resolve().parents[2]
    kernels = Kernels(os.environ.get("ASSAY_KERNELS", root / "build/release/optimized/libassay_cpu_plugin.so"))
    results = run(kernels, dict(numpy.load(sys.argv[1])), sys.argv[3:])
    numpy.savez(sys.argv[2], **{name: numpy.ascontiguousarray(t, numpy.float32) for name, t in results.items()})


if __name__ == "__main__":
    main()
