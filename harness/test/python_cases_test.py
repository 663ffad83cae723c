#!/usr/bin/python3
"""Calls that Assay draws for programs: what they are, as parameters of pytest, as a strategy of hypothesis, and torch's operators.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_cases_test.py [TEST ...]

Exit code 77: NumPy is not here. What needs torch, pytest or hypothesis is left out without it.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import numpy as np

import assay


def needs(package):
    return unittest.skipUnless(importlib.util.find_spec(package), f"{package} is not here")


def relu(x):
    return np.where(x < 0, x.dtype.type(0), x)


class Drawn(unittest.TestCase):
    def test_are_those_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as out:
            r = assay.verify(lambda x: x + 1, "relu", dtypes=["f32"], cases=12, seed=5, out=out)
        drawn = assay.cases("relu", n=12, seed=5).texts
        # Of the smallest that show the fault, those that were not made smaller.
        self.assertIn(r.run["results"][0]["worst_case"] or drawn[0], drawn)
        self.assertEqual(len(drawn), 12)
        self.assertEqual(drawn, assay.cases("relu", n=12, seed=5).texts)
        self.assertNotEqual(drawn, assay.cases("relu", n=12, seed=6).texts)

    def test_arguments_have_the_layouts_that_the_text_says(self):
        for text, strides, tensors in (("relu:f32:self=[4x3]@step2:data=normal:seed=1", None, "numpy"),
                                       ("relu:f32:self=[2x3x4x5]@channels_last:data=normal:seed=1", (240, 4, 60, 12), "numpy"),
                                       ("relu:f32:self=[8x4]@expanded(0):data=normal:seed=1", (0, 4), "numpy")):
            (x,) = assay.case(text, tensors=tensors).args
            if strides:
                self.assertEqual(x.strides, strides)
            else:
                self.assertFalse(x.flags.c_contiguous)
            self.assertTrue(assay.judge("relu", relu(x), x).ok)

    def test_every_kind_of_argument(self):
        c = assay.case("native_layer_norm:f64:input=2x4,normalized_shape=[4],weight=4,bias=none,eps=1e-05:data=normal:seed=1")
        x, shape, weight, bias, eps = c.args
        self.assertEqual((x.dtype, shape, weight.shape, bias, eps, c.op), (np.float64, [4], (4,), None, 1e-5, "native_layer_norm"))
        c = assay.case("gelu:f32:self=3,approximate=tanh:data=normal:seed=1")
        self.assertEqual(c.kwargs, {"approximate": "tanh"})
        c = assay.case("softmax.int:f32:self=3,dim=-1,dtype=f64:data=normal:seed=1")
        self.assertEqual(c.args[1:], (-1, np.dtype("f8")))

    def test_tensors_outlive_their_case(self):
        tensors = [x for c in assay.cases("relu", n=20) for x in c.args]
        self.assertTrue(all(np.array_equal(x, y, equal_nan=True) for x, y in zip(tensors, [x.copy() for c in assay.cases("relu", n=20) for x in c.args])))
        self.assertEqual(len(tensors), 20)

    def test_right_and_wrong_results(self):
        for c in assay.cases("relu", n=30):
            c.assert_right(relu(*c.args))
        c = assay.case("relu:f32:self=9:data=normal:seed=3")
        with self.assertRaisesRegex(AssertionError, r"(?s)leaky_relu.*assay.case\('relu:f32:self=9:data=normal:seed=3'\)"):
            c.assert_right(np.where(c.args[0] > 0, c.args[0], c.args[0] * np.float32(0.01)))

    def test_a_kernel_that_writes_its_inputs_is_judged_by_what_they_were(self):
        c = assay.case("relu:f32:self=9:data=normal:seed=3")
        x = c.args[0]
        x[...] = 0
        self.assertFalse(c.judge(relu(x)).ok)

    def test_a_call_without_elements_is_no_fault(self):
        assay.case("relu:f32:self=0:data=ones:seed=0").check(relu)

    def test_wrong_usage(self):
        for error, said, call in [
                (assay.ArgumentError, "dtype i64", lambda: assay.cases("softmax.int", dtypes=["i64"])),
                (assay.ArgumentError, "dtype is \"f33\"", lambda: assay.cases("relu", dtypes=["f33"])),
                (assay.UnknownOperator, "rellu", lambda: assay.cases("rellu")),
                (assay.ArgumentError, "count is -2", lambda: assay.cases("relu", n=-1)),
                (assay.ArgumentError, "relu", lambda: assay.case("relu:f32").args)]:
            with self.subTest(said), self.assertRaisesRegex(error, said):
                call()

    @needs("torch")
    def test_of_torch(self):
        import torch

        for c in assay.cases("relu", n=20, dtypes=["bf16", "f32"], tensors="torch"):
            self.assertIsInstance(c.args[0], torch.Tensor)
            c.assert_right(torch.relu(*c.args))


class InTests(unittest.TestCase):
    def run_pytest(self, text, *words):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "test_it.py").write_text("import assay\nimport numpy as np\n" + textwrap.dedent(text))
            return subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "assay.pytest", "-p", "no:cacheprovider", "-q", *words, folder],
                                  capture_output=True, text=True, env=dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"))

    @needs("pytest")
    def test_cases_are_parameters(self):
        said = self.run_pytest("""
            @assay.cases("relu", dtypes=["f32"], n=6)
            def test_right(case):
                case.assert_right(np.where(case.args[0] < 0, np.float32(0), case.args[0]))

            @assay.cases("relu", dtypes=["f32"], n=6)
            def test_wrong(case):
                case.assert_right(np.abs(case.args[0]) + 1)

            @assay.cases("relu", n=2)
            def test_isolated(case):
                case.check(lambda x: np.where(x < 0, np.float32(0), x))
            """, "--assay-seed", "3", "-v")
        self.assertIn("8 passed", said.stdout)
        self.assertIn("6 failed", said.stdout)
        self.assertIn("test_wrong[relu:f32:self=[]:data=", said.stdout)
        self.assertIn("assay: seed 3", said.stdout)

    @needs("pytest")
    def test_a_seed_is_a_whole_number(self):
        said = self.run_pytest("def test_nothing(): pass", "--assay-seed", "-3")
        self.assertEqual(said.returncode, 4)
        self.assertIn("--assay-seed -3: a seed is a whole number from 0", said.stderr + said.stdout)

    @needs("hypothesis")
    def test_a_strategy_shrinks_to_simple_calls(self):
        import hypothesis

        import assay.strategies

        seen = []

        @hypothesis.settings(max_examples=40, deadline=None, database=None)
        @hypothesis.given(assay.strategies.calls("relu", n=40))
        def right(case):
            seen.append(case.text)
            case.assert_right(relu(*case.args))

        right()
        self.assertGreater(len(set(seen)), 10)

        @hypothesis.settings(max_examples=40, deadline=None, database=None)
        @hypothesis.given(assay.strategies.calls("relu", n=40))
        def wrong(case):
            seen.append(case.text)
            case.assert_right(case.args[0] + 1)

        with self.assertRaises(AssertionError):
            wrong()
        self.assertEqual(seen[-1], assay.cases("relu", n=1).texts[0])


@needs("torch")
class OperatorsOfTorch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch

        import assay.torch

        cls.library = torch.library.Library("assay_test", "DEF")
        for schema, function in (("relu(Tensor self) -> Tensor", torch.relu), ("gelu(Tensor x, *, str approximate) -> Tensor", lambda x, approximate: x * 0.5),
                                 ("mine(Tensor x) -> Tensor", torch.relu), ("writes(Tensor(a!) x) -> ()", lambda x: None)):
            cls.library.define(schema)
            cls.library.impl(schema.split("(")[0], function, "CPU")
        cls.ops = torch.ops.assay_test

    def test_right_ones_pass(self):
        self.assertTrue(assay.torch.check(self.ops.relu, dtypes=["f32"], cases=20).ok)
        self.assertTrue(assay.torch.check(self.ops.mine.default, "relu", dtypes=["f32"], cases=20).ok)

    def test_wrong_ones_are_found(self):
        with self.assertRaisesRegex(AssertionError, "(?s)diverged.*FAILED"):
            assay.torch.check(self.ops.gelu, dtypes=["f32"], cases=20)

    def test_wrong_usage(self):
        for op, said in ((self.ops.mine, "has no operator mine; say which one it shall be"), (print, "is no operator of torch.library"),
                         (self.ops.writes, "writes into its argument x")):
            with self.subTest(said), self.assertRaisesRegex(assay.torch.WrongOperator, said):
                assay.torch.check(op, "relu" if op is self.ops.writes else None)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
