"""Which of Assay's operators a call of PyTorch's is."""

import json

IN_PLACE_STATISTICS = ("native_batch_norm", "_native_batch_norm_legit")
FUNCTIONAL = "_native_batch_norm_legit_functional"


class Operators:
    """Which of Assay's operators a call of PyTorch's is."""

    def __init__(self, path):
        self.known = {}
        with open(path) as file:
            entries = json.load(file)
        for entry in entries:
            same = {a: a for a in entry["arguments"]}
            self.known[entry["op"]] = (entry, same, {})
            for alias in filter(None, (a.strip() for a in entry["aliases"].split(";"))):
                name, _, rest = alias.rstrip(")").partition("(")
                named, fixed = {}, {}
                for pair in rest.split(", "):
                    theirs, _, ours = pair.partition("=")
                    if ours in entry["arguments"]:
                        named[theirs] = ours
                    else:
                        fixed[theirs] = ours
                self.known[name] = (entry, named, fixed)

    @staticmethod
    def updates_statistics(name, arguments):
        """In training these write new running statistics over those given, which the schema of the first does not say."""
        return name in IN_PLACE_STATISTICS and arguments.get("training") is True and arguments.get("running_mean") is not None \
            and arguments.get("running_var") is not None

    def find(self, name, arguments):
        """(operator, arguments by its names), or nothing."""
        if self.updates_statistics(name, arguments) and FUNCTIONAL in self.known:
            name = FUNCTIONAL
        base, dot, overload = name.partition(".")
        if overload == "out" or overload.endswith("_out"):
            return next(filter(None, (self.find(n, arguments) for n in self.known if n.partition(".")[0] == base)), None)
        found = self.known.get(name)
        if found is None and base.endswith("_") and not base.endswith("__"):
            found = self.known.get(base[:-1] + dot + overload)  # in place
        if found is None:
            return None
        entry, named, fixed = found
        if any(str(arguments.get(a)) != value for a, value in fixed.items()):
            return None
        if any(a not in named and a not in fixed and a != "generator" for a in arguments):
            return None
        taken = {named[a]: v for a, v in arguments.items() if a in named}
        if base == "_prelu_kernel":  # which PyTorch 2 calls with the weight in the shape that it is broadcast from
            taken["weight"] = taken["weight"].flatten()
        return entry, taken
