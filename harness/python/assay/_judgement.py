"""What is known of a result: objects that print as text, and show as HTML in a notebook."""

from __future__ import annotations

import html
from typing import Any, Optional

_HOW_CERTAIN = {
    "proven": "proven: it predicts every element, and the right result does not",
    "probable": "probable: it fits every element that was looked at",
    "recovered": "computed back from the result",
    "possible": "possible: others fit as well",
    "in part": "in part: it explains some of the elements",
    "none": "none was found",
}


def _number(x: Any) -> float:
    return float(x) if isinstance(x, str) else x


def _figure(x: float) -> str:
    return f"{x:.9g}"


class _Shown:
    """An answer of the server, as text and as HTML."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, texts and numbers, as the server said it."""
        return self._answer

    def _picture(self) -> str:
        return ""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>{self._picture()}"

    def html(self) -> str:
        """A page of its own, which needs no other file."""
        return f"<!DOCTYPE html>\n<meta charset=\"utf-8\"><title>{html.escape(self._title())}</title>\n{self._repr_html_()}\n"

    def _title(self) -> str:
        return "Assay"


class Diagnosis(_Shown):
    """Why a result is wrong.

    Attributes
    ----------
    kind : str
        "no_fault", "named", "ambiguous", "recovered", "partly", "unknown", "no_results" or "undecided" (the bound is too wide to decide).
    cause : str or None
        In one line. None where nothing is wrong, or no cause is known.
    causes : list of str
        All that explain the result.
    certainty : str
        "proven", "probable", "recovered", "possible", "in part" or "none".
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        self.kind: str = answer["kind"]
        self.certainty: str = answer["certainty"]
        self.causes: list[str] = [f"{c['says']} ({c['name']})" for c in answer["causes"] + answer["indistinguishable"]]
        self.causes += [f"{r['argument']}: {r['says']}" for r in answer["recovered"]]
        self.summary: str = answer["summary"]
        self.cause: Optional[str] = answer["summary"] if self.certainty != "none" else None

    @property
    def admitting(self) -> Optional[str]:
        """The contract under which the result would be right, where one was found."""
        return self._answer["admitting"]["contract"] if self._answer["admitting"] else None

    def _title(self) -> str:
        return f"{self._answer['op']}: {self.summary}"

    def _picture(self) -> str:
        return self._answer["svg"]

    def __str__(self) -> str:
        return self._answer["text"].rstrip("\n")

    def __repr__(self) -> str:
        return f"<assay.Diagnosis of {self._answer['op']}: {self.summary}>"


class Judgement(_Shown):
    """The verdict on a result.

    Attributes
    ----------
    ok : bool
        Whether nothing is wrong.
    verdict : str
        "pass", "diverged" or "vacuous": then it is right, but the data could not have shown a fault.
    constant : bool
        Of a result that is right: whether it is one number everywhere, which makes it vacuous.
    elements, mismatched, undecidable : int
        Of all results: their elements, those outside their bounds, and those of which any result would pass.
    as_reference, by_interval, not_looked_at : int
        How many elements are the reference, rounded, to the bit; how many others were held against their bounds; and how many were not,
        because `sample` or the time was over.
    worst : float
        The largest error that was seen, where 1 is the most that is allowed.
    misfit : str or None
        What is wrong with the result before any number is looked at: its shape, its dtype, or the number of results.
    diagnosis : Diagnosis or None
        Of a result that diverges.
    cause : str or None
        That of the diagnosis, in one line.
    contract : str
        What it was judged by.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        outputs = answer["outputs"]
        self.op: str = answer["op"]
        self.contract: str = answer["contract"]
        self.verdict: str = answer["verdict"]
        self.ok = self.verdict != "diverged"
        self.constant: bool = answer.get("constant", False)
        self.misfit: Optional[str] = answer.get("misfit")
        for count in ("elements", "mismatched", "undecidable", "as_reference", "by_interval", "not_looked_at"):
            setattr(self, count, sum(o[count] for o in outputs))
        self.worst = max((_number(o["worst"]) for o in outputs), default=0.0)
        self.diagnosis = Diagnosis(answer["diagnosis"]) if "diagnosis" in answer else None
        self.cause = self.diagnosis.cause if self.diagnosis else self.misfit

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<assay.Judgement of {self.op}: {self.verdict}>"

    def _title(self) -> str:
        return f"{self.op}: {self.verdict}"

    def _picture(self) -> str:
        return self.diagnosis._picture() if self.diagnosis else ""

    def _of_output(self, o: dict[str, Any]) -> list[str]:
        share = 100 * o["mismatched"] / o["elements"]
        least = "at least " if o["not_looked_at"] else ""
        lines = [f"Mismatched elements: {least}{o['mismatched']} / {o['elements']} ({share:.3g}%)",
                 f"Max absolute difference among violations: {_figure(_number(o['max_absolute']))}",
                 f"Max relative difference among violations: {_figure(_number(o['max_relative']))}"]
        lines += [f"  {e['text']}" for e in o["first"]]
        more = o["mismatched"] - len(o["first"])
        if more > 0:
            lines.append(f"  and {more:,} more; the farthest: {o['farthest']['text']}")
        return lines

    def _looked_at(self) -> str:
        said = f"{self.elements:,} element{'' if self.elements == 1 else 's'}: {self.as_reference:,} are the reference, rounded; {self.by_interval:,} were held against their bounds"
        if self.not_looked_at:
            said += f"; {self.not_looked_at:,} were not looked at (sample=N looks at more, sample=\"all\" at all)"
        if self.undecidable:
            said += f"; of {self.undecidable:,} any result would pass"
        return said + "."

    def _how_to_go_on(self) -> list[str]:
        lines = []
        if self.diagnosis and self.diagnosis.admitting:
            lines.append(f"  contract=\"{self.diagnosis.admitting}\" would allow it: if your kernel promises no more, say so.")
        elif self.contract == "what common libraries do":
            lines.append("  contract=\"...\" says what your kernel promises (docs/contracts.md), if that is less than what common libraries do.")
        lines.append(f"  assay.bounds(\"{self.op}\", ...) gives what is allowed, as arrays; assay.judge(...).html() draws where it is wrong.")
        if self.diagnosis:
            lines.append(f"  A call of the same shapes, for `assay verify --case`: '{self._answer['case']}'")
        return lines

    def __str__(self) -> str:
        if self.misfit:
            return f"Not right: {self.op}\n\n{self.misfit}"
        if self.ok:
            lines = [f"Right: {self.op} under {self.contract}" + (f", {self.worst:.2g} of the bound at most" if self.by_interval else "")]
            if self.verdict == "vacuous":
                lines.append("But this data could not have shown a fault: " + (
                    "every element of the result is the same number, so that whatever gives this number for any input would pass, too." if self.constant
                    else "zeros, the first input, or the result shifted by one element would pass, too."))
            return "\n".join([*lines, self._looked_at()])
        lines = [f"Not right: {self.op} under {self.contract}", ""]
        for o in self._answer["outputs"]:
            if o["mismatched"]:
                if len(self._answer["outputs"]) > 1:
                    lines.append(f"Result {o['name']}:")
                lines += self._of_output(o)
        lines += [self._looked_at(), ""]
        if self.diagnosis:
            lines += [f"Cause: {self.diagnosis.summary}", f"Certainty: {_HOW_CERTAIN[self.diagnosis.certainty]}", "", str(self.diagnosis), ""]
        return "\n".join([*lines, "How to go on:", *self._how_to_go_on()])


class Difference(_Shown):
    """Where two tensors differ: what `assay diff` says of them.

    Attributes
    ----------
    same : bool
        Whether all elements are equal; 0 and -0 are, and so are two NaN.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        self.same: bool = answer["same"]

    def __str__(self) -> str:
        return self._answer["text"].rstrip("\n")

    def __repr__(self) -> str:
        return f"<assay.Difference: {'the same' if self.same else 'they differ'}>"


class Description(_Shown):
    """What an operator is.

    Attributes
    ----------
    name, schema, formula : str
    dtypes : list of str
        That its tensors may have.
    arguments, results : list of dict
        Which dtypes each of them has.
    contract_fields : dict
        What a contract may say: the values and the meaning of each field.
    """

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        op = answer["operator"]
        self.name: str = op["op"]
        self.schema: str = op["schema"]
        self.formula: str = op["formula"]
        self.dtypes: list[str] = op["dtypes"]
        self.arguments: list[dict[str, Any]] = op["arguments"]
        self.results: list[dict[str, Any]] = op["results"]
        self.contract_fields = {f["field"]: f"{f['values']}: {f['meaning']}" for f in answer["contract_fields"]}

    def __str__(self) -> str:
        return f"{self.schema}\n    {self.formula}\n    dtypes {' '.join(self.dtypes)}"

    def __repr__(self) -> str:
        return f"<assay.Description: {self.schema}>"
