"""Runs the steps of the templates as their services do, as far as that goes without the services.

    result = github(text, job, place)     # a workflow's job; also gitlab() and jenkins()

What a service would fetch or install is left out; a step, condition or expression that is not known here is an error, so that none is
passed over.
"""

import dataclasses
import os
import re
import shutil
import string
import subprocess
from pathlib import Path

import yaml


@dataclasses.dataclass
class Place:
    """Where a job runs: a clone of somebody's repository, and what its user has set."""
    clone: Path
    environment: dict
    settings: dict  # what stands under `env`, `variables` or `environment`, changed
    folder: Path    # for artefacts
    nightly: bool = False


@dataclasses.dataclass
class Result:
    status: int = 0
    says: str = ""       # what the steps printed
    summary: str = ""
    artefacts: list = dataclasses.field(default_factory=list)
    junit: str = ""
    warned: bool = False  # the service shows that something is not as it should be, and does not fail


class Unknown(Exception):
    """In a template: what this does not know how to run."""


def known(condition, what):
    if not condition:
        raise Unknown(what)


def run(shell, text, place, variables):
    script = place.folder / "step"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(text)
    ran = subprocess.run([*shell, script], cwd=place.clone, env={**place.environment, **variables}, text=True, timeout=500,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return ran.returncode, ran.stdout


def keep(pattern, place, result):
    """Artefacts: what is in these folders of the clone."""
    for file in sorted(place.clone.glob(pattern.rstrip("/*") + "/**/*")):
        if file.is_file():
            to = place.folder / "artefacts" / file.relative_to(place.clone)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, to)
            result.artefacts.append(to.relative_to(place.folder / "artefacts").as_posix())


def changed(own, settings):
    known(not set(settings) - set(own), f"the template has no {set(settings) - set(own)}")
    return {**own, **settings}


# What the expressions of the workflow come to, on a pull request and at night.
EXPRESSIONS = {
    "${{ vars.ASSAY_WHEEL }}": ("assay.whl", "assay.whl"),
    "${{ github.event_name == 'schedule' && format('--thorough --seed {0}', github.run_number) || '--seed 0' }}":
        ("--seed 0", "--thorough --seed 12"),
    "${{ github.event_name == 'pull_request' }}": (True, False),
    "${{ !cancelled() }}": (True, True),
}
ACTIONS = {"actions/checkout@v4", "actions/setup-python@v5", "actions/upload-artifact@v4"}


def expression(text, place):
    if not isinstance(text, str) or "${{" not in text:
        return text
    known(text in EXPRESSIONS, f"an expression {text}")
    return EXPRESSIONS[text][place.nightly]


def github(text, name, place):
    """None if the job does not run."""
    workflow = yaml.safe_load(text)
    job = workflow["jobs"][name]
    if not expression(job.get("if", True), place):
        return None
    known(workflow["permissions"] == {"contents": "read"}, "a workflow that may write")
    known(("pull_request" in workflow[True]) and "schedule" in workflow[True], "when the workflow runs")
    variables = changed({k: str(expression(v, place)) for k, v in workflow["env"].items()}, place.settings)
    result, summary = Result(), place.folder / "summary.md"
    for step in job["steps"]:
        if not (expression(step["if"], place) if "if" in step else result.status == 0):
            continue
        if "uses" in step:
            known(step["uses"] in ACTIONS, step["uses"])
            if "upload-artifact" in step["uses"]:
                keep(step["with"]["path"], place, result)
            continue
        if step["name"] == "Install":
            known('pip install' in step["run"] and '"$ASSAY_WHEEL"' in step["run"], "how Assay is installed")
            continue
        known("${{" not in step["run"], "an expression in a script, by which a pull request's text could be run")
        # bash -e is what runs a step that names no shell.
        status, says = run(["bash", "-e"], step["run"], place, {**variables, "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_BASE_REF": "main"})
        result.status = result.status or status
        result.says += says
    result.summary = summary.read_text() if summary.exists() else ""
    result.warned = re.search("^::warning ", result.says, re.MULTILINE) is not None
    junit = place.folder / "artefacts/assay-out/junit.xml"
    result.junit = junit.read_text() if junit.exists() else ""
    return result


def gitlab(text, name, place):
    """None if the job does not run."""
    pipeline = yaml.safe_load(text)
    job = {**pipeline[pipeline[name]["extends"]], **pipeline[name]}
    given = {"CI_PIPELINE_SOURCE": "schedule" if place.nightly else "merge_request_event", "CI_PIPELINE_IID": "12", "ASSAY_WHEEL": "assay.whl",
             "CI_MERGE_REQUEST_DIFF_BASE_SHA": place.environment["BASE"]}
    for rule in job["rules"]:
        asked = re.fullmatch(r'\$CI_PIPELINE_SOURCE == "(\w+)"', rule["if"])
        known(asked, f"a rule {rule['if']}")
        if asked[1] == given["CI_PIPELINE_SOURCE"]:
            break
    else:
        return None
    variables = {**pipeline["variables"], **job.get("variables", {}), **rule.get("variables", {})}
    variables = changed({k: string.Template(v).safe_substitute(given) for k, v in variables.items()},
                        {k: v for k, v in place.settings.items() if k != "CASES" or "CASES" in variables})
    before = [line for line in job["before_script"] if not ("pip install" in line and '"$ASSAY_WHEEL"' in line)]
    known(len(before) == len(job["before_script"]) - 1, "how Assay is installed")
    shell = ["bash", "-eo", "pipefail"]
    result = Result()
    result.status, result.says = run(shell, "\n".join(before + job["script"]), place, {**variables, **given})
    _, result.summary = run(shell, "\n".join(job["after_script"]), place, {**variables, **given})
    result.warned = result.status != 0 and result.status == job.get("allow_failure", {}).get("exit_codes")
    if result.warned:
        result.status = 0
    known(job["artifacts"]["when"] == "always", "artefacts of jobs that fail")
    for path in job["artifacts"]["paths"]:
        keep(path, place, result)
    junit = place.clone / job["artifacts"].get("reports", {}).get("junit", "none")
    result.junit = junit.read_text() if junit.exists() else ""
    return result


SH = re.compile(r"""\bsh\s*(?P<status>\(returnStatus: true, script: )?(?:'''(?P<long>.*?)'''|'(?P<short>[^'\n]*)')""", re.DOTALL)
UNFIT = re.compile(r"if \(status == 3\) \{\s*unstable\('[^']*'\)\s*\} else if \(status != 0\) \{\s*error\('[^']*'\)\s*\}")


def jenkins(text, names, place):
    """Runs these stages, and what follows each build."""
    known(text.count("{") == text.count("}") and "\\" not in text, "braces")
    stages = re.split(r"\n    stage\('(\w+)'\) \{\n", text[:text.index("\n  post {")])
    stages = dict(zip(stages[1::2], stages[2::2]))
    post = text[text.index("\n  post {"):]
    known(re.search(r"\n  post \{\n    always \{\n", post), "what follows each build")
    environment = re.search(r"\n  environment \{\n(.*?)\n  \}\n", text, re.DOTALL)[1]
    known('PATH = "${env.WORKSPACE}/.assay/bin:${env.PATH}"' in environment, "where the program is found")
    variables = changed(dict(re.findall(r"^    (\w+) = '(.*)'$", environment, re.MULTILINE)), place.settings)
    variables.update(ASSAY_WHEEL="assay.whl", CHANGE_TARGET="main")
    known(re.search(r'pip install \$PACKAGES "\$ASSAY_WHEEL"', stages["Install"]), "how Assay is installed")
    result = Result()

    def steps(part, is_post=False):
        for m in SH.finditer(part):
            status, says = run(["sh", "-xe"], m["long"] or m["short"], place, variables)
            result.says += says
            if m["status"]:
                known(UNFIT.search(part), "what a status means")
                result.warned = status == 3
                status = 0 if status == 3 else status
            result.status = result.status or status
            if status and not is_post:
                return

    for name in names:
        known(name != "Compare" or re.search(r"when \{\s*changeRequest\(\)\s*\}", stages[name]), "when times are compared")
        if result.status == 0:
            steps(stages[name])
    steps(post, True)
    keep(re.search(r"archiveArtifacts artifacts: '([^']*)'", post)[1], place, result)
    junit = place.clone / re.search(r"junit testResults: '([^']*)'", post)[1]
    result.junit = junit.read_text() if junit.exists() else ""
    for name in ("run.md", "gate.md"):
        file = place.clone / "assay-out" / name
        result.summary += file.read_text() if file.exists() else ""
    return result
