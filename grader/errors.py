"""What can go wrong that is not the learner's doing.

GraderError                 one sentence for the person at the keyboard: what is wrong, where, what to do
├── UsageError              the request makes no sense: unknown problem, missing file, unknown version
├── ProblemError            a problem package breaks the format; names file and key
├── CasesError              stored cases are missing, cut short or altered; names the file
├── Unwanted                nobody waits for this run any more: cancelled, or taken over by another worker
├── CheckFailed             new cases or a package were checked and are not good enough (exit code 1)
└── SandboxError            the sandbox is no fit place to run code in
    ├── SandboxUnavailable  this machine lacks a mechanism; trying again won't help
    └── SandboxFailed       the sandbox broke while running; worth another try, never blamed on the learner

What a submission does wrong is never an exception here: it is a value (`records.Outcome`, `records.Verdict`).
"""


class GraderError(Exception):
    """Base of all errors that end a command with exit code 2 and one line on stderr."""


class UsageError(GraderError):
    """The request can't be carried out as asked."""


class ProblemError(GraderError):
    """A problem package breaks the format."""


class CasesError(GraderError):
    """Stored cases can't be used."""


class CheckFailed(GraderError):
    """What was to be activated or verified is not good enough."""


class Unwanted(GraderError):
    """A run was given up because nobody waits for it any more."""


class SandboxError(GraderError):
    """No sandbox, or a broken one."""


class SandboxUnavailable(SandboxError):
    """This machine can't confine code; `grader doctor` says what it lacks."""


class SandboxFailed(SandboxError):
    """The sandbox broke in the middle of a run; the run may be tried again."""
