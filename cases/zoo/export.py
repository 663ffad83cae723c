"""Models of the zoo as ONNX files.

    model = onnx_of("resnet", "script")      # an onnx.ModelProto

Exporters: "dynamo" (torch.export; folds batch norms), "script" (TorchScript, which keeps them; not in every PyTorch), and "int8"
(the former, quantised by ONNX Runtime: QDQ, weights by channel)."""
import contextlib
import importlib
import io
import logging
import os
import sys
import tempfile
import warnings

import numpy
import onnx
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "models"))
MODELS = ("cnn", "lstm", "mobilenet", "quantised", "resnet", "transformer", "unet")


def exporters(model):
    return ("int8",) if model == "quantised" else ("dynamo", "script")


def make(model):
    return importlib.import_module(model).make()


def onnx_of(model, exporter):
    if exporter == "int8":
        return quantised(onnx_of(model, "dynamo"), make(model)[1])
    net, inputs = make(model)
    with tempfile.TemporaryDirectory() as folder, quiet():
        path = os.path.join(folder, "model.onnx")
        more = {"dynamo": True} if exporter == "dynamo" else {"dynamo": False, "do_constant_folding": False}
        torch.onnx.export(net, inputs, path, input_names=["x"], output_names=["y"], verbose=False, **more)
        return onnx.load(path)


def quantised(model, inputs):
    from onnxruntime import quantization as q

    class Reader(q.CalibrationDataReader):
        def __init__(self):
            random = numpy.random.default_rng(9)
            self.left = [{"x": x.numpy() + random.normal(0, 0.1, x.shape).astype(numpy.float32)} for x in inputs * 8]

        def get_next(self):
            return self.left.pop() if self.left else None

    with tempfile.TemporaryDirectory() as folder, quiet():
        given, made = os.path.join(folder, "given.onnx"), os.path.join(folder, "made.onnx")
        onnx.save(model, given)
        q.quantize_static(given, made, Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True,
                          activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8)
        return onnx.load(made)


@contextlib.contextmanager
def quiet():
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
