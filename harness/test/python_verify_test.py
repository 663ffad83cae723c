#!/usr/bin/python3
"""assay.verify on functions of this process and of files: right ones pass, wrong ones are found, deceivers deceive nobody.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_verify_test.py [TEST ...]

Exit code 77: NumPy is not here.
"""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from pathlib import Path

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import numpy

import assay
import python_test_kernels as kernels
from assay._function import KernelOptions
from assay._kept import keep
from assay._program import program
from assay._schema import Schema, find

FEW = {"dtypes": ["f32"], "cases": 40}


class Quiet(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.out = self._folder.name

    def verify(self, function, op="relu", **options):
        return assay.verify(function, op, out=self.out, **{**FEW, **options})


class RightOnes(Quiet):
    def test_pass(self):
        for function in (kernels.relu, kernels.relu_into, lambda x: kernels.relu(x)):
            r = self.verify(function)
            self.assertTrue(r.ok, r)
            self.assertEqual(r.judged, 40)
            self.assertEqual(r.failures, [])

    def test_a_function_says_its_operator(self):
        r = self.verify(kernels.relu_marked, None)
        self.assertTrue(r.ok, r)
        self.assertEqual(r.run["results"][0]["impl"], "plugin:marked")

    def test_arguments_are_passed_by_name_or_order(self):
        def by_name(dim, self, dtype=None):
            return kernels.softmax(self, dim) if dtype is None else kernels.softmax(self.astype(dtype), dim)

        for function in (kernels.softmax, by_name):
            r = self.verify(function, "softmax.int")
            self.assertTrue(r.ok, r)
            self.assertGreaterEqual(r.judged, 40)
        # A call that the function cannot be given is refused, and counted.
        self.assertGreater(self.verify(kernels.softmax, "softmax.int").refused, 0)

    def test_a_row_has_results_of_its_dtype_alone(self):
        def softmax(x, dim):
            if x.dtype != numpy.float32:
                raise TypeError(f"{x.dtype} is none of this row")
            return kernels.softmax(x, dim)

        # It takes no dtype=: such calls are refused, and others are judged in their place.
        r = self.verify(softmax, "softmax.int", cases=80)
        self.assertGreater(r.refused, 0)
        self.assertTrue(r.ok, r)

    def test_the_same_seed_draws_the_same_calls_everywhere(self):
        here = self.verify(kernels.leaky, seed=7)
        there = subprocess.run(
            [program(), "verify", "relu", "--python", kernels.__file__ + ":leaky", "--impl", "plugin:*", "--dtype", "f32", "--cases", "40",
             "--seed", "7", "--json", "-", "--out", self.out], capture_output=True, text=True, env=dict(os.environ, ASSAY_PYTHON=sys.executable))
        self.assertEqual(there.returncode, 1, there.stderr)
        run = json.loads(there.stdout)

        def told(run):
            return [(r["impl"], r["counts"], [(f["case"], f["kind"], f["detail"], f.get("diagnosis")) for f in r["failures"]])
                    for r in run["results"]]

        self.assertEqual(told(run), told(here.run))


class WrongOnes(Quiet):
    # The kind of fault, and words of what is said of it.
    FAULTS = {
        "leaky": ("diverged", "leaky_relu"), "zeros": ("diverged", ""), "own_input": ("diverged", ""),
        "cached_by_address": ("diverged", "with other data at the same addresses the kernel gave the result of the earlier data"),
        "right_at_first": ("diverged", "with other data at the same addresses"), "patched_comparison": ("diverged", ""),
        "reads_past_the_end": ("memory", "past the end of its input `self`"), "writes_its_input": ("memory", "input `self`"),
        "crashes": ("crashed", ""), "exits": ("crashed", ""), "raises": ("wrongly_rejected", "ValueError: no such thing"),
        "other_dtype": ("wrongly_rejected", "the result is f64"), "other_shape": ("wrongly_rejected", ""),
        "nothing": ("wrongly_rejected", "the result is None"),
    }

    def test_are_found(self):
        for name, (kind, words) in self.FAULTS.items():
            with self.subTest(name):
                r = self.verify(getattr(kernels, name), cases=24)
                self.assertFalse(r.ok, r)
                self.assertIn(kind, {f.kind for f in r.failures}, r)
                self.assertIn(words, r.text)

    def test_what_is_written_late_is_found(self):
        self.assertFalse(self.verify(kernels.late).ok)

    def test_what_is_got_wrong_cannot_be_refused_by_its_numbers(self):
        r = self.verify(kernels.own_input, refuses=lambda x: bool((numpy.nan_to_num(x) < 0).any()) and "negative numbers")
        self.assertFalse(r.ok, r)
        self.assertEqual(r.refused, 0)
        # Shapes may be refused.
        self.assertGreater(self.verify(kernels.relu, refuses=lambda x: x.ndim > 2 and "more than 2 dimensions").refused, 0)

    def test_a_hang_is_ended(self):
        r = self.verify(kernels.hangs, cases=2, timeout=0.3)
        self.assertEqual({f.kind for f in r.failures}, {"timeout"}, r)

    def test_have_a_cause(self):
        self.assertIn("leaky_relu", self.verify(kernels.leaky).cause)

    def test_overflow_is_reached(self):
        self.assertFalse(self.verify(kernels.softmax_that_overflows, "softmax.int").ok)

    def test_a_refusal_that_nobody_could_foresee_fails(self):
        r = self.verify(kernels.refuses_halves, dtypes=["f16"])
        self.assertFalse(r.ok, r)
        self.assertIn("no f16", r.text)

    def test_check_raises_with_the_cause(self):
        with self.assertRaisesRegex(AssertionError, "(?s)leaky_relu.*FAILED"):
            assay.check(kernels.leaky, "relu", out=self.out, **FEW)

    def test_a_failure_is_replayed_from_its_file(self):
        r = self.verify(kernels.leaky)
        again = subprocess.run([program(), "replay", r.failures[0].replay, "--python", f"relu={kernels.__file__}:leaky"],
                               capture_output=True, text=True, env=dict(os.environ, ASSAY_PYTHON=sys.executable))
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("diverged", again.stdout)


class Kept(Quiet):
    def test_a_closure_is_replayed(self):
        add = numpy.float32(1)
        helper = types.FunctionType(compile("def helper(x):\n    return numpy.maximum(x, 0)", "nowhere", "exec").co_consts[0], {"numpy": numpy}, "helper")

        def closure(x, *, more=add):
            return helper(x) + add * more

        closure.__module__ = helper.__module__ = "__main__"
        r = self.verify(closure)
        self.assertFalse(r.ok)
        spec = re.search(r"relu=(\S*function-\w+\.py):function", " ".join(r.text.split()))
        self.assertIsNotNone(spec, r)
        again = subprocess.run([program(), "replay", r.failures[0].replay, "--plugin", spec[0]], capture_output=True, text=True,
                               env=dict(os.environ, ASSAY_PYTHON=sys.executable))
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertRegex(again.stdout, r"now .*diverged")

    def test_what_cannot_be_kept_has_no_file(self):
        lock = threading.Lock()

        def closure(x):
            return numpy.maximum(x, 0) if lock else x

        self.assertIsNone(keep(closure, KernelOptions("relu"), Path(self.out)))
        self.assertIsNone(keep(self.verify, KernelOptions("relu"), Path(self.out)))
        self.assertTrue(self.verify(closure).ok)
        self.assertEqual(list(Path(self.out).glob("function-*")), [])


class WhileItRuns(unittest.TestCase):
    PROGRAM = """
import sys, time
import numpy as np
import assay

def relu(x):
    time.sleep(0.02)
    return np.maximum(x, 0)

print("begin", flush=True)
try:
    assay.verify(relu, "relu", dtypes=["f32"], cases=2000, progress=%s, out=sys.argv[1])
except KeyboardInterrupt as error:
    print(type(error).__name__, error.result.judged, error.result.ok, "INCOMPLETE" in error.result.text)
"""

    def test_progress_is_told(self):
        def relu(x):
            time.sleep(0.02)
            return numpy.maximum(x, 0)

        for wrong in (False, True):
            told = []
            function = (lambda x: relu(x) + numpy.float32(1)) if wrong else relu
            with tempfile.TemporaryDirectory() as folder:
                assay.verify(function, "relu", dtypes=["f32"], cases=60, progress=told.append, out=folder)
            self.assertTrue(told)
            self.assertLessEqual(told[0].done, told[-1].done)
            self.assertTrue(all(0 <= p.done <= p.total and p.total >= 60 for p in told), told)
            self.assertRegex(str(told[-1]), r"^relu: \d+ of \d+ cases.*, \d+ s$")
        with self.assertRaisesRegex(TypeError, "progress=3"):
            assay.verify(relu, "relu", cases=1, progress=3)

    def test_a_line_is_written_where_it_is_wanted(self):
        for wanted, there in (("True", True), ("None", False), ("False", False)):
            said = self.interrupted(wanted)[1]
            self.assertEqual(bool(re.search(r"relu: \d+ of 2,\d+ cases", said)), there, said)

    def interrupted(self, wanted="None"):
        with tempfile.TemporaryDirectory() as folder:
            process = subprocess.Popen([sys.executable, "-c", self.PROGRAM % wanted, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       start_new_session=True)
            process.stdout.readline()
            while not any("add" in p.read_text()[-100_000:] for p in Path(folder).glob("*.journal")):
                time.sleep(0.05)
            time.sleep(0.3)
            begin = time.monotonic()
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            out, err = process.communicate(timeout=60)
            self.seconds = time.monotonic() - begin
            kept = json.loads(Path(folder, "run.json").read_text())
        return out, err, kept

    def test_an_interrupt_leaves_what_was_judged(self):
        out, err, kept = self.interrupted()
        words = out.split()
        self.assertEqual((words[0], words[3]), ("Interrupted", "True"), out + err)
        self.assertGreater(int(words[1]), 0)
        self.assertFalse(kept["complete"])
        self.assertEqual(kept["results"][0]["judged"], int(words[1]))
        self.assertLess(self.seconds, 2 if os.getloadavg()[0] < os.cpu_count() else 20)


class WrongUsage(Quiet):
    def test_names_what_is_wrong(self):
        with self.assertRaisesRegex(assay.UsageError, "did you mean \"relu\""):
            self.verify(kernels.relu, "rellu")
        with self.assertRaisesRegex(assay.UsageError, "has a parameter `y` that is none of"):
            self.verify(kernels.takes_too_much)
        with self.assertRaisesRegex(assay.UsageError, "has no parameter for `Tensor mat2`"):
            self.verify(lambda a: a, "mm")
        with self.assertRaisesRegex(TypeError, "of which operator is relu"):
            assay.verify(kernels.relu)
        with self.assertRaisesRegex(assay.UsageError, "tensors='cupy'"):
            self.verify(kernels.relu, tensors="cupy")

    def test_a_result_is_no_truth_value(self):
        with self.assertRaisesRegex(TypeError, "write `.ok`"):
            bool(self.verify(kernels.relu, cases=1))

    def run_program(self, *words):
        return subprocess.run([program(), "verify", *words, "--impl", "plugin:*", "--out", self.out], capture_output=True, text=True,
                              env=dict(os.environ, ASSAY_PYTHON=sys.executable))

    def test_of_files(self):
        self.assertIn("there is no such file", self.run_program("relu", "--python", "nowhere.py:f").stderr)
        self.assertIn("has no 'rellu'; it has", self.run_program("relu", "--python", kernels.__file__ + ":rellu").stderr)
        broken = Path(self.out, "broken.py")
        broken.write_text("import nothing_like_it\n")
        said = self.run_program("relu", "--python", f"{broken}:f")
        self.assertEqual(said.returncode, 2)
        self.assertIn("No module named 'nothing_like_it'", said.stderr)
        self.assertIn("broken.py:1", said.stderr)
        several = self.run_program("relu", "silu", "--python", kernels.__file__ + ":zeros")
        self.assertEqual(several.returncode, 2)
        self.assertIn("of which operator is it?", several.stderr)


class Schemas(unittest.TestCase):
    def test_are_read(self):
        s = Schema.parse("softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
        self.assertEqual([(a.name, a.type, a.default) for a in s.arguments],
                         [("self", "Tensor", None), ("dim", "int", None), ("dtype", "ScalarType?", "None")])
        s = Schema.parse("aten::f(Tensor a, int[2] stride=[1,1], *, str mode=\"none\", float eps=1e-05) -> (Tensor, Tensor b)")
        self.assertEqual((s.name, s.results), ("f", 2))
        self.assertEqual([a.keyword_only for a in s.arguments], [False, False, True, True])
        self.assertTrue(s.arguments[1].is_default([1, 1]))
        self.assertFalse(s.arguments[1].is_default([1, 2]))
        self.assertTrue(s.arguments[2].is_default("none"))
        self.assertTrue(s.arguments[3].is_default(1e-5))
        self.assertFalse(s.arguments[0].is_default(3))
        graph = Schema.parse("assay::swiglu(Tensor g, Tensor u) -> Tensor { mul(silu(g), u) }")
        self.assertEqual((graph.name, graph.results, len(graph.arguments)), ("swiglu", 1, 2))

    def test_are_found(self):
        all_ = [Schema.parse(f"{n}(Tensor self) -> Tensor") for n in ("softmax.int", "add.Tensor", "div.Tensor", "div.Tensor_mode")]
        self.assertEqual(find(all_, "aten::add").name, "add.Tensor")
        with self.assertRaisesRegex(LookupError, "is it div.Tensor or div.Tensor_mode"):
            find(all_, "div")
        with self.assertRaisesRegex(LookupError, "near are softmax.int"):
            find(all_, "softmax.in")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
