"""The closed family of errors: what was found, and a hint. Only the CLI prints or exits."""

from __future__ import annotations


class DeadbeatError(Exception):
    """Base of all errors meant for a person.

    Args:
        message: One line: what was found, and where.
        hint: One line: what to do next.
        details: A line per defect, where there are several; the message then says how many.
    """

    #: 1 is a verdict, which no error is.
    exit_status = 3

    def __init__(self, message: str, hint: str = "", details: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def __str__(self) -> str:
        head = f"{self.message} ({self.hint})" if self.hint else self.message
        return "; ".join((head, *self.details))


class NotDrawnWarning(UserWarning):
    """Pictures are lacking, because what draws them is not installed. Everything else is there."""


class UsageError(DeadbeatError):
    """A value, option or key that cannot be accepted (exit status 2)."""

    exit_status = 2


class DataError(DeadbeatError):
    """A file that is unreadable, damaged or of a foreign version."""


class BuildError(DeadbeatError):
    """The toolchain is missing or refused a program."""


class TargetError(DeadbeatError):
    """The machine under test cannot do what was asked (permission, missing facility, lost)."""


class UnreachableError(TargetError):
    """The machine under test cannot be reached, or no longer: nothing more can be asked of it."""


class CalibrationError(DeadbeatError):
    """Noise, a foreign platform or a missing entry forbids an answer."""


class SynthesisError(DeadbeatError):
    """No task set with the asked properties exists for this calibration."""


class RunError(DeadbeatError):
    """A run failed on the machine; the others are kept."""
