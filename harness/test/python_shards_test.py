#!/usr/bin/python3
"""assay.verify(executor=..., shards=N): what the parts come to is what one run comes to.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_shards_test.py [TEST ...]

Exit code 77: NumPy is not here.
"""

import functools
import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import assay
import python_test_kernels as kernels
from assay._function import KernelOptions
from assay._program import program
from assay._shards import travels_by_name

FEW = {"dtypes": ["f32"], "cases": 36, "seed": 3, "jobs": 1}
PARTS = 3  # of 16, 16 and 4 calls


class Here(Executor):
    """Runs each task when it is submitted, and keeps what it was given."""

    def __init__(self):
        self.tasks = []

    def submit(self, function, *arguments):
        self.tasks.append(arguments)
        future = Future()
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future


def rows(r):
    """What a run says of each row, in whatever order it came to it."""
    kept = ("op", "impl", "dtype", "verdict", "cases", "counts", "judged", "asked", "elements", "worst", "worst_case", "classes")
    return [{k: row.get(k) for k in kept} for row in r.run["results"]]


def told(r):
    return {(f.kind, f.case, f.detail, f.cause) for f in r.failures}


def twice_relu(x):
    return kernels.relu(x) + kernels.relu(x)


class Shards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "out"

    def verify(self, function, op="relu", **options):
        return assay.verify(function, op, **{"out": self.out, **FEW, **options})

    def assert_same(self, whole, parts):
        self.assertEqual(rows(whole), rows(parts))
        self.assertEqual((whole.ok, whole.judged, whole.refused, whole.cause), (parts.ok, parts.judged, parts.refused, parts.cause))
        # Each part keeps the first failures of its own calls, so the parts have those of the whole and others.
        self.assertLessEqual(told(whole), told(parts))
        self.assertIsNone(parts.run["shard"])
        self.assertTrue(parts.run["complete"])


class Equal(Shards):
    def test_of_threads_and_of_processes(self):
        for function, pools in ((kernels.leaky, [ThreadPoolExecutor(2)]),
                                (kernels.relu, [ProcessPoolExecutor(2), ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))])):
            whole = self.verify(function)
            self.assertEqual(whole.ok, function is kernels.relu)
            for pool in pools:
                with self.subTest(function=function.__name__, pool=pool), pool:
                    self.assert_same(whole, self.verify(function, executor=pool, shards=PARTS))

    def test_of_a_function_that_is_sent_itself(self):
        for function, pool in ((lambda x: kernels.relu(x), ThreadPoolExecutor(PARTS)),  # forks in several threads at a time
                               (functools.partial(kernels.relu), ProcessPoolExecutor(2))):
            with self.subTest(pool=pool), pool:
                self.assert_same(self.verify(function), self.verify(function, executor=pool, shards=PARTS))

    def test_of_more_parts_than_calls(self):
        whole = self.verify(kernels.relu)
        self.assert_same(whole, self.verify(kernels.relu, executor=Here(), shards=9))

    def test_of_calls_that_are_named_and_of_graphs(self):
        named = {"cases": [f"relu:f32:self={n}:seed=1" for n in range(1, 8)], "dtypes": None}
        whole = self.verify(kernels.relu, **named)
        self.assertEqual(whole.judged, 7)
        self.assert_same(whole, self.verify(kernels.relu, executor=Here(), shards=2, **named))
        self.assert_same(whole, self.verify(lambda x: kernels.relu(x), name="relu", executor=Here(), shards=2, **named))
        double = assay.graph("assay::double_relu(Tensor x) -> Tensor { relu(x) + relu(x) }")
        whole = self.verify(twice_relu, double)
        self.assertTrue(whole.ok, whole)
        self.assert_same(whole, self.verify(twice_relu, double, executor=Here(), shards=2))

    def test_with_options_that_the_function_does_not_declare(self):
        for options in ({"contract": "strict"}, {"refuses": lambda x: "no vectors" if x.ndim == 1 else ""}, {"name": "other"}):
            with self.subTest(options):
                whole, parts = self.verify(kernels.relu, **options), self.verify(kernels.relu, executor=Here(), shards=2, **options)
                self.assertEqual([r["impl"] for r in whole.run["results"]], [r["impl"] for r in parts.run["results"]])
                self.assertEqual(whole.judged, parts.judged)
                self.assertEqual(whole.refused > 0, parts.refused > 0)
                self.assertEqual("refuses" in options, parts.refused > 0)


class Files(Shards):
    def test_come_back_and_are_replayed(self):
        for n in (1, 2):  # the second run keeps the files of the first
            r = self.verify(kernels.leaky, executor=Here(), shards=2)
            for f in r.failures:
                self.assertEqual(Path(f.replay).parent, self.out)
                self.assertTrue(Path(f.replay).exists(), f)
            self.assertEqual(len({f.replay for f in r.failures}), len(r.failures))
            self.assertEqual(len(list(self.out.glob("*.h5"))), n * len(r.failures))
        self.assertIn(r.failures[0].replay, r.text)
        self.assertEqual(json.loads((self.out / "run.json").read_text()), r.run)
        self.assertTrue((self.out / "run-2.json").exists())
        again = subprocess.run([program(), "replay", r.failures[0].replay, "--python", f"relu={kernels.__file__}:leaky"],
                               capture_output=True, text=True, env=dict(os.environ, ASSAY_PYTHON=sys.executable))
        self.assertEqual(again.returncode, 1, again.stderr)


class HowItTravels(Shards):
    def test_by_name_or_itself(self):
        strict = KernelOptions("relu", contract="strict")
        declared = KernelOptions("relu", "strict", name="marked")
        for function, options, by_name in (
                (kernels.relu, KernelOptions("relu"), True), (kernels.relu, strict, False), (kernels.relu_marked, declared, True),
                (kernels.relu_marked, KernelOptions("relu"), False), (lambda x: x, KernelOptions("relu"), False),
                (functools.partial(kernels.relu), KernelOptions("relu"), False)):
            with self.subTest(function=function, options=options):
                self.assertEqual(travels_by_name(function, options), by_name)
        here = Here()
        self.verify(kernels.relu, cases=1, dtypes=["f32"], executor=here, shards=2)
        self.assertEqual([(task.spec, task.function, shard) for task, shard in here.tasks],
                         [(f"relu={kernels.__file__}:relu", None, "1/2"), (f"relu={kernels.__file__}:relu", None, "2/2")])

    def test_a_program_without_a_guard_is_not_run_again(self):
        script = self.folder / "script.py"
        script.write_text(textwrap.dedent(f"""
            import sys
            sys.path[:0] = {sys.path!r}
            from concurrent.futures import ThreadPoolExecutor
            import assay, numpy

            def relu(x):
                return numpy.where(x < 0, x.dtype.type(0), x)

            print("begins")
            r = assay.verify(relu, "relu", dtypes=["f32"], cases=20, executor=ThreadPoolExecutor(2), shards=2, out={str(self.out)!r})
            print(r.ok, r.judged)
        """))
        ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
        self.assertEqual((ran.stdout, ran.returncode), ("begins\nTrue 20\n", 0), ran.stderr)


class WrongUsage(Shards):
    def test_what_cannot_be_sent_is_said(self):
        with ProcessPoolExecutor(1) as pool, self.assertRaisesRegex(TypeError, "(?s)ProcessPoolExecutor cannot send <lambda>: .*is sent by its name"):
            self.verify(lambda x: x, executor=pool, shards=2)

    def test_an_error_of_the_program_is_raised(self):
        with ProcessPoolExecutor(1) as pool, self.assertRaisesRegex(assay.UsageError, "did you mean \"relu\""):
            self.verify(kernels.relu, "rellu", executor=pool, shards=2)
        with self.assertRaisesRegex(assay.UsageError, "has a parameter `y` that is none of"):
            self.verify(kernels.takes_too_much, executor=Here(), shards=2)

    def test_how_many(self):
        for options, says in (({"executor": Here()}, "Here does not say how many"), ({"executor": Here(), "shards": 0}, "write a number from 1"),
                              ({"shards": 2}, "goes with executor"), ({"executor": Here(), "shards": 2, "shard": "1/2"}, "goes with executor")):
            with self.subTest(options), self.assertRaisesRegex(TypeError, says):
                self.verify(kernels.relu, **options)
        with ThreadPoolExecutor(2) as pool:
            self.assertEqual(self.verify(kernels.relu, cases=20, executor=pool).judged, 20)

    def test_a_fault_of_one_part_is_a_fault(self):
        with self.assertRaisesRegex(AssertionError, "leaky_relu"):
            assay.check(kernels.leaky, "relu", out=self.out, executor=Here(), shards=2, cases=20, dtypes=["f32"])


if __name__ == "__main__":
    unittest.main()
