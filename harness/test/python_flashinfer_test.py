#!/usr/bin/python3
"""assay.flashinfer on definitions and solutions as FlashInfer-Bench and SOL-ExecBench write them.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_flashinfer_test.py [TEST ...]

Exit code 77: PyTorch is not here.
"""

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("torch") is None:
    print("not run: PyTorch is not here")
    raise SystemExit(77)

import assay
from assay.flashinfer import main, of_folder

REFERENCE = """
import torch

@torch.no_grad()
def run(hidden_states, weight):
    batch_size, hidden_size = hidden_states.shape
    assert hidden_size == 48
    x = hidden_states.to(torch.float32)
    inverse = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (x * inverse * weight.to(torch.float32)).to(hidden_states.dtype)
"""


def definition(dtype="float32", **changed):
    hidden = {"shape": ["batch_size", "hidden_size"], "dtype": dtype}
    return {"name": "rmsnorm_h48", "op_type": "rmsnorm", "axes": {"batch_size": {"type": "var"}, "hidden_size": {"type": "const", "value": 48}},
            "inputs": {"hidden_states": hidden, "weight": {"shape": ["hidden_size"], "dtype": dtype}}, "outputs": {"output": hidden},
            "reference": REFERENCE, **changed}


BODY = "    x = hidden_states.float()\n    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + {eps}) * weight.float()\n"


def solution(name="mine", eps="1e-5", returns=True, **spec):
    head = "import torch\ndef run(hidden_states, weight{}):\n".format("" if returns else ", output")
    tail = "    return y.to(hidden_states.dtype)\n" if returns else "    output.copy_(y.to(hidden_states.dtype))\n"
    return {"name": name, "definition": "rmsnorm_h48", "author": "me",
            "spec": {"language": "python", "target_hardware": ["cpu"], "entry_point": "src/main.py::run", "destination_passing_style": not returns, **spec},
            "sources": [{"path": "src/main.py", "content": head + BODY.format(eps=eps) + tail}]}


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, document):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def judged(self, solved, defined=None, **options):
        return assay.flashinfer(self.file("definition.json", defined or definition()), self.file("solution.json", solved), out=self.folder / "out", **options)

    def test_right_ones_pass_and_wrong_ones_do_not(self):
        for dtype in ("float32", "bfloat16"):
            for returns in (True, False):
                for eps, ok in (("1e-5", True), ("1e-3" if dtype == "float32" else "1.0", False)):
                    with self.subTest(dtype=dtype, returns=returns, eps=eps):
                        result = self.judged(solution(eps=eps, returns=returns), definition(dtype))
                        self.assertEqual(result.ok, ok, result)
                        self.assertGreater(result.judged, 5)

    def test_a_result_of_before_is_found(self):
        cached = solution()
        cached["sources"][0]["content"] += "\nown, kept = run, {}\ndef run(hidden_states, weight):\n    return kept.setdefault(hidden_states.data_ptr(), own(hidden_states, weight))\n"
        self.assertFalse(self.judged(cached).ok)

    def test_sizes_and_numbers_are_those_of_the_workload(self):
        scaled = definition(reference="import torch\ndef run(x, scale):\n    return x * scale\n", name="rmsnorm_h48",
                            inputs={"x": {"shape": ["batch_size", "hidden_size"], "dtype": "float32"}, "scale": {"shape": None, "dtype": "float32"}})
        solved = solution()
        solved["sources"][0]["content"] = "def run(x, scale):\n    assert x.shape[1] == 48 and x.shape[0] <= 7\n    return x * scale\n"
        lines = "".join(json.dumps({"workload": {"uuid": "u", "axes": {"batch_size": n}, "inputs": {"x": {"type": "random"}, "scale": {"type": "scalar", "value": 0.3}}}}) + "\n"
                        for n in (900, 7))
        self.assertTrue(self.judged(solved, scaled, workloads=self.file("workload.jsonl", lines)).ok)
        with self.assertRaisesRegex(assay.NotJudged, "the number scale is in no workload"):
            self.judged(solved, scaled)

    def test_a_problem_of_sol_execbench(self):
        self.file("sol/definition.json", definition())
        self.file("sol/workload.jsonl", json.dumps({"uuid": "u", "axes": {"batch_size": 9}, "inputs": {}}) + "\n")
        sol = solution(languages=["pytorch"])
        del sol["spec"]["language"]
        self.assertTrue(assay.flashinfer(self.folder / "sol", self.file("solution.json", sol), out=self.folder / "out").ok)
        self.assertIn("rsqrt", str(assay.flashinfer(self.folder / "sol", out=self.folder / "out")))

    def test_what_is_not_judged_says_why(self):
        integers = definition(inputs={**definition()["inputs"], "indices": {"shape": ["batch_size"], "dtype": "int32"}})
        mixed = definition(inputs={**definition()["inputs"], "weight": {"shape": ["hidden_size"], "dtype": "bfloat16"}})
        for solved, defined, says in ((solution(language="cuda"), None, "its language is cuda"), (solution(), integers, "indices is of dtype int32"),
                                      (solution(), mixed, "bfloat16 and float32; those of one dtype"),
                                      (solution(), definition(axes={"batch_size": {"type": "expr"}, "hidden_size": {"type": "const", "value": 48}}), "of type 'expr'")):
            with self.subTest(says), self.assertRaisesRegex(assay.NotJudged, says):
                self.judged(solved, defined)

    def test_wrong_files(self):
        outside = solution()
        outside["sources"][0]["path"] = "../main.py"
        for solved, says in ((outside, "lies outside of the solution"), (solution(entry_point="main.py"), "write FILE::FUNCTION"),
                             ({**solution(), "definition": "gemm"}, "is for gemm"), ({"name": "x"}, "is no solution: it has no definition, spec, sources")):
            with self.subTest(says), self.assertRaisesRegex(assay.WrongProblem, says):
                self.judged(solved)
        self.assertFalse((self.folder / "out" / "flashinfer" / "main.py").exists())

    def test_a_folder(self):
        self.file("set/definitions/rmsnorm/rmsnorm_h48.json", definition())
        for name, eps in (("good", "1e-5"), ("bad", "1e-3")):
            self.file(f"set/solutions/me/{name}.json", solution(name, eps))
        self.file("set/solutions/me/fast.json", solution("fast", language="cuda"))
        rows = of_folder(self.folder / "set", out=self.folder / "out")
        self.assertEqual([(r.solution, r.verdict) for r in rows], [("bad", "fault"), ("fast", "not judged"), ("good", "pass")])
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(main([str(self.folder / "set"), "--out", str(self.folder / "out")]), 1)
        self.assertIn("3 solutions: 1 pass, 1 at fault, 1 not judged", said.getvalue())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
