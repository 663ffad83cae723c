#!/usr/bin/python3
"""The Python package judges what a program has: right results pass, planted faults are found and named.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_judged_test.py [TEST ...]

Exit code 77: NumPy is not here. What needs torch, JAX or ml_dtypes is left out without it.
"""

import doctest
import importlib.util
import sys
import unittest
import warnings

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import numpy as np

import assay

HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_ML_DTYPES = importlib.util.find_spec("ml_dtypes") is not None
needs_torch = unittest.skipUnless(HAS_TORCH, "torch is not here")


def normal(rng, *shape, dtype="f4"):
    return rng.normal(size=shape).astype(dtype)


def sizes(rng, rank):
    return tuple(int(n) for n in rng.integers(1, 24, rank))


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def variance(x):
    return np.var(x, axis=-1, ddof=1)


# Twelve operators as NumPy computes them: (operator, arguments, result) of a generator of numbers, a dtype and a shape.
def of_two(op, f):
    return lambda rng, d, s: (op, (x := normal(rng, *s, dtype=d), y := normal(rng, *s, dtype=d)), f(x, y))


def of_one(op, f, positive=False):
    def case(rng, d, s):
        x = normal(rng, *s, dtype=d)
        x = np.abs(x) + x.dtype.type(0.01) if positive else x
        return op, (x,), f(x)
    return case


def matrix_product(rng, d, s):
    k = int(rng.integers(1, 300))
    a, b = normal(rng, s[0], k, dtype=d), normal(rng, k, s[1], dtype=d)
    return "mm", (a, b), a @ b


def along_the_last(op, f):
    return lambda rng, d, s: (op, (x := normal(rng, *s, dtype=d), -1), f(x))


RIGHT = [of_two("add", np.add), of_two("mul", np.multiply), of_two("div.Tensor", np.divide), of_two("maximum", np.maximum),
         of_one("exp", np.exp), of_one("log", np.log, positive=True), of_one("tanh", np.tanh), of_one("sqrt", np.sqrt, positive=True),
         matrix_product, along_the_last("sum", lambda x: x.sum(-1)), along_the_last("softmax", lambda x: softmax(x, -1)),
         along_the_last("mean", lambda x: x.mean(-1))]


class RightResults(unittest.TestCase):
    def test_no_false_alarm_in_200_random_cases(self):
        rng = np.random.default_rng(1)
        for n in range(204):
            op, args, result = RIGHT[n % 12](rng, ("f4", "f8")[n // 12 % 2], sizes(rng, 2))
            with self.subTest(n=n, op=op), warnings.catch_warnings():
                warnings.simplefilter("ignore", assay.Vacuous)  # of one element, for example
                assay.assert_right(op, result, *args)

    def test_integers_are_exact(self):
        rng = np.random.default_rng(2)
        for dtype in ("i8", "i4", "i2", "i1", "u1"):
            x, y = (rng.integers(0, 100, (5, 7)).astype(dtype) for _ in range(2))
            assay.assert_right("add", x + y, x, y)
            wrong = x + y
            wrong[4, 6] += 1
            self.assertEqual(assay.judge("add", wrong, x, y).mismatched, 1)

    @needs_torch
    def test_torch_in_bf16(self):
        import torch
        torch.manual_seed(0)
        a, b = torch.randn(20, 30).bfloat16(), torch.randn(30, 10).bfloat16()
        for op, result, args in [("mm", a @ b, (a, b)), ("exp", a.exp(), (a,)), ("sum", a.sum(1), (a, 1)), ("softmax", a.softmax(1), (a, 1)),
                                 ("add", a + 0.1, (a, 0.1)), ("add", a + a.t().contiguous().t(), (a, a.t().contiguous().t()))]:
            with self.subTest(op=op):
                assay.assert_right(op, result, *args)
        assay.assert_right("native_layer_norm", torch.native_layer_norm(a.float(), [30], None, None, 1e-5), a.float(), [30], None, None, 1e-5)
        assay.assert_right("sum", a.sum(1, dtype=torch.float32), a, 1, dtype=torch.float32)
        assay.assert_right("relu", torch.nn.Parameter(a).relu(), a)
        x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
        assay.assert_right("clone", x.clone(memory_format=torch.contiguous_format), x, memory_format=torch.contiguous_format)

    @unittest.skipUnless(HAS_ML_DTYPES, "ml_dtypes is not here")
    def test_ml_dtypes(self):
        import ml_dtypes
        x = normal(np.random.default_rng(0), 4, 5).astype(ml_dtypes.bfloat16)
        assay.assert_right("add", x + x, x, x)
        self.assertEqual(assay.bounds("add", x, x).value.dtype, np.float32)

    @unittest.skipUnless(importlib.util.find_spec("jax"), "JAX is not here")
    def test_jax(self):
        import jax
        import jax.numpy as jnp
        x = jnp.asarray(normal(np.random.default_rng(0), 4, 5))
        assay.assert_right("softmax", jax.nn.softmax(x, axis=1), x, 1)
        b = x.astype(jnp.bfloat16)
        assay.assert_right("sum", b.sum(1, dtype=jnp.float32), b, 1, dtype=jnp.float32)

    def test_data_that_shows_nothing_is_a_warning(self):
        zeros = np.zeros((3, 3), "f4")
        with self.assertWarnsRegex(assay.Vacuous, "could not have shown a fault"):
            assay.assert_right("add", zeros, zeros, zeros)
        self.assertTrue(assay.judge("add", zeros, zeros, zeros).ok)


class PlantedFaults(unittest.TestCase):
    rng = np.random.default_rng(3)

    def assert_wrong(self, pattern, op, actual, *args, **kwargs):
        with self.assertRaisesRegex(AssertionError, pattern) as caught:
            assay.assert_right(op, actual, *args, **kwargs)
        return str(caught.exception)

    def test_one_element_of_a_product(self):
        a, b = normal(self.rng, 40, 16), normal(self.rng, 16, 30)
        wrong = a @ b
        wrong[np.unravel_index(np.abs(wrong).argmax(), wrong.shape)] *= np.float32(1 + 4e-5)
        said = self.assert_wrong(r"Mismatched elements: 1 / 1200 \(0.0833%\)", "mm", wrong, a, b)
        self.assertRegex(said.splitlines()[1], "Not right: mm under what common libraries do")
        self.assertRegex(said, r"Max relative difference among violations: 4\.\d*e-05")
        self.assertRegex(said, r"out\[\d+,\d+\] is .*, but must be \[.*\] \(.* times the bound\)")
        self.assertIn("How to go on:", said)

    def test_softmax_along_the_wrong_dimension(self):
        x = normal(self.rng, 6, 9)
        said = self.assert_wrong("Cause: takes ", "softmax", softmax(x, 0), x, dim=1)
        self.assertIn("Certainty: proven", said)

    def test_prelu_with_its_slope_swapped(self):
        x, slope = normal(self.rng, 2, 6, 5, 6), normal(self.rng, 6)
        self.assert_wrong("Cause: .*slope", "prelu", np.where(x > 0, x, slope * x), x, slope)
        self.assert_wrong("Cause: ", "prelu", np.where(x > 0, slope[:, None, None] * x, x), x, slope)

    @needs_torch
    def test_rounded_twice(self):
        import torch
        torch.manual_seed(1)
        a, b = torch.randn(64, 64), torch.randn(64, 64)
        self.assert_wrong("Mismatched elements: ", "add", (a + b).bfloat16().float(), a, b)
        a, b = a.bfloat16(), b.bfloat16()
        # By way of f16, which is no neighbour of bf16's.
        twice = ((a.float() + b.float()).to(torch.float8_e4m3fn) if hasattr(torch, "float8_e4m3fn") else (a.double() * 0.25 + b.double() * 0.25).half() * 4).bfloat16()
        wrong = assay.judge("add", twice, a, b)
        self.assertFalse(wrong.ok)

    def test_shape_and_dtype(self):
        a, b = normal(self.rng, 3, 4), normal(self.rng, 4, 5)
        self.assert_wrong("out is f32\\[5x3\\], but mm gives f32\\[3x5\\]", "mm", (a @ b).T, a, b)
        self.assert_wrong("out is f64\\[3x5\\], but mm gives f32\\[3x5\\]", "mm", (a @ b).astype("f8"), a, b)
        self.assert_wrong("2 results were given, but mm has 1", "mm", (a @ b, a @ b), a, b)

    def test_nan_and_zeros(self):
        a, b = normal(self.rng, 3, 4), normal(self.rng, 4, 5)
        wrong = a @ b
        wrong[2, 2] = np.nan
        self.assert_wrong(r"out\[2,2\] is NaN, but must be", "mm", wrong, a, b)
        self.assert_wrong(r"Mismatched elements: 15 / 15 \(100%\)", "mm", np.zeros((3, 5), "f4"), a, b)

    def test_a_contract_decides(self):
        x = normal(self.rng, 1000)
        rough = (np.exp(x.astype("f8")) * (1 + 1e-6)).astype("f4")
        self.assert_wrong('contract="exp=', "exp", rough, x)
        assay.assert_right("exp", rough, x, contract="exp=32ulp")
        self.assertEqual(assay.judge("exp", rough, x, contract="exp=32ulp").contract, "exp=32ulp")

    def test_samples_are_said(self):
        a, b = normal(self.rng, 30, 16), normal(self.rng, 16, 30)
        some = assay.judge("mm", a @ b, a, b, sample=10)
        self.assertTrue(some.ok)
        self.assertEqual(some.by_interval, 10)
        self.assertEqual(some.as_reference + some.by_interval + some.not_looked_at, 900)
        self.assertIn("were not looked at", str(some))
        self.assertEqual(assay.judge("mm", a @ b, a, b, sample="all").not_looked_at, 0)

    def test_what_a_judgement_has(self):
        x = normal(self.rng, 4, 8)
        j = assay.judge("softmax", softmax(x, 0), x, 1)
        self.assertFalse(j.ok or bool(j))
        self.assertEqual((j.verdict, j.elements, j.mismatched), ("diverged", 32, 32))
        self.assertEqual(j.diagnosis.certainty, "proven")
        self.assertIn(j.cause, str(j))
        self.assertEqual(j.to_dict()["outputs"][0]["elements"], 32)
        self.assertIn("<pre>", j._repr_html_())
        self.assertTrue(j.html().startswith("<!DOCTYPE html>"))
        self.assertGreater(j.worst, 1)
        one = j.to_dict()["outputs"][0]["first"][0]
        self.assertEqual(one["index"], [0, 0])
        self.assertFalse(one["low"] <= one["actual"] <= one["high"])

    def test_diagnose(self):
        a, b = normal(self.rng, 5, 5), normal(self.rng, 5, 5)
        d = assay.diagnose("mm", a @ b.T, a, b)
        self.assertEqual((d.kind, d.certainty), ("named", "proven"))
        self.assertIn("mat2", d.cause)
        self.assertEqual(d.to_dict()["diverging"], 25)
        self.assertEqual(assay.diagnose("mm", a @ b, a, b).certainty, "none")


class OtherQuestions(unittest.TestCase):
    def test_a_constant_result_is_vacuous(self):
        x = -np.arange(1, 5).astype("f4")
        judgement = assay.judge("relu", np.zeros(4, "f4"), x)
        self.assertEqual((judgement.ok, judgement.verdict, judgement.to_dict()["constant"]), (True, "vacuous", True))
        with self.assertWarnsRegex(assay.Vacuous, "every element of the result is the same number"):
            assay.assert_right("relu", np.zeros(4, "f4"), x)
        self.assertEqual(assay.judge("relu", np.float32([0, 2]), np.float32([-1, 2])).verdict, "pass")
        self.assertEqual(assay.judge("relu", np.float32(2), np.float32(2)).verdict, assay.judge("exp", np.exp(np.float32(2)), np.float32(2)).verdict)

    rng = np.random.default_rng(4)

    def test_bounds(self):
        x = normal(self.rng, 3, 5)
        value, low, high = assay.bounds("exp", x)
        self.assertEqual((value.dtype, value.shape), (np.dtype("f4"), (3, 5)))
        self.assertTrue(((low <= value) & (value <= high) & (low <= np.exp(x)) & (np.exp(x) <= high)).all())
        self.assertTrue((low < high).all())
        value[0, 0] = 0  # an array like any other
        several = assay.bounds("native_layer_norm", x, [5], None, None, 1e-5)
        self.assertEqual([b.value.shape for b in several], [(3, 5), (3, 1), (3, 1)])
        exact = assay.bounds("add", np.array([1, 2]), np.array([3, 4]))
        self.assertEqual(exact.low.tolist(), [4, 6])
        self.assertEqual(assay.bounds("relu", np.empty((0, 3), "f4")).value.shape, (0, 3))
        self.assertTrue(np.isnan(assay.bounds("log", np.array([-1], "f4")).low[0]))
        self.assertEqual(assay.bounds("log", np.array([0], "f4")).low[0], -np.inf)

    def test_examples_of_docstrings(self):
        from assay import judged
        result = doctest.testmod(judged, optionflags=doctest.ELLIPSIS)
        self.assertGreater(result.attempted, 10)
        self.assertEqual(result.failed, 0)

    def test_ops(self):
        self.assertIn("softmax.int", assay.ops())
        mm = assay.ops("aten::mm")
        self.assertEqual(mm.schema, "mm(Tensor self, Tensor mat2) -> Tensor")
        self.assertIn("exp", mm.contract_fields)
        self.assertIn("mat2", str(mm))

    def test_diff(self):
        x = normal(self.rng, 6, 7)
        self.assertTrue(assay.diff(x, x.copy()).same)
        self.assertIn("rearranged", str(assay.diff(x, np.ascontiguousarray(x.T).reshape(6, 7))))

    def test_graphs(self):
        graph = "assay::python_swiglu(Tensor g, Tensor u) -> Tensor { silu(g) * u }"
        g, u = normal(self.rng, 4, 6), normal(self.rng, 4, 6)
        right = g / (1 + np.exp(-g)) * u
        assay.assert_right(graph, right, g, u)
        self.assertFalse(assay.judge(graph, right * u, g, u).ok)
        nodes = {"format": "assay.graph/1", "schema": "assay::python_twice(Tensor a) -> Tensor",
                 "nodes": [{"results": ["y"], "op": "add.Tensor", "arguments": {"self": "a", "other": "a"}}], "results": ["y"]}
        assay.assert_right(nodes, g + g, g)


class Tensors(unittest.TestCase):
    x = np.arange(24, dtype="f4").reshape(4, 6) - 10

    def assert_taken(self, x):
        assay.assert_right("relu", np.maximum(np.asarray(x), 0).astype("f4"), x)

    def test_of_every_layout(self):
        x = self.x
        for name, tensor in {"transposed": x.T, "steps": x[::2, ::3], "backwards": x[::-1], "expanded": np.broadcast_to(x[0], (5, 6)),
                             "one column": x[:, 1], "big-endian": x.astype(">f4"), "fortran": np.asfortranarray(x), "read-only": np.frombuffer(x.tobytes(), "f4"),
                             "without dimensions": x[3, 3].reshape(()), "windows": np.lib.stride_tricks.sliding_window_view(x[0], 3)}.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", assay.Vacuous)
                self.assert_taken(tensor)

    def test_numbers_in_the_place_of_tensors(self):
        x = self.x
        assay.assert_right("add", x + np.float32(0.1), x, 0.1)
        assay.assert_right("add", x + 2 * x, x, x, alpha=np.float32(2))
        assay.assert_right("mul", x * 3, x, 3)

    @needs_torch
    def test_dlpack(self):
        import torch

        class Foreign:
            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, **options):
                return self.tensor.__dlpack__()

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        t = torch.from_numpy(self.x)
        assay.assert_right("relu", Foreign(t.relu()), Foreign(t))
        b = t.bfloat16()
        assay.assert_right("relu", Foreign(b.relu()), Foreign(b))

    def test_errors_say_what_is_wrong(self):
        x = self.x
        for error, said, call in [
                (assay.UnknownOperator, 'did you mean "softplus"', lambda: assay.judge("softpluss", x, x)),
                (assay.UnknownOperator, "div.Tensor_mode", lambda: assay.judge("div", x, x, x)),
                (assay.ArgumentError, 'the argument "mat2" is missing: mm\\(Tensor self, Tensor mat2\\)', lambda: assay.judge("mm", x, x)),
                (assay.ArgumentError, "mat2 has shape", lambda: assay.judge("mm", x, x, x)),
                (assay.ArgumentError, 'no argument "slope"', lambda: assay.judge("relu", x, x, slope=1)),
                (assay.ArgumentError, "the result has dtype complex64", lambda: assay.judge("relu", x.astype("c8"), x)),
                (assay.ArgumentError, "argument 0 is of type object, which is no argument", lambda: assay.judge("relu", x, object())),
                (assay.ArgumentError, "the result is of type str", lambda: assay.judge("relu", "x", x)),
                (assay.ArgumentError, "sample is 0", lambda: assay.judge("relu", x, x, sample=0)),
                (assay.ArgumentError, "contract=3: a contract is a text", lambda: assay.judge("relu", x, x, contract=3)),
                (assay.ArgumentError, 'the contract "exp=fast"', lambda: assay.judge("relu", x, x, contract="exp=fast")),
                (assay.ArgumentError, "the operator is 3", lambda: assay.judge(3, x, x)),
                (assay.TooLarge, "this machine", lambda: assay.bounds("relu", np.broadcast_to(np.float32(1), (10**6, 10**6))))]:
            with self.subTest(said), self.assertRaisesRegex(error, said):
                call()


class Audits(unittest.TestCase):
    X = normal(np.random.default_rng(4), 4, 1000) * np.float32(0.1)

    def test_a_loose_tolerance_lets_zeros_pass_where_results_are_small(self):
        a = assay.audit("softmax.int", self.X, 1, rtol=1e-2, atol=1e-2)
        let_pass = dict(a.let_pass)
        self.assertIn("zeros", let_pass)
        self.assertIn("mean", let_pass)
        self.assertFalse(a.ok)
        self.assertGreater(a.rejected, 0)
        self.assertIn("would pass", str(a))
        # A tight one lets fewer pass, and nothing that computes nothing.
        tight = assay.audit("softmax.int", self.X, 1, rtol=1e-5, atol=0)
        self.assertLess(len(tight.let_pass), len(a.let_pass))
        self.assertNotIn("zeros", dict(tight.let_pass))
        self.assertEqual(len(tight.invisible), len(a.invisible))

    def test_what_data_cannot_show_is_said(self):
        ones = assay.audit("prelu", np.ones((2, 3), "f4"), np.ones(3, "f4"), rtol=1e-3)
        drawn = assay.audit("prelu", normal(np.random.default_rng(1), 2, 3), normal(np.random.default_rng(2), 3), rtol=1e-3)
        self.assertGreater(len(ones.invisible), len(drawn.invisible))
        self.assertIn("input", dict(ones.invisible))

    def test_of_a_graph(self):
        g = assay.graph("assay::audited(Tensor a, Tensor b) -> Tensor { silu(a) * b }")
        a, b = normal(np.random.default_rng(1), 8, 8), normal(np.random.default_rng(2), 8, 8)
        audit = assay.audit(g, a, b, rtol=1e-6)
        self.assertTrue(audit.ok, audit)
        self.assertGreater(audit.rejected, 5)

    def test_wrong_usage(self):
        for error, said, call in [(assay.ArgumentError, "give the tolerance", lambda: assay.audit("relu", self.X)),
                                  (assay.ArgumentError, "rtol=-1", lambda: assay.audit("relu", self.X, rtol=-1)),
                                  (assay.ArgumentError, "atol=nan", lambda: assay.audit("relu", self.X, atol=float("nan")))]:
            with self.subTest(said), self.assertRaisesRegex(error, said):
                call()

    def test_no_time_is_said(self):
        self.assertGreater(assay.audit("softmax.int", self.X, 1, rtol=1e-3, seconds=0).not_tried, 10)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
