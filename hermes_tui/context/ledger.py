"""The ledger: the facts kept by code beside the summary's prose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the ledger.

    Attributes:
        text: the line, redacted, unescaped.
        source: id of the message it was taken from.
        weight: how much it deserves its place (higher stays longer).
        age: compressions it has survived.
    """

    text: str
    source: str
    weight: float = 0.0
    age: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """Facts by section, in the order they are shown; empty sections are left out.

    Sections: rules, requests (user messages of the middle, newest first), files, commands, errors, identifiers, questions.
    """

    sections: tuple[tuple[str, tuple[Fact, ...]], ...] = ()
