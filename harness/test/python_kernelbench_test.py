#!/usr/bin/python3
"""assay.kernelbench on problems and solutions of its own: right ones pass, wrong ones are found, and nothing that a solution says is believed.

    ASSAY_PROGRAM=build/dev/bin/assay PYTHONPATH=harness/python python_kernelbench_test.py [TEST ...]

Exit code 77: PyTorch is not here.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

if importlib.util.find_spec("torch") is None:
    print("not run: PyTorch is not here")
    raise SystemExit(77)

import torch

import assay
from assay import _draws, _problem, _solution
from assay._function import KernelOptions
from assay._program import program

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
        self.scale = torch.nn.Parameter(torch.ones(features))
    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale
features = 4
def get_inputs():
    return [torch.rand(3, features)]
def get_init_inputs():
    return [features]
"""

SOLUTION = """
import torch
from problem import Model
class ModelNew(Model):
    def forward(self, x):
        y = super().forward(x)
        return {}
"""


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.problem = self.file("problem", PROBLEM)

    def file(self, name, text):
        path = self.folder / f"{name}.py"
        path.write_text(text)
        return str(path)

    def judged(self, solution, problem=None, **options):
        return assay.kernelbench(problem or self.problem, self.file("solution", solution), out=self.folder / "out", **options)


class Sizes(Files):
    def shapes(self, text):
        return [tuple(s.inputs[0].shape) for s in _problem.sizes_of(self.file("sized", text))]

    def test_are_halved(self):
        self.assertEqual(self.shapes(PROBLEM.replace("= 4", "= 3000").replace("(3,", "(96,")), [(48, 46), (12, 11), (3, 5)])
        self.assertEqual(self.shapes(PROBLEM), [(3, 4)])

    def test_what_halving_parts_is_put_together_again(self):
        groups = """
import torch
class Model(torch.nn.Module):
    def __init__(self, channels, groups):
        super().__init__()
        self.norm = torch.nn.GroupNorm(groups, channels)
    def forward(self, x):
        return self.norm(x)
channels = 24
groups = 8
def get_inputs():
    return [torch.rand(2, channels, 1 << 10, 1 << 3)]
def get_init_inputs():
    return [channels, groups]
"""
        self.assertIn((2, 12), [s[:2] for s in self.shapes(groups)])

    def test_those_that_are_too_large_are_not_made(self):
        text = PROBLEM.replace("torch.rand(3, features)", "torch.rand(3, features) if features < 5 else 1 / 0").replace("= 4", "= 4096")
        self.assertEqual(self.shapes(text), [(3, 4)])
        with self.assertRaisesRegex(assay.WrongProblem, "elements at the least"):
            self.shapes(PROBLEM.replace("torch.nn.Linear(features, features)", "torch.nn.Linear(features, 1 << 19)"))

    def test_a_problem_that_fails_says_where(self):
        for text, says in ((PROBLEM.replace("def get_inputs", "def get_input"), "has no get_inputs"),
                           (PROBLEM.replace("torch.relu", "torch.rellu"), r"sized\.py:9: AttributeError"),
                           (PROBLEM.replace("def forward(self, x):", "def forward(self, x)"), r"sized\.py:8: expected ':'")):
            with self.assertRaisesRegex(assay.WrongProblem, says):
                self.shapes(text)


class Parameters(unittest.TestCase):
    def held(self, **shapes):
        return {n: _problem.Held(torch.zeros(s)) for n, s in shapes.items()}

    def pairs(self, ours, theirs):
        found = _solution.paired(list(ours), ours, theirs)
        return {n: next(k for k, h in theirs.items() if h is found[n]) for n in found}

    def test_are_paired(self):
        ours = self.held(weight=(4, 4), bias=(4,), scale=(4,))
        self.assertEqual(self.pairs(ours, self.held(scale=(4,), bias=(4,), weight=(4, 4))), {n: n for n in ours})
        self.assertEqual(self.pairs(ours, self.held(w=(4, 4), b=(4,), s=(4,))), {"weight": "w", "bias": "b", "scale": "s"})
        self.assertEqual(self.pairs(ours, self.held(w=(4, 4), bias=(4,), scale=(4,), more=(7,)))["weight"], "w")
        for theirs in (self.held(b=(4,), w=(4, 4), s=(4,)), self.held(w=(4, 4), b=(4,)), self.held()):
            with self.assertRaisesRegex(assay.WrongProblem, "ModelNew has nothing for the parameters .*bias \\[4\\]"):
                self.pairs(ours, theirs)

    def test_have_the_order_in_which_they_are_made(self):
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(2, 2)
                self.plain = torch.zeros(2)
                self.register_buffer("kept", torch.zeros(2))
                self.own = torch.nn.Parameter(torch.zeros(2))

        set_before = torch.nn.Module.__setattr__
        self.assertEqual(list(_problem.state(_problem.made(M))), ["linear_weight", "linear_bias", "plain", "kept", "own"])
        self.assertIs(torch.nn.Module.__setattr__, set_before)

    def test_that_modules_share_are_one(self):
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
                self.b.weight = self.a.weight

        model = M()
        _problem.state(model)["a_weight"].become(torch.ones(2, 2))
        self.assertTrue(torch.equal(model.b.weight, torch.ones(2, 2)))


class Draws(unittest.TestCase):
    def test_what_decides_nothing_is_left_out(self):
        cases = [([f"op:f32:x={n}:data=normal:seed=0", f"op:f32:x={n}:data=wide:seed=1"], n) for n in (8, 2)]
        for shares, left in (([[0, 1], [0, 1]], 2), ([[0, 1], []], 2), ([[0, 0], [0, 0]], 4), ([[1, 1], [1, 1]], 4), ([[], []], 4),
                             ([[0, 0], [0, 1]], 3)):
            with mock.patch.object(_draws, "_undecidable", side_effect=shares):
                kept, without = _draws.deciding(cases, "", "", {})
            self.assertEqual((len(kept), len(without)), (left, 4 - left), shares)
            self.assertTrue(all("wide" in c for c in without))

    def test_the_program_says_what_is_undecidable(self):
        norm = "assay::n(Tensor x) -> Tensor { x / sqrt(sum(x * x, [-1], true)) }"
        shares = _draws._undecidable([f"n:f32:x=2x3:data={d}:seed=0" for d in ("normal", "tiny")], norm, "strict")
        self.assertEqual(shares, [0, 1])

    def test_fields_of_a_dtype(self):
        self.assertEqual(_draws.fields("chain=any -- a\nf32,bf16: erf=1ulp -- b\nf16: compute=f16 -- c", "bf16"), "chain=any erf=1ulp")


class Contracts(unittest.TestCase):
    def test_gelu_of_torch_has_the_erf_of_its_library(self):
        gelu = "assay::g(Tensor x) -> Tensor { gelu(x) }"
        self.assertIn("erf=7e-7abs", KernelOptions(tensors="torch").clauses(None, gelu, False))
        self.assertNotIn("erf=7e-7abs", KernelOptions(tensors="numpy").clauses(None, gelu, False))
        self.assertNotIn("erf=7e-7abs", KernelOptions(tensors="torch").clauses(None, "assay::g(Tensor x) -> Tensor { erf(x) }", False))

    def test_functions_of_torch_keep_to_it(self):
        for op, function in (("gelu", lambda x: torch.nn.functional.gelu(x)), ("elu", lambda x: torch.nn.functional.elu(x))):
            cases = [f"{op}:f32:self=64x48:data={d}:seed=0" for d in ("normal", "tiny", "wide", "edge")]
            r = assay.verify(function, op, cases=cases, tensors="torch", out=tempfile.gettempdir())
            self.assertTrue(r.ok, r)


class Verdicts(Files):
    def test_a_right_one_passes(self):
        r = self.judged(SOLUTION.format("y"))
        self.assertTrue(r.ok, r)
        self.assertGreater(r.judged, 8)

    def test_wrong_ones_do_not(self):
        for what, result in {"a little more": "y * 1.001", "by address": "vars(self).setdefault(('k', x.data_ptr()), y)"}.items():
            with self.subTest(what):
                self.assertEqual(self.judged(SOLUTION.format(result)).status, 1)

    def test_a_solution_is_not_asked_what_it_promises(self):
        loose = "import assay._function as f\nf.KernelOptions.clauses = lambda *a, **k: 'compute=bf16 accumulate=bf16 -- mine'\n"
        self.assertEqual(self.judged(loose + SOLUTION.format("y * 1.001")).status, 1)

    def test_a_solution_may_refuse_nothing(self):
        refuses = """import assay._function
columns = lambda call: call.arguments[0].as_.tensor.contents.shape[1]
assay._function.Function.refusal = lambda self, call: "no" if columns(call) > 6 else ""
"""
        r = self.judged(refuses + SOLUTION.format("y"), self.file("problem", PROBLEM.replace("= 4", "= 12")))
        self.assertEqual(r.status, 1, r)
        self.assertIn("a solution may refuse none", r.text)

    def test_a_solution_refuses_by_no_numbers(self):
        refuses = """import assay._function, ctypes
first = lambda call: ctypes.c_float.from_address(call.arguments[0].as_.tensor.contents.data).value
assay._function.Function.refusal = lambda self, call: "no" if first(call) > 0 else ""
"""
        r = self.judged(refuses + SOLUTION.format("y"))
        self.assertEqual(r.status, 1, r)
        self.assertIn("its `refuses` read its input `x`", r.text)

    def test_a_solution_may_keep_no_kernel_back(self):
        hides = """import assay._worker, types
abi = assay._worker.abi
class Kernel:
    def __call__(self, size, flags, schema, *rest):
        return abi.Kernel(size, flags, b"relu(Tensor self) -> Tensor" if b"problem_problem_2" in schema else schema, *rest)
    def __mul__(self, n):
        return abi.Kernel * n
assay._worker.abi = types.SimpleNamespace(**{**vars(abi), "Kernel": Kernel()})
assay._worker.ctypes = types.SimpleNamespace(**{**vars(assay._worker.ctypes), "sizeof": lambda k, of=assay._worker.ctypes.sizeof: of(
    abi.Kernel if isinstance(k, Kernel) else k)})
"""
        problem = PROBLEM.replace("= 4", "= 12").replace("* self.scale", "* self.scale / x.shape[1]")
        r = self.judged(hides + SOLUTION.format("y"), self.file("problem", problem))
        self.assertEqual(r.status, 1, r)
        self.assertIn("were refused or not taken", r.text)

    def test_parameters_of_other_names(self):
        text = """
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w, self.b, self.s = torch.randn(n, n), torch.zeros(n), torch.ones(n)
    def forward(self, x):
        return torch.relu(x @ self.w.t() + self.b) * self.s
"""
        self.assertTrue(self.judged(text).ok)
        r = self.judged(text.replace("+ self.b) * self.s", "+ self.s) * self.b"))
        self.assertEqual(r.status, 1)
        self.assertIn("in the order in which they are made: s is scale, w is linear_weight, b is linear_bias", r.text)

    def test_a_failure_is_replayed_from_its_file(self):
        r = self.judged(SOLUTION.format("y * 1.001"))
        spec = f"problem_problem={self.folder / 'out' / 'problem_problem.py'}:problem_problem"
        self.assertIn(spec, " ".join(r.text.split()))
        again = subprocess.run([program(), "replay", r.failures[0].replay, "--plugin", spec], capture_output=True, text=True,
                               env=dict(os.environ, ASSAY_PYTHON=sys.executable))
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("now       plugin:ModelNew      diverged", again.stdout)

    def test_sizes_in_a_program_make_graphs_of_their_own(self):
        problem = PROBLEM.replace("= 4", "= 12").replace("torch.relu(self.linear(x))", "torch.relu(self.linear(x)).view(batch, features).div(features)")
        problem = problem.replace("(3, features)", "(batch, features)").replace("features = 12", "features = 12\nbatch = 2")
        r = self.judged(SOLUTION.format("y"), self.file("problem", problem))
        self.assertTrue(r.ok, r)
        self.assertEqual(len(r.run["results"]), 3, r)
        copied = problem.replace("class Model(", "class ModelNew(")
        self.assertEqual([_solution.as_small(_problem.parsed(self.file("solution", copied)), s).body[2].value.value
                          for s in _problem.sizes_of(self.problem)], [12, 6, 3])


class Complaints(Files):
    def test_name_the_place(self):
        for text, says in {
            "import torch\nclass ModelNew(torch.nn.Module)\n    pass\n": r"solution\.py:2: expected ':'",
            "class Modelnew: pass\n": r"solution\.py has no ModelNew",
            "import nothing_like_it\n": r"solution\.py:1: ModuleNotFoundError",
            SOLUTION.format("y") + "    def __init__(self): pass\n": r"solution\.py: TypeError: .*takes 1 positional argument",
            "import torch\nclass ModelNew(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n":
                r"solution\.py: ModelNew has nothing for the parameters .*linear_weight \[4x4\]",
        }.items():
            with self.subTest(text):
                with self.assertRaisesRegex((assay.UsageError, assay.WrongProblem), "^[^:]*" + says):
                    self.judged(text)

    @unittest.skipIf(torch.cuda.is_available(), "a device is here")
    def test_of_a_device_that_is_not_here(self):
        for text in (SOLUTION.format("y.cuda()"), SOLUTION.format("y") + "torch.zeros(1).cuda()\n"):
            with self.assertRaisesRegex(assay.NothingRan, "not run: no device"):
                self.judged(text)

    def test_a_command_line_that_is_wrong(self):
        done = subprocess.run([sys.executable, "-c", "from assay.kernelbench import main; raise SystemExit(main())", "nowhere.py"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "assay: [Errno 2] No such file or directory: 'nowhere.py'\n"))


class Rules(unittest.TestCase):
    def holds(self, module, inputs, cases):
        graph = assay.graph(module, inputs, name="g")
        r = assay.verify(lambda *x: module(*x), graph, cases=[f"g:f32:{c}" for c in cases], tensors="torch", out=tempfile.gettempdir())
        self.assertTrue(r.ok, r)

    def test_logsumexp_of_infinities_is_infinite(self):
        class M(torch.nn.Module):
            def forward(self, x):
                return torch.logsumexp(x, dim=1)

        self.holds(M(), [torch.ones(3, 5)], [f"x=3x5:data={d}:seed={k}" for d in ("normal", "special", "edge") for k in range(4)])

    def test_triangles_and_flips_are_put_together(self):
        class M(torch.nn.Module):
            def forward(self, x):
                return torch.triu(x, 1), torch.tril(x), torch.triu(x, -2), torch.tril(x, -5), torch.flip(x, [0, -1])

        self.holds(M(), [torch.ones(2, 3, 5)], [f"x=2x3x5:data={d}:seed=0" for d in ("normal", "special")])

    def test_average_of_three_dimensions_overflows_as_one_sum_does(self):
        for pool in (torch.nn.AvgPool3d(3, stride=2, padding=1), torch.nn.AvgPool3d((1, 2, 3))):
            self.holds(pool, [torch.ones(2, 2, 5, 5, 5)],
                       [f"input=2x2x5x5x5:data={d}:seed={k}" for d in ("normal", "edge", "integers") for k in range(3)])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
