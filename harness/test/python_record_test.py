#!/usr/bin/python3
"""assay.record: a block's calls, in the trace that `assay record` would write of them.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_record_test.py [TEST ...]

Exit code 77: PyTorch or h5py is not here.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("h5py") is None:
    print("not run: PyTorch or h5py is not here")
    raise SystemExit(77)

import h5py
import torch

import assay
from assay._program import program

MODEL = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 5)).eval()
x = torch.randn(2, 3, 8, 8)
"""


class Recorded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        names = {}
        exec(MODEL, names)
        self.net, self.x = names["net"], names["x"]

    def recorded(self, function, name="trace.h5", **options):
        with assay.record(self.folder / name, **options) as trace, torch.no_grad():
            function()
        return trace

    def contents(self, path):
        """Everything but where the calls stand in which program."""
        found = {}
        with h5py.File(path, "r") as file:
            def note(name, item):
                attributes = {k: v for k, v in item.attrs.items() if k != "source"}
                found[name] = (attributes, item[()].tobytes() if isinstance(item, h5py.Dataset) else b"")
            file["calls"].visititems(note)
        return found

    def test_as_the_command_does(self):
        trace = self.recorded(lambda: self.net(self.x))
        script = self.folder / "program.py"
        script.write_text(MODEL + "with torch.no_grad():\n    net(x)\n")
        done = subprocess.run([program(), "record", str(script), "-o", str(self.folder / "other.h5")], capture_output=True, text=True,
                              env={**os.environ, "ASSAY_TORCH_PYTHON": sys.executable})
        self.assertEqual(done.returncode, 0, done.stderr)
        # The command sees the numbers of the program be made, too; a block that begins later does not.
        theirs = {k: v for k, v in self.contents(self.folder / "other.h5").items()}
        ours = self.contents(trace.path)
        named = {v[0]["name"]: k for k, v in theirs.items() if "name" in v[0]}
        self.assertGreaterEqual(len(trace.calls), 4)
        for place, (attributes, _) in list(ours.items()):
            if "name" in attributes:
                there = named[attributes["name"]]
                own = {k[len(place):]: v for k, v in ours.items() if k.startswith(place + "/") and "actual" in k}
                self.assertEqual(own, {k[len(there):]: v for k, v in theirs.items() if k.startswith(there + "/") and "actual" in k})
                self.assertEqual({k: str(v) for k, v in attributes.items() if not k.startswith(("from", "through"))},
                                 {k: str(v) for k, v in theirs[there][0].items() if not k.startswith(("from", "through"))})

    def test_calls_have_names_and_places(self):
        calls = self.recorded(lambda: self.net(self.x)).calls
        self.assertEqual([c.name for c in calls], ["0/convolution", "1/native_batch_norm", "2/relu", "4/addmm"])
        self.assertTrue(all(c.source.startswith(os.path.relpath(__file__)) for c in calls), calls)

    def test_right_results_are_right_and_an_engine_is_bisected(self):
        trace = self.recorded(lambda: self.net(self.x))
        self.assertTrue(trace.diagnose().ok, trace.diagnose())
        import numpy

        with h5py.File(trace.path) as file:
            convolution = file["calls/0/actual/out"][()]
        numpy.savez(self.folder / "dump.npz", **{"0": convolution, "2": numpy.abs(convolution)})
        done = subprocess.run([program(), "bisect", os.fspath(trace), str(self.folder / "dump.npz")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("2/relu", done.stdout)

    def test_everything_is_as_before(self):
        before = (vars(torch.Tensor).get("__new__"), torch.Tensor.as_subclass, torch.nn.Module.__call__, threading._start_new_thread)
        with self.assertRaisesRegex(ValueError, "mine"):
            with assay.record(self.folder / "trace.h5") as trace:
                torch.relu(self.x)
                with self.assertRaisesRegex(assay.CannotRecord, "one trace is recorded at a time"):
                    assay.record(self.folder / "second.h5").__enter__()
                with self.assertRaisesRegex(assay.CannotRecord, "after the block"):
                    trace.calls
                raise ValueError("mine")
        self.assertEqual([c.op for c in trace.calls], ["relu"])
        self.assertEqual(before, (vars(torch.Tensor).get("__new__"), torch.Tensor.as_subclass, torch.nn.Module.__call__, threading._start_new_thread))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["trace.h5"])
        torch.relu(self.x)
        self.assertEqual(len(trace.calls), 1)

    def test_of_other_threads_and_of_some_operators(self):
        def both():
            thread = threading.Thread(target=lambda: torch.relu(self.x))
            thread.start()
            thread.join()
            torch.exp(self.x)

        self.assertEqual([c.op for c in self.recorded(both).calls], ["relu", "exp"])
        trace = self.recorded(both, ops=["ex*"])
        self.assertEqual([c.op for c in trace.calls], ["exp"])
        self.assertEqual(trace.passed, {"not of --ops": 1})
        self.assertIn("1 call: exp\n  1 not recorded: not of --ops", str(trace))
        self.assertEqual(self.recorded(both, limit=10).calls, [])

    def test_a_place_that_cannot_be_written(self):
        with self.assertRaisesRegex(assay.CannotRecord, "cannot be written"):
            assay.record(self.folder / "no" / "trace.h5").__enter__()
        self.assertIsNone(assay.Trace._running)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
