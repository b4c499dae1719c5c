"""The commands: one table for what can be typed after a slash, found in the palette and read in the help."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    Attributes:
        name: what is typed after the slash.
        action: the app's action; it gets the argument as its one parameter where ``argument`` is named.
        help: what it does, one sentence without a full stop.
        argument: the argument's name, in brackets when it may be left out, "" when there is none.
        key: the key that does the same.
        title: what the palette calls it.
    """

    name: str
    action: str
    help: str
    title: str
    argument: str = ""
    key: str = ""


COMMANDS: Final = (
    Command("help", "help", "keys, commands and where everything is", "Help", key="F1"),
    Command("inspector", "inspector", "show or hide what is sent", "Inspector: show or hide", key="F2"),
    Command("sessions", "lineage", "chains of sessions: walk back, open, look", "Lineage: chains and sessions", key="F3"),
    Command("compress", "compress", "compress the context now, about a topic if named", "Compress now", argument="[focus]"),
    Command("undo", "undo", "take back the newest compression, pin or drop; what was said since stays", "Undo the newest edit"),
    Command("redo", "redo", "make again what was undone last", "Redo what was undone"),
    Command("fork", "fork", "go on from here in a conversation of its own", "Fork from here"),
    Command("context", "numbers", "every number in force, and where it comes from", "Numbers in force"),
    Command("new", "new_chat", "begin a new conversation", "New conversation"),
    Command("model", "model", "choose the model, or name it", "Choose a model", argument="[name]"),
    Command("memory", "memory", "what is remembered of you: see, edit, delete, add", "Memory: notes about you"),
    Command("key", "key", "add or change the API key", "Add or change the API key"),
    Command("title", "title", "call this conversation something", "Rename this conversation", argument="name"),
    Command("theme", "theme", "choose a theme, or name it", "Choose a theme", argument="[name]"),
    Command("copy", "copy_reply", "copy the last reply", "Copy the last reply"),
    Command("quit", "leave", "leave; everything is saved", "Quit", key="^Q"),
)
"""Every command, in the order they are listed."""

_TYPED: Final = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it was typed: known or not, with its argument."""

    name: str
    argument: str
    command: Command | None


def typed_command(text: str) -> Typed | None:
    """TEXT as a command, None where it is a message (a path such as /usr/bin is one)."""
    match = _TYPED.fullmatch(text.strip())
    if match is None:
        return None
    name = match[1]
    return Typed(name, (match[2] or "").strip(), next((c for c in COMMANDS if c.name == name), None))


def completions(text: str) -> tuple[Command, ...]:
    """The commands that TEXT may become; none once it holds a space or a second line."""
    if not re.fullmatch(r"/[a-z]*", text):
        return ()
    return tuple(c for c in COMMANDS if c.name.startswith(text[1:]))
