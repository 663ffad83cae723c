#!/usr/bin/python3
"""Gradients of operators of PyTorch: right ones pass, wrong ones are found, and what is not judged is said.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_gradients_test.py [TEST ...]

Exit code 77: PyTorch is not here.
"""

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

if importlib.util.find_spec("torch") is None:
    print("not run: PyTorch is not here")
    raise SystemExit(77)

import torch

import assay
import assay.torch
from assay import _gradients
from assay._derivatives import DERIVATIVES, summed
from assay._gradients import check_gradient


def aten(name):
    """PyTorch's operator, which has a right gradient."""
    if name == "linear":
        return lambda input, weight, bias=None: torch.nn.functional.linear(input, weight, bias)
    if name == "var.correction":  # PyTorch 1.13 to 2.15 at least: with dim=[] its gradient is infinite
        return lambda self, dim, *, correction=None, keepdim=False: torch.ops.aten.var.correction(self, dim or None, correction=correction, keepdim=keepdim)
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def with_backward(forward, backward):
    """A function whose gradients are what backward(grad, *arguments) gives."""
    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *arguments):
            ctx.arguments = arguments
            return forward(*arguments)

        @staticmethod
        def backward(ctx, grad):
            return backward(grad, *ctx.arguments)

    return lambda *arguments, **named: Own.apply(*arguments, *named.values())


def checked(function, op, **options):
    return check_gradient(function, op, **{"cases": 20, "out": tempfile.gettempdir(), **options})


class Expressions(unittest.TestCase):
    def test_what_was_broadcast_is_added_up(self):
        self.assertEqual(summed("grad", (2, 3), (2, 3)), "grad")
        self.assertEqual(summed("grad", (2, 3), (2, 1)), "sum(grad, [1], true)")
        self.assertEqual(summed("grad", (4, 2, 3), (1, 3)), "reshape(sum(grad, [0, 1], true), [1, 3])")
        self.assertEqual(summed("grad", (1, 3), (3,)), "reshape(sum(grad, [0], true), [3])")


class RightOnes(unittest.TestCase):
    def test_pass(self):
        for name in DERIVATIVES:
            with self.subTest(name):
                found = checked(aten(name), name, cases=10)
                self.assertTrue(found.ok, found)
                self.assertGreaterEqual(found.judged, 5)
                self.assertEqual(found.not_judged, {})

    def test_pass_in_other_dtypes(self):
        for name, dtype in (("silu", "bf16"), ("mm", "bf16"), ("relu", "f64"), ("native_layer_norm", "f64"), ("add.Tensor", "bf16")):
            with self.subTest(name):
                found = checked(aten(name), name, dtypes=[dtype])
                self.assertTrue(found.ok, found)
                self.assertEqual({r["dtype"] for r in found.verified.run["results"]}, {dtype})

    def test_another_right_formula_passes(self):
        def of_sigmoid(grad, x):
            e = torch.exp(-x.abs())
            return grad * e / ((1 + e) * (1 + e))

        def of_relu(grad, x):  # another choice at the kink
            return grad * (x >= 0)

        for name, forward, backward in (("sigmoid", torch.sigmoid, of_sigmoid), ("relu", torch.relu, of_relu)):
            self.assertTrue(checked(with_backward(forward, backward), name, cases=40).ok, name)


class WrongOnes(unittest.TestCase):
    def found(self, name, forward, backward):
        found = checked(with_backward(forward, backward), name)
        self.assertFalse(found.ok, found)
        if found.verified is not None:
            self.assertIn("diverged", {f.kind for f in found.verified.failures})
        return found

    def test_are_found(self):
        gelu = torch.ops.aten.gelu_backward
        for what, name, forward, backward in (
            ("factor 2", "silu", torch.nn.functional.silu, lambda g, x: 2 * g * (torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x))))),
            ("no mask", "relu", torch.relu, lambda g, x: g.clone()),
            ("the mask of the upstream gradient", "relu", torch.relu, lambda g, x: g * (g > 0)),
            ("not transposed", "mm", torch.mm, lambda g, a, b: (g @ b.t(), (g.t() @ a) if g.shape[1] == a.shape[1] else torch.zeros_like(b))),
            ("not added up", "add.Tensor", lambda a, b, alpha: torch.add(a, b, alpha=alpha),
             lambda g, a, b, alpha: (g, torch.zeros_like(b) if b.shape != g.shape else g, None)),
            ("without alpha", "sub.Tensor", lambda a, b, alpha: torch.sub(a, b, alpha=alpha),
             lambda g, a, b, alpha: (g.sum_to_size(a.shape), -g.sum_to_size(b.shape), None)),
            ("of the other gelu", "gelu", lambda x, kind: torch.nn.functional.gelu(x, approximate=kind), lambda g, x, kind: (gelu(g, x), None)),
            ("without the sum of a row", "softmax.int", lambda x, d, t: torch.softmax(x, d), lambda g, x, d, t: (g * torch.softmax(x, d), None, None)),
            ("of bias as a mean", "linear", torch.nn.functional.linear, lambda g, x, w, b: (
                g @ w, g.reshape(-1, g.shape[-1]).t() @ x.reshape(-1, x.shape[-1]), None if b is None else g.reshape(-1, g.shape[-1]).mean(0))),
        ):
            with self.subTest(what):
                self.found(name, forward, backward)

    def test_an_upstream_gradient_that_does_not_lie_dense(self):
        def backward(grad, x):  # reads memory as if it lay in rows
            flat = torch.as_strided(grad, x.shape, x.contiguous().stride()) if grad.stride() != x.stride() and 0 not in grad.stride() else grad
            return flat * (1 - torch.tanh(x) ** 2)

        self.assertFalse(checked(with_backward(torch.tanh, backward), "tanh", cases=60).ok)


class Here(unittest.TestCase):
    """Where autograd does not survive a fork."""

    def test_is_judged_in_this_process(self):
        with mock.patch.object(_gradients, "_survives_a_fork", return_value=False):
            for name, backward, ok in (("mm", lambda g, a, b: (g @ b.t(), a.t() @ g), True), ("mm", lambda g, a, b: (g @ b.t(), 2 * (a.t() @ g)), False)):
                found = checked(with_backward(torch.mm, backward), name)
                self.assertEqual((found.ok, found.judged), (ok, 20), found)
                self.assertRegex(str(found), "all are right" if ok else r"\d+ are wrong")
            self.assertIn("check the operator before", str(checked(torch.relu, "relu", by=assay.graph(
                "assay::b1(Tensor grad, Tensor self) -> Tensor { grad * self }"))))

    def test_autograd_survives_a_fork_unless_its_engine_says_no(self):
        fresh = "from assay._gradients import _survives_a_fork as f; print(f())"  # other tests have run autograd here
        self.assertEqual(subprocess.run([sys.executable, "-c", fresh], capture_output=True, text=True).stdout, "True\n")
        with mock.patch.object(torch.autograd, "grad", side_effect=RuntimeError):
            self.assertFalse(_gradients._survives_a_fork())


class NotJudged(unittest.TestCase):
    def test_says_why(self):
        without = lambda x: torch.relu(x.detach())  # noqa: E731
        for function, op, says in ((without, "relu", "gives none"), (aten("argmax"), "argmax", "neither a backward operator nor a derivative of argmax"),
                                   (torch.relu, assay.graph("assay::g1(Tensor x) -> Tensor { relu(x) }"), "g1 is a graph")):
            with self.subTest(op):
                found = checked(function, op)
                self.assertIsNone(found.verified)
                self.assertTrue(found.ok)
                self.assertRegex(str(found), "^gradient.*: not judged, because .*" + says)

    def test_a_formula_without_one_of_the_gradients(self):
        found = checked(with_backward(torch.mm, lambda g, a, b: (g @ b.t(), None)), "mm")
        self.assertTrue(found.ok, found)
        self.assertGreater(found.judged, 0)
        self.assertRegex(found.not_judged["mat2"], "its formula gives none, in 20 of the calls")


class Check(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = torch.library.Library("assay_gradients", "DEF")
        right = with_backward(torch.relu, lambda g, x: g * (x > 0))
        for name, function in (("right", right), ("wrong", with_backward(torch.relu, lambda g, x: g)), ("swiglu", None)):
            schema = f"{name}(Tensor self) -> Tensor" if function else "swiglu(Tensor gate, Tensor up) -> Tensor"
            function = function or (lambda gate, up: torch.nn.functional.silu(gate) * up)
            cls.library.define(schema)
            cls.library.impl(name, function, "CPU" if not torch.__version__.startswith("1.") else "CompositeImplicitAutograd")
            if not torch.__version__.startswith("1."):
                cls.library.impl(name, function, "AutogradCPU")
        cls.ops = torch.ops.assay_gradients

    def check(self, op, like, **options):
        return assay.torch.check(op, like, dtypes=["f32"], cases=20, out=tempfile.gettempdir(), **options)

    def test_of_operators_of_torch_library(self):
        self.assertGreater(self.check(self.ops.right, "relu").gradient.judged, 0)
        with self.assertRaisesRegex(AssertionError, r"(?s)PASSED.*gradient:.*(DIVERGED|are wrong)"):
            self.check(self.ops.wrong, "relu")
        self.assertIsNone(self.check(self.ops.wrong, "relu", gradient=False).gradient)

    def test_by_a_graph(self):
        swiglu = assay.graph("assay::swiglu_of_test(Tensor gate, Tensor up) -> Tensor\n  shapes gate=[*] up=[*] -> [*]\n{ silu(gate) * up }")
        right = "s * (1 + gate * (1 - s)) * up * grad, silu(gate) * grad"
        for body, ok in ((right, True), (right.replace("silu(gate) * grad", "silu(gate)"), False)):
            by = assay.graph(f"assay::{'right' if ok else 'wrong'}_backward_of_test(Tensor grad, Tensor gate, Tensor up) -> (Tensor, Tensor)\n"
                             f"  shapes grad=[*] gate=[*] up=[*] -> [*], [*]\n{{\n  s = sigmoid(gate)\n  return {body}\n}}")
            try:
                self.assertEqual(self.check(self.ops.swiglu, swiglu, gradient=by).ok, ok)
            except AssertionError as error:
                self.assertFalse(ok, error)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
