#!/usr/bin/python3
"""What a report calls a function is what the command line finds again.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_found_test.py [TEST ...]

Exit code 77: NumPy is not here.
"""

import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("numpy") is None:
    print("not run: NumPy is not here")
    raise SystemExit(77)

import assay
import python_test_kernels as kernels
from assay._program import program
from assay.verify import spec_of


class Found(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_what_a_function_wraps_is_another_one(self):
        self.assertEqual(spec_of(kernels.relu, "relu"), f"relu={kernels.__file__}:relu")
        for function in (functools.partial(kernels.takes_too_much, y=1), functools.wraps(kernels.relu)(lambda x: kernels.leaky(x)), lambda x: x):
            self.assertTrue(spec_of(function, "relu").startswith("relu=__main__:"), function)

    def test_a_file_of_a_package_imports_what_is_relative_to_it(self):
        inner = self.folder / "kernels_of_a_package/inner"
        inner.mkdir(parents=True)
        for file, text in {"../__init__.py": "", "../base.py": "import numpy\n\ndef relu(x):\n    return numpy.where(x < 0, x.dtype.type(0), x)\n",
                           "__init__.py": "", "wrong.py": "from ..base import relu as right\n\ndef relu(x):\n    return -right(x)\n"}.items():
            (inner / file).write_text(text)
        r, _ = self.run_program("relu", "--python", inner / "wrong.py:relu")
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertIn("diverged in", r.stdout)

    def run_program(self, *words):
        r = subprocess.run([program(), "verify", *words, "--impl", "plugin:*", "--dtype", "f32", "--cases", "4", "--out", self.folder / "out", "--json",
                            self.folder / "run.json"], capture_output=True, text=True,
                           env=dict(os.environ, ASSAY_PYTHON=sys.executable, PYTHONPATH=os.pathsep.join(sys.path[:2])))
        rows = json.loads((self.folder / "run.json").read_text())["results"] if r.returncode in (0, 1) else []
        return r, [(row["op"], row["impl"]) for row in rows]

    def test_marked_functions_are_kernels_of_what_they_say(self):
        file = self.folder / "marked.py"
        file.write_text("import assay, python_test_kernels\n"
                        "relu = other_name = assay.kernel('relu')(lambda x: python_test_kernels.relu(x))\n"
                        "softmax = assay.kernel('softmax.int', name='mine')(lambda x, dim: python_test_kernels.softmax(x, dim))\n")
        relu, softmax = ("relu", "plugin:<lambda>"), ("softmax.int", "plugin:mine")
        for words, expected in (([], [relu, softmax]), (["relu"], [relu]), (["softmax"], [softmax]), (["*elu", "softmax*"], [relu, softmax])):
            with self.subTest(words):
                r, rows = self.run_program(*words, "--python", file)
                self.assertEqual((r.returncode, rows), (0, expected), r.stderr)
        r, _ = self.run_program("sigmoid", "--python", file)
        self.assertEqual(r.returncode, 2)
        self.assertIn("its functions are kernels of relu, softmax.int, and none of sigmoid", r.stderr)
        r, rows = self.run_program("sigmoid", "--python", f"{file}:relu")  # named, it is what the command says
        self.assertEqual((r.returncode, rows), (1, [("sigmoid", "plugin:<lambda>")]), r.stderr)

    def test_a_seed_is_that_of_every_run(self):
        seeds = [assay.verify(kernels.relu, "relu", dtypes=["f32"], out=self.folder, seed=7, **options).run["seed"]
                 for options in ({"thorough": True}, {"cases": 4}, {"time": 1})]
        self.assertEqual(seeds, [7, 7, 7])

    def test_a_refusal_is_told_in_one_way(self):
        r = assay.verify(kernels.softmax, "softmax.int", dtypes=["bf16", "f32"], out=self.folder, cases=100)
        reasons = {reason for row in r.run["results"] for reason in row["refused"]}
        self.assertTrue(any("takes no argument dtype" in reason for reason in reasons), reasons)
        self.assertFalse([reason for reason in reasons if reason.startswith("Unsupported")], reasons)


if __name__ == "__main__":
    unittest.main()
