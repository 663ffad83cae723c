#!/usr/bin/python3
"""From a PyTorch program and an engine to the call at fault: assay.engines, `assay bisect MODEL.py ENGINE`, and assay.bisect.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_engines_test.py [TEST ...]

Exit code 77: what the tests need is not here; it is said.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

from assay._program import program
from assay.engines import EngineError, Given, Ran, Side, engine_of, run, write
from assay.engines import _asis, _function, _ncnn, _onnx
from assay.engines._given import Wanted

HAS_TORCH = all(importlib.util.find_spec(m) for m in ("torch", "h5py"))
if HAS_TORCH:
    import torch

    import assay

MODEL = """
import sys, numpy, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.act = torch.nn.Linear(6, 5), torch.nn.PReLU(5, init=0.5)
    def forward(self, x, shift):
        return self.act(self.lin(x)) + shift
if __name__ == "__main__":
    torch.manual_seed(0)
    net = Net().eval()
    numpy.savez("weights.npz", **{n: p.detach().numpy() for n, p in net.named_parameters()})
    print("the program's own words")
    with torch.no_grad():
        for rows in map(int, sys.argv[1:] or ["4"]):
            net(torch.randn(rows, 6), torch.randn(5))
"""

ENGINE = """
import numpy
def run(inputs, slope=0.5):
    w = numpy.load("weights.npz")
    lin = inputs["x"] @ w["lin.weight"].T + w["lin.bias"]
    act = numpy.where(lin < 0, lin * numpy.float32(slope), lin)
    return {"lin": lin, "act": act, "add.Tensor": act + inputs["shift"]}
def wrong(inputs):
    return run(inputs, 0.25)
def nothing(inputs):
    return []
def fails(inputs):
    raise RuntimeError("out of luck")
def asks_for_more(inputs):
    return {"y": inputs["y"]}
def has_arguments(inputs):
    import sys
    assert sys.argv == ["engine.py", "3"], sys.argv
    return run(inputs)
"""


class Inputs(unittest.TestCase):
    def given(self, **tensors):
        given = Given(module="Net", outermost=["Net(a)", "Net(b)"])
        for name, array in tensors.items():
            given.add(name, array, array.dtype.name)
        return given

    def test_go_by_name_then_by_order(self):
        x, mask = np.arange(6, dtype="f4").reshape(2, 3), np.array([True, False])
        given = self.given(x=x, mask=mask)
        got = given.for_engine([Wanted("mask", (2,), "bool"), Wanted("input.1", (None, 3), "float32")])
        self.assertEqual(list(got), ["mask", "input.1"])
        np.testing.assert_array_equal(got["input.1"], x)
        self.assertEqual(given.notes, ["the engine's input input.1 is x"])

    def test_that_an_exporter_left_out_are_passed_over(self):
        given = self.given(unused=np.zeros(7, "f4"), x=np.ones((2, 3), "f4"))
        np.testing.assert_array_equal(given.for_engine([Wanted("0", (2, 3), "float32")])["0"], np.ones((2, 3)))

    def test_are_permuted_to_channels_last_and_back(self):
        x = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype("f4")
        given = self.given(x=x)
        got = given.for_engine([Wanted("x", (None, 4, 5, 3), "float32")])["x"]
        np.testing.assert_array_equal(got, x.transpose(0, 2, 3, 1))
        self.assertIn("order 0, 2, 3, 1", given.notes[0])
        back = self.given(x=got).for_engine([Wanted("x", (2, 3, 4, 5), "float32")])["x"]
        np.testing.assert_array_equal(back, x)

    def test_are_converted_where_no_number_changes(self):
        given = self.given(tokens=np.array([1, 2, 70000]))
        self.assertEqual(given.for_engine([Wanted("tokens", (3,), "int32")])["tokens"].dtype, np.int32)
        self.assertIn("converted from int64 to int32", given.notes[0])
        with self.assertRaisesRegex(EngineError, "not its shape or dtype"):
            self.given(tokens=np.array([1, 2, 70000])).for_engine([Wanted("tokens", (3,), "int16")])
        with self.assertRaisesRegex(EngineError, "not its shape or dtype"):
            self.given(x=np.ones(3, "f4")).for_engine([Wanted("x", (3,), "int64")])

    def test_that_do_not_fit_are_refused_with_both_sides(self):
        given = self.given(x=np.ones((2, 3), "f4"), y=np.ones((2, 3), "f4"))
        given.others["flag"] = "True"
        with self.assertRaises(EngineError) as e:
            given.for_engine([Wanted("image", (2, 4), "float32")])
        for part in ("image float32[2x4]", "x float32[2x3], y float32[2x3]", "flag True", "--input NAME=FILE.npy", "2  Net(b)"):
            self.assertIn(part, str(e.exception))
        with self.assertRaisesRegex(EngineError, "nothing is left for c"):
            given.for_engine([Wanted(n, (2, 3), "float32") for n in "abc"])

    def test_are_not_guessed_where_several_fit(self):
        given = self.given(other=np.ones(9, "f4"), x=np.ones((2, 3), "f4"), y=np.zeros((2, 3), "f4"))
        with self.assertRaisesRegex(EngineError, "fits several"):
            given.for_engine([Wanted("image", (2, 3), "float32")])

    def test_by_hand(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/a.npy", np.full((2, 2), 7, "f4"))
            given = self.given(x=np.ones((2, 2), "f4"))
            given.override(f"x={folder}/a.npy")
            self.assertEqual(given.for_engine([Wanted("x", (2, 2), "float32")])["x"][0, 0], 7)
            self.assertIn("of other inputs", given.notes[0])
            given.overrides["z"] = given.overrides.pop("x")
            with self.assertRaisesRegex(EngineError, "no input of that name; it has x"):
                given.for_engine([Wanted("x", (2, 2), "float32")])
        for text in ("x", "x=", "=a.npy", "x=/nowhere.npy"):
            with self.assertRaisesRegex(EngineError, "--input"):
                given.override(text)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_have_any_name_and_dtype(self):
        tensors = {"/stem/conv/Conv_output_0": np.arange(6, dtype="f4").reshape(2, 3).T, "a": np.float16(1), "b": np.array([True]),
                   "/stem/conv": np.zeros((0, 2)), "wide": np.array([40000], np.uint16), "text": np.array(["x"]), "none": None}
        side = Side("fake 1", {"threads": 2}, ["a", "text"], ["b"], ["wide"], [{"name": "n", "op": "Op", "inputs": ["a"], "outputs": ["b"]}])
        unkept = write(Ran(side, tensors), str(self.folder / "d.safetensors"), str(self.folder / "d.nodes.json"))
        self.assertEqual(len(unkept), 2)
        raw = (self.folder / "d.safetensors").read_bytes()
        header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
        self.assertEqual(header["a"], {"dtype": "F16", "shape": [], "data_offsets": header["a"]["data_offsets"]})
        self.assertEqual(header["wide"]["dtype"], "I32")
        begin, end = (8 + int.from_bytes(raw[:8], "little") + o for o in header["/stem/conv/Conv_output_0"]["data_offsets"])
        np.testing.assert_array_equal(np.frombuffer(raw[begin:end], "f4").reshape(3, 2), tensors["/stem/conv/Conv_output_0"])
        nodes = json.loads((self.folder / "d.nodes.json").read_text())
        self.assertEqual((nodes["format"], nodes["inputs"], nodes["settings"]), ("assay.engine/1", [{"tensor": "a"}], {"threads": 2}))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["d.nodes.json", "d.safetensors"])
        said = subprocess.run([program(), "diff", f"{self.folder}/d.safetensors:a", f"{self.folder}/d.safetensors:a"], capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)

    @unittest.skipUnless(HAS_TORCH, "PyTorch and h5py are not here")
    def test_have_bf16(self):
        side = Side("fake")
        self.assertEqual(write(Ran(side, {"x": torch.ones(3, dtype=torch.bfloat16)}), str(self.folder / "d.safetensors"), str(self.folder / "n.json")), [])
        self.assertIn(b'"BF16"', (self.folder / "d.safetensors").read_bytes())


class Names(unittest.TestCase):
    def test_of_modules_in_paths(self):
        for name, module in {"/stem/conv/Conv": "stem.conv", "/Concat": "", "/layers/layers.0/attn/MatMul_1": "layers.0.attn",
                             "/a/layers/layers.0/layers.0.0/Relu": "a.layers.0.layers.0.0", "node_conv2d": None}.items():
            self.assertEqual(_onnx.by_path(name), module, name)

    def test_of_modules_in_metadata(self):
        class Entry:
            def __init__(self, key, value):
                self.key, self.value = key, value

        class Node:
            name, output = "node_conv2d", ["conv2d"]
            metadata_props = [Entry("pkg.torch.onnx.name_scopes", "['', 'stem', 'stem.conv', 'conv2d']"),
                              Entry("pkg.torch.onnx.class_hierarchy", "['m.Net', 'm.Stem', 'torch.nn.Conv2d', 'aten.conv2d.default']")]

        self.assertEqual(_onnx.origin(Node), ("stem.conv", "aten.conv2d.default"))
        Node.metadata_props = [Entry("pkg.torch.onnx.name_scopes", "__import__('os')")]
        self.assertEqual(_onnx.origin(Node), (None, None))

    def test_of_ncnn_and_pnnx(self):
        layers = [("Input", "in0", [], ["in0"]), ("Split", "s", ["in0"], ["1", "2"]), ("Convolution", "conv_4", ["2"], ["3"]),
                  ("ReLU", "relu_0", ["3"], ["4"]), ("ConvolutionDepthWise", "convdw_1", ["4"], ["out0"])]
        operators = [("nn.Conv2d", "convbn2d_0", ["0"], ["1"]), ("nn.ReLU", "act", ["1"], ["2"]), ("nn.Conv2d", "dw", ["2"], ["3"])]
        nodes = _ncnn.nodes_of(layers, operators)
        self.assertEqual([(n["inputs"], n.get("module")) for n in nodes], [(["in0"], None), (["3"], "act"), (["4"], "dw")])
        fewer = _ncnn.nodes_of(layers, operators[1:])
        self.assertEqual([n.get("module") for n in fewer], [None, "act", None])  # of two convolutions one is gone: which, nobody knows

    def test_of_engines(self):
        self.assertEqual([engine_of(e, m) for e, m in (("", "a.onnx"), ("ort", "a.onnx"), ("", "a.xml"), ("", "a.param"), ("my.py:run", ""))],
                         ["onnxruntime", "onnxruntime", "openvino", "ncnn", "my.py:run"])
        for engine, model in (("", "a.tflite"), ("tensorrt", "a.onnx")):
            with self.assertRaisesRegex(EngineError, "onnxruntime, openvino, ncnn"):
                engine_of(engine, model)

    def test_how_far_two_runs_are_apart(self):
        a = {"y": np.array([1, -4], "f4")}
        self.assertEqual(_asis.distance(a, {"y": a["y"].copy()})[0], 0)
        self.assertEqual(_asis.distance(a, {"y": np.array([1, -3], "f4")})[0], 0.25)
        self.assertEqual(_asis.distance(a, {"y": np.array([1, np.nan], "f4")})[0], np.inf)

    def test_functions_say_what_is_wrong(self):
        given = Given()
        given.add("x", np.ones(2, "f4"), "float32")
        with self.assertRaisesRegex(EngineError, "returned list"):
            _function.of_function(lambda inputs: [], "f", given)
        with self.assertRaisesRegex(EngineError, "keys are names"):
            _function.of_function(lambda inputs: {1: inputs["x"]}, "f", given)

        def noded(inputs):
            return {"h": inputs["x"], "w": inputs["x"]}

        noded.nodes = [{"op": "Identity", "inputs": ["x"], "outputs": ["h"], "module": "a"}]
        noded.parameters = ["w"]
        side = _function.of_function(noded, "f", given).side
        self.assertEqual((side.inputs, side.outputs, side.parameters, side.nodes[0]["name"]), (["x"], ["h"], ["w"], ""))
        noded.nodes = [{"op": "Identity"}]
        with self.assertRaisesRegex(EngineError, "a node is a dict"):
            _function.of_function(noded, "f", given)


@unittest.skipUnless(HAS_TORCH, "PyTorch and h5py are not here")
class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "model.py").write_text(MODEL)
        (self.folder / "engine.py").write_text(ENGINE)

    def environment(self, **more):
        return {**os.environ, "ASSAY_TORCH_PYTHON": sys.executable, "ASSAY_OUT": "out", **more}

    def bisect(self, *words, **more):
        return subprocess.run([program(), "bisect", *words], cwd=self.folder, env=self.environment(**more), capture_output=True, text=True)

    def left(self):
        return sorted(p.name for p in (self.folder / "out").glob("**/*") if p.is_file())

    def test_an_engine_sees_the_arguments_of_the_program(self):
        f = self.bisect("model.py", "engine.py:has_arguments", "--", "3")
        self.assertEqual(f.returncode, 0, f.stderr + f.stdout)

    def test_a_right_engine(self):
        f = self.bisect("model.py", "engine.py:run", "--json", "-")
        self.assertEqual(f.returncode, 0, f.stderr + f.stdout)
        found = json.loads(f.stdout)  # and none of the program's own words
        self.assertIn("the program's own words", f.stderr)
        self.assertEqual([c["name"] for c in found["calls"]], ["lin/addmm", "act/prelu", "add.Tensor"])
        self.assertEqual(self.left(), ["engine_py_run.nodes.json", "engine_py_run.safetensors", "trace.h5"])
        self.assertEqual(found["trace"], "out/bisect-model/trace.h5")

    def test_a_wrong_engine(self):
        f = self.bisect("model.py", "engine.py:wrong")
        self.assertEqual(f.returncode, 1, f.stderr)
        self.assertIn("1. act/prelu", f.stdout)
        self.assertIn("1 call at fault", f.stdout)

    def test_one_of_several_calls(self):
        f = self.bisect("model.py", "engine.py:wrong", "--call", "2", "--", "4", "3")
        self.assertEqual(f.returncode, 1, f.stderr)
        self.assertIn("of 15", f.stdout)  # 3 x 5 elements
        f = self.bisect("model.py", "engine.py:run", "--call", "3", "--", "4", "3")
        self.assertEqual(f.returncode, 2)
        self.assertIn("calls outermost modules 2 times: Net(x f32[4x6], shift f32[5]), Net(x f32[3x6], shift f32[5])", f.stderr)
        self.assertEqual(self.left(), [])

    def test_a_trace_says_what_the_model_was_given(self):
        f = subprocess.run([program(), "record", "model.py", "--call", "1", "-o", "t.h5"], cwd=self.folder, env=self.environment(), capture_output=True, text=True)
        self.assertEqual(f.returncode, 0, f.stderr)
        given = Given.of_trace(str(self.folder / "t.h5"))
        self.assertEqual([str(t) for t in given.tensors], ["x float32[4x6]", "shift float32[5]"])
        f = self.bisect("t.h5", "engine.py:wrong")
        self.assertEqual(f.returncode, 1, f.stderr)
        subprocess.run([program(), "record", "model.py", "-o", "u.h5"], cwd=self.folder, env=self.environment(), capture_output=True, check=True)
        f = self.bisect("u.h5", "engine.py:run")
        self.assertEqual(f.returncode, 2)
        self.assertIn("record it with `assay record --call 1`", f.stderr)

    def test_what_is_wrong_is_said(self):
        (self.folder / "broken.py").write_text("raise ValueError('no such weights')")
        (self.folder / "functions.py").write_text("import torch\nprint(torch.relu(torch.ones(3)))")
        (self.folder / "model.onnx").write_bytes(b"")
        for words, said in {("broken.py", "engine.py:run"): "no such weights",
                            ("functions.py", "engine.py:run"): "functions.py calls no torch.nn.Module",
                            ("absent.py", "engine.py:run"): "absent.py is no file",
                            ("model.py", "engine.py:absent"): "has no function absent; it has run, wrong",
                            ("model.py", "engine.py:nothing"): "returned list",
                            ("model.py", "engine.py:fails"): "RuntimeError: out of luck",
                            ("model.py", "engine.py:asks_for_more"): "KeyError",
                            ("model.py", "absent.onnx"): "absent.onnx",
                            ("model.py", "engine.py"): "which function of it is the engine",
                            ("engine.npz", "model.py"): "stands first",
                            ("model.py",): "DUMP is missing",
                            ("model.py", "engine.py:run", "more"): "come after --",
                            ("model.py", "engine.py:run", "--option", "threads=1"): "takes no options",
                            ("model.py", "engine.py:run", "--input", "y=a.npy"): "a.npy",
                            ("model.py", "model.onnx", "--engine", "tensorrt"): "is none of onnxruntime"}.items():
            with self.subTest(words):
                f = self.bisect(*words)
                self.assertEqual(f.returncode, 2, f.stderr + f.stdout)
                self.assertIn(said, f.stderr)
                self.assertFalse([n for n in self.left() if n.endswith((".part", ".safetensors", ".nodes.json"))])

    def test_an_engine_that_is_missing(self):
        (self.folder / "hidden").mkdir()
        (self.folder / "hidden" / "onnxruntime.py").write_text("raise ImportError('hidden')")
        (self.folder / "model.onnx").write_bytes(b"")
        f = self.bisect("model.py", "model.onnx", PYTHONPATH=f"{self.folder}/hidden:{os.environ.get('PYTHONPATH', '')}")
        self.assertEqual(f.returncode, 3, f.stderr)
        self.assertIn("-m pip install onnxruntime", f.stderr)
        self.assertEqual(self.left(), ["trace.h5"])

    def test_an_interrupt_leaves_nothing_half(self):
        (self.folder / "slow.py").write_text(MODEL.replace("net(torch.randn(rows", "open('begun', 'w'); __import__('time').sleep(60); net(torch.randn(rows"))
        process = subprocess.Popen([program(), "bisect", "slow.py", "engine.py:run"], cwd=self.folder, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        limit = time.monotonic() + 120
        while not (self.folder / "begun").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.left(), [])


@unittest.skipUnless(HAS_TORCH, "PyTorch and h5py are not here")
class FromPython(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        torch.manual_seed(1)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))  # which counts its calls in training
        self.x = torch.randn(5, 4)

    def engine(self, inputs):
        (x,) = inputs.values()
        h = x @ self.net[0].weight.detach().numpy().T + self.net[0].bias.detach().numpy()
        return {"0": h, "1": (h - h.mean(0)) / np.sqrt(h.var(0) + np.float32(1e-5))}

    def test_a_module_in_memory(self):
        result = assay.bisect(self.net, self.engine, inputs=self.x, out=self.folder)
        self.assertTrue(result.ok, result.text)
        self.assertEqual(result.calls[0]["name"], "0/addmm")
        self.assertEqual(int(self.net[1].num_batches_tracked), 0)  # it ran in another process
        self.assertIn("0/addmm", str(result))
        self.assertEqual(result.to_dict()["format"], "assay.bisect/1")
        bad = assay.bisect(self.net, lambda inputs: {"0": self.engine(inputs)["0"] * np.float32(1.01)}, inputs=(self.x,), out=self.folder)
        self.assertFalse(bad.ok)
        self.assertEqual(bad.calls[0]["status"], "wrong")

    def test_what_is_wrong_is_raised(self):
        with self.assertRaisesRegex(assay.UsageError, "returned"):
            assay.bisect(self.net, lambda inputs: None, inputs=self.x, out=self.folder)
        with self.assertRaisesRegex(assay.UsageError, "mat1 and mat2|shapes cannot be multiplied"):
            assay.bisect(self.net, self.engine, inputs=torch.ones(2, 9), out=self.folder)
        with self.assertRaisesRegex(TypeError, "inputs: what the module is called with"):
            assay.bisect(self.net, self.engine)
        with self.assertRaisesRegex(TypeError, "give a torch.nn.Module"):
            assay.bisect(3, self.engine, inputs=self.x)
        with self.assertRaisesRegex(TypeError, "engine: give"):
            assay.bisect(self.net, inputs=self.x)

    def test_a_program(self):
        (self.folder / "model.py").write_text(MODEL.replace('"weights.npz"', repr(str(self.folder / "weights.npz"))))

        def engine(inputs):
            w = np.load(self.folder / "weights.npz")
            lin = inputs["x"] @ w["lin.weight"].T + w["lin.bias"]
            return {"lin": lin, "act": np.where(lin < 0, lin * np.float32(0.5), lin)}

        result = assay.bisect(self.folder / "model.py", engine, out=self.folder, arguments=["2"])
        self.assertTrue(result.ok, result.text)


def needs(*modules):
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    return unittest.skipIf(missing, f"{', '.join(missing)}: not here (pip install {' '.join(missing)})")


def small_model(folder):
    """y = LeakyRelu(x @ w + b), with w in a file of its own."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(4, 3)).astype("f4"), rng.normal(size=3).astype("f4")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["/lin/MatMul_output_0"], "/lin/MatMul"), helper.make_node("Add", ["/lin/MatMul_output_0", "b"], ["h"], "/lin/Add"),
             helper.make_node("LeakyRelu", ["h"], ["y"], "/act/LeakyRelu", alpha=0.5)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
                              [numpy_helper.from_array(w, "w"), numpy_helper.from_array(b, "b")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(folder / "m.onnx"), save_as_external_data=True, location="m.data", size_threshold=0)
    x = rng.normal(size=(5, 4)).astype("f4")
    h = x @ w + b
    given = Given()
    given.add("x", x, "float32")
    return str(folder / "m.onnx"), given, {"w": w, "b": b, "h": h, "y": np.where(h < 0, h * np.float32(0.5), h)}


class OfOnnx:
    engine = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path, self.given, self.want = small_model(Path(folder.name))

    def ran(self, **options):
        return run(self.engine, self.path, self.given, {k: str(v) for k, v in options.items()})

    def check(self, ran, names, rtol=1e-5):
        for name in names:
            np.testing.assert_allclose(ran.tensors[name], self.want[name], rtol, 1e-5)

    def test_inputs_that_do_not_fit(self):
        self.given.tensors[0].array = np.ones((5, 9), "f4")
        with self.assertRaisesRegex(EngineError, r"x float32\[\?x4\]"):
            self.ran()

    def test_unknown_options(self):
        with self.assertRaisesRegex(EngineError, "--option fast"):
            self.ran(fast=1)

    def test_no_model(self):
        Path(self.path).write_bytes(b"not a model at all")
        with self.assertRaises(EngineError):
            self.ran()


@needs("onnx", "onnxruntime")
class OnnxRuntime(OfOnnx, unittest.TestCase):
    engine = "onnxruntime"

    def test_gives_every_result(self):
        ran = self.ran()
        self.check(ran, ("w", "b", "h", "y"))
        self.assertIn("/lin/MatMul_output_0", ran.tensors)
        self.assertEqual(ran.side.settings, {"providers": ["CPUExecutionProvider"], "optimization": "all (its default)", "intermediates": "all"})
        self.assertEqual([n["module"] for n in ran.side.nodes], ["lin", "lin", "act"])
        self.assertEqual((ran.side.parameters, ran.side.inputs, ran.side.outputs), (["w", "b"], ["x"], ["y"]))
        self.assertEqual(ran.side.nodes[2]["attributes"], {"alpha": 0.5})

    def test_gives_what_is_left_of_an_optimised_graph(self):
        ran = self.ran(intermediates="kept")
        self.check(ran, ("y",))
        self.assertNotIn("/lin/MatMul_output_0", ran.tensors)  # MatMul and Add are one Gemm
        self.assertTrue(any("Gemm" in r for r in ran.side.settings["runs"]), ran.side.settings)
        self.assertEqual(self.ran(optimization="disabled").side.settings["optimization"], "disabled")

    def test_options_that_are_none(self):
        for options, said in (({"optimization": "most"}, "disabled, basic"), ({"providers": "NoProvider"}, "it has"), ({"threads": "many"}, "a number"),
                              ({"intermediates": "some"}, "all or kept")):
            with self.assertRaisesRegex(EngineError, said):
                self.ran(**options)


@needs("onnx", "openvino")
class OpenVino(OfOnnx, unittest.TestCase):
    engine = "openvino"

    def test_gives_every_result(self):
        ran = self.ran(precision="f32")
        self.check(ran, ("w", "b", "h", "y"))
        self.assertEqual(ran.side.settings["inference_precision"], "f32")
        self.assertEqual([n["module"] for n in ran.side.nodes], ["lin", "lin", "act"])

    def test_says_that_it_computes_in_bf16(self):
        ran = self.ran(precision="bf16")
        self.assertIn(ran.side.settings["inference_precision"], ("bf16", "f32"))  # f32 on processors without it
        self.check(ran, ("y",), 0.1)


@needs("ncnn")
class Ncnn(unittest.TestCase):
    def test_gives_every_blob(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.param"
            Path(path).write_text("7767517\n3 3\nInput in0 0 1 in0\nReLU act 1 1 in0 a 0=0.5\nReLU act2 1 1 a out0 0=0\n")
            Path(f"{folder}/m.bin").write_bytes(b"")
            x = np.random.default_rng(0).normal(size=(1, 3, 4, 4)).astype("f4")
            given = Given()
            given.add("x", x, "float32")
            ran = run("ncnn", path, given, {})
            np.testing.assert_allclose(np.asarray(ran.tensors["a"]).reshape(x.shape), np.where(x < 0, x * np.float32(0.5), x), 1e-6)
            self.assertEqual(ran.side.outputs, ["out0"])
            Path(path).write_text("7767518\n")
            with self.assertRaisesRegex(EngineError, "is no .param file"):
                run("ncnn", path, given, {})


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    for _, why in done.skipped:
        print("not run:", why)
    sys.exit(77 if done.skipped and done.testsRun <= len(done.skipped) and done.wasSuccessful() else not done.wasSuccessful())
