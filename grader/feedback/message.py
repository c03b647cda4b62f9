"""Sentences that a learner can act on, for every case.

A public case is told everything. Of a hidden one only the kind of fault, names of dimensions and arguments and the
learner's own line are told: never sizes, values or texts.
"""

from __future__ import annotations

import re

from grader.cases.case import DEVICE, Case
from grader.feedback.exceptions import OWN_EXCEPTION, known_type, own_line
from grader.feedback.regions import where
from grader.feedback.shapes import difference_names, names, what_fits, wrong_shape
from grader.judging.judge import Judged
from grader.problem.schema import Entry
from grader.records import Mutation, Outcome, Raised, Verdict
from grader.text import and_list, clean, clean_line, source_lines

_MUTABLE = ("values", "shape", "strides", "storage", "requires_grad")
_SHAPE_WORDS = re.compile(r"shape|size|dimension|mat1|mat2|broadcast|einsum|subscript", re.IGNORECASE)
_SIGNAL = re.compile(r"\bSIG[A-Z0-9]+\b")
_SAME_DEVICE = "Keep everything on the inputs' device: make new tensors with `device=` of an input."
_IMITATED = "on an imitated GPU; only a real one settles it"


def message(entry: Entry, judged: Judged, source: str, *, hidden: bool, tell_line: bool = False) -> str:
    """The sentence for a case. tell_line: this is the first hidden case that failed."""
    match judged.verdict:
        case Verdict.ACCEPTED:
            return passed(judged, source, hidden=hidden)
        case Verdict.WRONG_TYPE:
            return wrong_type(judged, hidden=hidden)
        case Verdict.WRONG_SHAPE:
            return shape(entry, judged, hidden=hidden)
        case Verdict.WRONG_DTYPE:
            return wrong_dtype(judged, hidden=hidden)
        case Verdict.WRONG_DEVICE:
            return wrong_device(judged)
        case Verdict.MUTATED_INPUT:
            return mutated(entry, judged.report.mutations, hidden=hidden)
        case Verdict.WRONG_ANSWER:
            return wrong_answer(entry, judged, hidden=hidden)
        case _ if judged.report.outcome is Outcome.RAISED and judged.report.raised:
            return raised(entry, judged, source, hidden=hidden, tell_line=tell_line)
        case _:
            return ended(judged, hidden=hidden)


def passed(judged: Judged, source: str, *, hidden: bool) -> str:
    """Also says what could not be told without a GPU."""
    if judged.case.kind != DEVICE:
        return "Passed." if hidden else "Passed: shape, dtype and every value are right."
    if not judged.unsure:
        return f"Passed {_IMITATED}."
    exception = judged.report.raised
    reason = f" ({clean_line(exception.type)}{in_line(exception, source)})" if exception and not hidden else ""
    return f"Can't tell without a GPU{reason}, so it counts as passed."


def wrong_type(judged: Judged, *, hidden: bool) -> str:
    """What came back instead of a tensor."""
    wanted = f"Return one plain dense tensor of dtype {judged.case.result_dtype}"
    returned = judged.report.returned
    if hidden or returned is None:
        return "What came back is not one plain dense tensor of a floating dtype."
    if returned.plain:
        return f"The result is a tensor of dtype {clean_line(returned.dtype)}. {wanted}."
    if returned.what == "NoneType":
        return f"The call returned None: is a `return` missing? {wanted}."
    if returned.what in {"tuple", "list", "dict"}:
        return f"The call returned a {returned.what}. {wanted}, not something that holds it."
    what = clean_line(returned.what)
    return f"The call returned {what if ' ' in what else f'an object of class {what}'}. {wanted}."


def shape(entry: Entry, judged: Judged, *, hidden: bool) -> str:
    """Both shapes with the names of their dimensions."""
    got = judged.report.returned.shape if judged.report.returned else ()
    if hidden:
        return f"The result's shape is not {names(judged.case.dims)}: {difference_names(judged.case, got)}."
    return wrong_shape(entry, judged.case, got)


def wrong_dtype(judged: Judged, *, hidden: bool) -> str:
    """Both dtypes, and how they come apart."""
    returned, wanted = judged.report.returned, judged.case.result_dtype
    if hidden or returned is None:
        return "The result does not have the required dtype."
    advice = " The inputs have it: convert the result back before returning it." if wanted == judged.case.dtype else ""
    return f"Expected dtype {wanted}, got {clean_line(returned.dtype)}.{advice}"


def wrong_device(judged: Judged) -> str:
    """Says that the result left the inputs' device."""
    where = f" {_IMITATED}" if judged.case.kind == DEVICE else ""
    return f"The result is not on the inputs' device{where}. {_SAME_DEVICE}"


def mutated(entry: Entry, mutations: tuple[Mutation, ...], *, hidden: bool) -> str:
    """Which arguments, what of them, and where."""
    changes = [change(entry, mutation, hidden=hidden) for mutation in mutations[:4]]
    return f"The call changed its input: {and_list(changes)}. Work on new tensors; in-place operations end in `_`."


def change(entry: Entry, mutation: Mutation, *, hidden: bool) -> str:
    """One change, as "gate_projection (values, first at [0, 2])"."""
    what = mutation.what if mutation.what in _MUTABLE else "something"
    where = f", first at {list(mutation.index)}" if mutation.index is not None and not hidden else ""
    return f"{argument_name(entry, mutation.argument)} ({what}{where})"


def argument_name(entry: Entry, argument: str) -> str:
    """The parameter's name for a position ("0") or keyword."""
    known = [parameter.name for parameter in entry.parameters]
    if argument in known or argument in {tensor.name for tensor in entry.state}:
        return argument
    return known[int(argument)] if argument.isdecimal() and int(argument) < len(known) else "an argument"


def wrong_answer(entry: Entry, judged: Judged, *, hidden: bool) -> str:
    """How many elements, which is the worst, expected, actual, allowed; where the wrong ones lie."""
    mismatch, (argument, fault) = judged.mismatch, judged.gradient
    if argument:
        what = "is not right" if hidden else fault
        return f"The values are right, but the gradient of {argument_name(entry, argument)} {what}."
    if hidden or mismatch is None:
        return "Some values are outside the tolerance."
    place = f" {found}" if judged.actual is not None and (found := where(judged.case, judged.actual)) else ""
    count = "The only element is" if mismatch.total == 1 else f"{mismatch.count} of {mismatch.total} elements are"
    return (
        f"{count} wrong. Worst at {list(mismatch.index)}: expected {number(mismatch.expected)}, "
        f"got {number(mismatch.actual)}, allowed difference {number(mismatch.allowed)}.{place}"
    )


def number(value: float) -> str:
    """Six digits are enough for a sentence."""
    return f"{value:.6g}"


def raised(entry: Entry, judged: Judged, source: str, *, hidden: bool, tell_line: bool) -> str:
    """An exception: type, message, line and what the line says; for hidden cases type and line at most."""
    exception = judged.report.raised
    assert exception is not None
    device = f" {_SAME_DEVICE}" if judged.case.kind == DEVICE else ""
    if hidden:
        told = f"{known_type(exception) or OWN_EXCEPTION}{in_line(exception, source)}" if tell_line else "an exception"
        return f"The call raised {told}.{device}{shape_advice(entry, None, exception) if tell_line else ''}"
    told = (
        f"{clean_line(exception.type)}: {clean(exception.message)}" if exception.message else clean_line(exception.type)
    )
    return f"{told}{in_line(exception, source, show=True)}.{device}{shape_advice(entry, judged.case, exception)}"


def shape_advice(entry: Entry, case: Case | None, exception: Raised) -> str:
    """For exceptions about shapes: which dimension of which argument fits what."""
    about_shapes = exception.type in {"RuntimeError", "IndexError", "ValueError"}
    fits = what_fits(entry, case) if about_shapes and _SHAPE_WORDS.search(exception.message) else ""
    return f" {fits}" if fits else ""


def in_line(exception: Raised, source: str, *, show: bool = False) -> str:
    """ " in line 7", with the line's text where it is to be shown."""
    line = own_line(exception, source)
    if line is None:
        return ""
    text = clean_line(source_lines(source)[line - 1].strip(), 200)
    return f" in line {line}: `{text}`" if show and text else f" in line {line}"


def ended(judged: Judged, *, hidden: bool) -> str:
    """A death, a limit or a forbidden act, in the supervisor's words; of a death in a hidden case only its signal."""
    reason = clean(judged.report.reason, 500)
    if judged.report.outcome is Outcome.DIED and hidden:
        signal = _SIGNAL.search(reason)
        return f"The process died{f' of {signal[0]}' if signal else ''}."
    return sentence(reason) or FALLBACK[judged.verdict]


FALLBACK = {
    Verdict.SECURITY_VIOLATION: "The run was stopped: it sent or asked for something that no solution needs.",
    Verdict.TIME_LIMIT_EXCEEDED: "The time limit was reached.",
    Verdict.MEMORY_LIMIT_EXCEEDED: "The memory limit was reached.",
    Verdict.OUTPUT_LIMIT_EXCEEDED: "More was printed than the output limit allows.",
    Verdict.RUNTIME_ERROR: "The process died.",
}


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text.strip()
    return text and f"{text[0].upper()}{text[1:].rstrip('.')}."
