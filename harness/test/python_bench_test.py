#!/usr/bin/python3
"""assay.bench: what is timed is right, whoever holds the clock. How long things take is no matter here.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_bench_test.py [TEST ...]

Exit code 77: NumPy is not here.
"""

import importlib.util
import os
import sys
import time
import unittest

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import numpy as np

import assay

X = np.random.default_rng(0).normal(size=(8, 33)).astype("f4")


def relu(x):
    return np.where(x < 0, np.float32(0), x)


_first = {}


def cached(x):
    return _first.setdefault(x.ctypes.data, relu(x))


def without_a_clock(x):
    time.perf_counter = time.monotonic = lambda: 0.0
    return relu(x)


class Timing(unittest.TestCase):
    def bench(self, *args, **functions):
        return assay.bench(functions, "relu", *(args or [X]), rounds=10)

    def test_right_functions_have_a_ratio_with_its_interval(self):
        r = self.bench(mine=relu, same=relu)
        self.assertTrue(r.ok, r)
        self.assertEqual((r["mine"].ratio, r["mine"].low, r["mine"].high), (1, 1, 1))
        self.assertTrue(0 < r["same"].low <= r["same"].ratio <= r["same"].high)
        self.assertGreater(r["same"].seconds, 0)
        self.assertEqual([row["name"] for row in r.to_dict()["rows"]], ["mine", "same"])

    def test_a_function_that_gives_an_earlier_result_again_is_not_right(self):
        r = self.bench(mine=relu, cached=cached, nothing=lambda x: None, zeros=np.zeros_like)
        self.assertFalse(r.ok)
        self.assertEqual([r[n].verdict for n in ("mine", "cached", "nothing", "zeros")], ["pass", "diverged", "no result", "diverged"])
        self.assertIn("NOT RIGHT", str(r))

    def test_the_clock_is_not_the_functions(self):
        r = self.bench(mine=relu, other=without_a_clock)
        self.assertGreater(r["other"].seconds, 0)
        self.assertNotEqual(time.perf_counter(), 0.0)

    def test_whole_numbers_may_be_indices(self):
        table = np.arange(12, dtype="f4").reshape(4, 3)
        r = assay.bench({"mine": lambda weight, indices: weight[indices]}, "embedding", table, np.array([3, 0, 1]), rounds=10)
        self.assertTrue(r.ok, r)

    def test_inputs_of_the_caller_stay(self):
        before = X.copy()
        self.bench(mine=relu)
        self.assertTrue(np.array_equal(X, before))

    def test_what_goes_wrong_is_said(self):
        def ends(x):
            os._exit(3)

        for error, said, call in [(assay.ArgumentError, "mine raised ZeroDivisionError", lambda: self.bench(mine=lambda x: 1 / 0)),
                                  (assay.ArgumentError, "the process of mine ended", lambda: self.bench(mine=ends)),
                                  (assay.ArgumentError, "functions is empty", lambda: assay.bench({}, "relu", X)),
                                  (assay.ArgumentError, "rounds is 3", lambda: assay.bench({"mine": relu}, "relu", X, rounds=3)),
                                  (assay.UnknownOperator, "rellu", lambda: assay.bench({"mine": relu}, "rellu", X, rounds=10))]:
            with self.subTest(said), self.assertRaisesRegex(error, said):
                call()


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
