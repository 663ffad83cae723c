"""The pages and pictures of docs/ that the program makes: ci/pages writes them, ci/check/pages compares.

What a page says of our own kernels is the same on every machine. What it says of other libraries depends on their versions and on the
processor: such a section names these in a line "Of: ...", and is compared only where the program has the same ones.
"""

import re
import subprocess
import tempfile
from pathlib import Path

import program
import tree

MEASURED = "reports/runs/avx512.json.gz"

OF = "Of: "
# Libraries of kernels, by the first word of a kernel's name. torch has nearly everything, and stands last.
OURS, PEERS = ("cpu", "cuda"), ("onednn", "openblas", "torch")
INTEGERS = "i64 i32 i16 i8 u8"
# Where the table of fields begins in the help of ops, and its columns, which ops.cpp pads.
FIELDS, VALUES, MEANING = "Fields of a contract", 20, 49

NOTE = "<!-- Made by ci/pages from what the program says. Do not edit. -->\n"

OPERATORS = f"""# Operators
{NOTE}
`./assay ops` prints these tables; `./assay ops NAME` prints the kernels, contracts and refusals of one operator. *integers* are
{INTEGERS}. cuBLASLt and cuDNN, which need a GPU, are not listed.

Results on integers are exact, modulo 2^bits, and compared to the bit.

`native_batch_norm` in training has no running statistics, because PyTorch updates those in place, which its schema does not say. With
them, `_native_batch_norm_legit_functional` of PyTorch 2 gives the new ones as results; torch 1.13, which does not have it, is called as
`native_batch_norm` on copies.
"""

CONTRACTS = f"""# Contracts
{NOTE}
A contract is what a kernel promises about its numbers. Its clauses stand in the table of the kernel, each with the place that shows it:
`f32: exp=2ulp -- src/exp.c, tested over every float`. `./assay ops NAME --contracts` prints those of one operator.
"""

COMMAND_LINE = f"""# The command line
{NOTE}
`./assay COMMAND --help` prints these texts. In a checkout, type `./assay` for `assay`.
"""


def library(kernel):
    return kernel["impl"].split(".")[0]


def kernels_of(op, name):
    return [k for k in op["kernels"] if library(k) == name]


def code(text):
    """In a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def cell(op, name):
    """The dtypes that any kernel of the library runs."""
    run = {d for k in kernels_of(op, name) for d in k["dtypes"]}
    text = " ".join(d for d in op["dtypes"] if d in run)
    return re.sub(rf"\b{INTEGERS}\b", "integers", text) or "-"


def table(head, rows):
    return "\n".join("| " + " | ".join(r) + " |" for r in [head, ["---"] * len(head), *rows]) + "\n"


def basis(operators, name, versions):
    """What the section of a peer depends on: the library's version, and its kernels that cannot run here."""
    absent = sorted({k["impl"] for o in operators for k in kernels_of(o, name) if k["unavailable"]})
    return f"{OF}{versions.get(name, name)}" + (f", without {', '.join(absent)}" if absent else "") + "."


def versions_of(version_text, torch):
    """{library: "oneDNN 2.6.3"}, of what `assay --version` prints, and of what PyTorch says."""
    onednn = re.search(r"oneDNN +[\w.]+", version_text)
    return ({"onednn": " ".join(onednn[0].split())} if onednn else {}) | ({"torch": torch} if torch else {})


def operators_page(operators, versions):
    yield OPERATORS
    ours = [n for n in OURS if any(kernels_of(o, n) for o in operators)]
    yield "## Our kernels\n\n" + table(["operator", *ours], [[code(o["op"]), *[cell(o, n) for n in ours]] for o in operators])
    yield "## What each computes\n\n" + table(
        ["schema", "result", "shapes", "dtypes"],
        [[code(o["schema"]), o["formula"].replace("|", "\\|"), code(o["shapes"]), re.sub(rf"\b{INTEGERS}\b", "integers", " ".join(o["dtypes"]))]
         for o in operators])
    for name in PEERS:
        have = [o for o in operators if kernels_of(o, name)]
        if have:
            yield f"## {name}\n\n{basis(have, name, versions)}\n\n" + table(["operator", "dtypes"],
                                                                         [[code(o["op"]), cell(o, name)] for o in have])


def fields_table(ops_help):
    """The fields of a contract, as the help of `ops` has them."""
    lines = ops_help[ops_help.index(FIELDS):].splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("  "))
    rows = []
    for line in lines[begin:]:
        if not line.startswith("  "):
            break
        if line[2] == " ":  # a meaning goes on
            rows[-1][2] += " " + line.strip()
        elif line[MEANING - 1] != " ":  # values that take more than their column
            values = re.match(r"(?:\S+ \| )*\S+", line[VALUES:])[0]
            rows.append([line[:VALUES].strip(), values, line[VALUES + len(values):].strip()])
        else:
            rows.append([line[:VALUES].strip(), line[VALUES:MEANING].strip(), line[MEANING:].strip()])
    return " ".join(lines[:begin]) + "\n\n" + table(["field", "values", "meaning"], [[code(f), v.replace("|", "\\|"), m] for f, v, m in rows])


def clauses_of(kernel):
    """{(field, value, source): [dtypes]}"""
    said = {}
    for dtype, fields in kernel["contract"].items():
        for f in fields:
            said.setdefault((f["field"], f["value"], f["source"]), []).append(dtype)
    return said


def contracts_of(operators, name):
    """A row for each clause, with the operators whose kernels have it."""
    said = {}  # (clause, dtypes, source): {operator: kernels}
    for o in operators:
        for k in kernels_of(o, name):
            for (field, value, source), dtypes in clauses_of(k).items():
                whose = "all" if len(dtypes) == len(k["contract"]) else " ".join(dtypes).replace(INTEGERS, "integers")
                said.setdefault((f"{field}={value}", whose, source), {}).setdefault(o["op"], []).append(k["impl"])
    every = {o["op"]: [k["impl"] for k in kernels_of(o, name)] for o in operators}

    def of(kernels):
        return ", ".join(op + ("" if impls == every[op] else f" ({' '.join(impls)})") for op, impls in kernels.items())

    rows = [[code(clause), whose, of(kernels), source.replace("|", "\\|")] for (clause, whose, source), kernels in sorted(said.items())]
    return table(["clause", "dtypes", "operators", "source"], rows) if rows else "All are strict.\n"


def contracts_page(operators, versions, ops_help):
    yield CONTRACTS
    yield "## Fields\n\n" + fields_table(ops_help)
    for name in OURS:
        if any(kernels_of(o, name) for o in operators):
            yield f"## Our kernels: {name}\n\n" + contracts_of(operators, name)
    for name in PEERS:
        have = [o for o in operators if kernels_of(o, name)]
        if have:
            yield f"## {name}\n\n{basis(have, name, versions)}\n\n" + contracts_of(have, name)


def commands(help_text):
    body = help_text[help_text.index("Subcommands:"):]
    return re.findall(r"^  (\w+) ", body.split("\n\n")[0], re.MULTILINE)


def command_line_page(say):
    yield COMMAND_LINE
    top = say("--help")
    yield "## assay\n\n```text example\n" + top.strip() + "\n```\n"
    for name in commands(top):
        yield f"## {name}\n\n```text example\n" + say(name, "--help").strip() + "\n```\n"


def pages(facts, say):
    """{path: text}. `facts`: those of program.py; `say(*words)`: what the program prints for them."""
    operators, versions = facts["operators"], versions_of(say("--version"), facts["torch"])
    made = {"docs/operators.md": operators_page(operators, versions),
            "docs/contracts.md": contracts_page(operators, versions, say("ops", "--help")),
            "docs/command-line.md": command_line_page(say)}
    return {path: "\n".join(parts) for path, parts in made.items()}


def sections(text):
    """{title: its text}; what stands before the first has the title ""."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return {"": parts[0].strip()} | {parts[i]: parts[i + 1].strip() for i in range(1, len(parts), 2)}


def stale(path, kept, made):
    """(violations, sections that cannot be compared here) of a page that is kept, beside the one that the program makes."""
    old, new, found, apart = sections(kept), sections(made), [], []
    of = lambda text: next((line for line in text.splitlines() if line.startswith(OF)), None)
    for title in [*new, *[t for t in old if t not in new]]:
        ours, theirs = new.get(title), old.get(title)
        if ours is None and of(theirs):
            apart.append(f"{path}, {title}: that library is not here")
        elif ours is None:
            found.append(f"{path}: nothing of the program is section {title!r}: ci/pages writes the page")
        elif theirs is not None and of(theirs) != of(ours):
            apart.append(f"{path}, {title}: {of(theirs)} Here: {(of(ours) or '')[len(OF):]}")
        elif ours != theirs:
            lines = (theirs or "").splitlines()
            first = next((line for line in ours.splitlines() if line not in lines), "a line less")
            found.append(f"{path}: section {title!r} is stale, from {first[:120]!r}: ci/pages writes the page")
    return found, apart


def pictures():
    """{path: text}: the charts of a run that was measured (reports/runs), which documents show."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program.BUILD / "bin/assay", "report", tree.ROOT / MEASURED, "--pictures", folder], check=True)
        return {f"docs/pictures/{p.name}": p.read_text() for p in sorted(Path(folder).glob("*.svg"))}


def made_now():
    return pages(program.facts(), program.said) | pictures()
