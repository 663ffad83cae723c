"""What `assay record` says of a trace when the program has ended."""

import json

import case_file
from recorded_names import of_no_operator


def write_summary(path, recorder, code, lost, not_exported=""):
    said = {"recorded": 0, "passed": {}, "full": False, "unknown": {}, "exit": code, "lost": "", "no_operator": [],
            "outermost": [], "not_exported": not_exported}
    if recorder is not None:
        said |= {"recorded": recorder.recorded, "passed": recorder.passed, "full": recorder.full, "unknown": recorder.unknown,
                 "no_operator": of_no_operator(recorder.globs, recorder.operators)}
        if recorder.outermost is not None:
            said["outermost"] = recorder.outermost.listed
    if lost is not None:
        said["lost"] = case_file.cannot_write(lost) or str(lost).partition("\n")[0] or type(lost).__name__
    with open(path, "w") as out:
        json.dump(said, out)
