"""What `assay bisect` starts for an engine.

    python -m assay.engines REQUEST.json REPORT.json

REQUEST.json: {"engine", "model", "trace", "dump", "nodes", "inputs": ["NAME=FILE.npy"], "options": ["NAME=VALUE"],
"arguments": [of the program]}; engine or model may be empty.
REPORT.json: {"said": what was run, "notes": [text]}, or {"error": text, "missing": whether that is a package to install}.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any, Dict, List

from . import EngineError, EngineMissing, Given, engine_of, run, write


def options_of(texts: List[str]) -> Dict[str, str]:
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise EngineError(f"--option {text}: write NAME=VALUE")
        options[name] = value
    return options


def ran(request: Dict[str, Any]) -> Dict[str, Any]:
    engine = engine_of(request["engine"], request["model"])
    if request["model"] and not os.path.exists(request["model"]):
        raise EngineError(f"{request['model']}: there is no such file")
    options = options_of(request["options"])
    given = Given.of_trace(request["trace"])
    for text in request["inputs"]:
        given.override(text)
    result = run(engine, request["model"], given, options)
    count = len(result.tensors)
    unkept = write(result, request["dump"], request["nodes"])
    settings = ", ".join(f"{k} {', '.join(map(str, v)) if isinstance(v, list) else v}" for k, v in result.side.settings.items())
    return {"said": f"{count - len(unkept)} tensors of {result.side.engine}{f' ({settings})' if settings else ''}",
            "notes": [*given.notes, *result.notes, *(f"not in the dump: {why}" for why in unkept)]}


def main(request: str, report: str) -> None:
    with open(request) as file:
        asked = json.load(file)
    # An engine of the user's own may import the program, which looks for its arguments.
    sys.argv = [asked["engine"].rpartition(":")[0] or asked["model"], *asked["arguments"]]
    try:
        said = ran(asked)
    except (EngineError, EngineMissing) as e:
        said = {"error": str(e), "missing": isinstance(e, EngineMissing)}
    except Exception as e:  # of the engine itself: where it came from is on standard error
        traceback.print_exc()
        lines = str(e).strip().splitlines() or [""]
        said = {"error": f"the engine failed: {type(e).__name__}: {lines[0]}", "missing": False}
    with open(report, "w") as file:
        json.dump(said, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
