"""Acts: what a tool call did, in the few words that ledger, extracts and placeholders are made of.

The one reading of calls. Nothing here knows a tool by name. A tool may declare how its calls and results are read
(`Declaration`); for any other, what a call did is read from the names of its arguments, which tools of all makers choose alike
(a path and a new text: an edit; a command: a run), and how it went from its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from hermes_tui.context.messages import Block, Message, calls_of, result_text, results_of
from hermes_tui.context.redaction import without_named_secrets

Verb = Literal["ran", "edited", "wrote", "read", "searched", "called"]
"""What an act was. ``called`` is a tool that none of the others fits."""

_COMMAND = frozenset({"command", "cmd", "script", "commands", "shell_command"})
_PATH = frozenset(
    {"path", "file", "file_path", "filepath", "filename", "file_name", "notebook_path", "target_file", "absolute_path"}
)
_QUERY = frozenset({"query", "pattern", "regex", "url", "search", "q", "glob", "search_term"})
_OLD = frozenset(
    {"old_string", "old_str", "old_text", "oldtext", "search_replace", "diff", "patch", "edits", "insert_line", "old"}
)
_NEW = frozenset(
    {"content", "contents", "file_text", "text", "new_string", "new_str", "new_text", "newtext", "new_source", "new"}
)
_REMOVED = frozenset({"old_string", "old_str", "old_text", "oldtext", "old", "search"})
_PATCHED = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: |\+\+\+ (?:b/)?)(\S+)", re.M)

_EXIT = re.compile(r"(?:exit(?:ed)?(?: with)?(?: (?:code|status))?[ :=]+|returned? (?:code|status) )(-?\d{1,3})\b", re.I)
_SHORT = 80
"""Characters of an argument that still tells what a call was about."""
_REPORT = 48
"""Characters under which a line with an exit code reports that alone."""
_EXIT_REACH = 200
"""Characters at either end of a result in which a tool reports the exit code (measured: all makers do so first or last)."""

ERROR_LINE = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Warning)\b|error(?:\[\w+\])?\s*[:\s]|errors?:|fatal:|panic(?:ked)?[: ]|failed\b|failure\b"
    r"|FAIL(?:ED)?\b|cannot |can't |could not |not found\b|no such |denied\b|undefined |unresolved |Traceback|assert|refused\b"
    r"|invalid\b|timed out)|[✗✖❌]",
    re.I,
)
"""A line that tells what went wrong."""
_LINES_READ: Final = 400
"""Characters of a line that a tool's own pattern is tried on: no pattern may stall on a line without end."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a tool declares about its calls and results, as data; what is left empty is read as for a tool nobody knows.

    Attributes:
        main_argument: the argument that tells what a call was about.
        verb: what its calls do; with read, edited and wrote the main argument is the file.
        exit_code: a regular expression whose first group is the exit code, looked for at either end of a result.
        error_line: a regular expression that fits the lines of a result which tell what went wrong.
    """

    main_argument: str = ""
    verb: Verb | None = None
    exit_code: str = ""
    error_line: str = ""


NO_DECLARATION: Final = Declaration()
Declarations = Mapping[str, Declaration]
"""Tool name -> what the tool declares."""


@dataclass(frozen=True, slots=True)
class Act:
    """One tool call and how it went.

    Attributes:
        name: the tool's.
        verb: what it was.
        target: what it was about as one line: a path, a command, a query; all short arguments where nothing tells.
        main: its main argument as one line; where nothing tells it, the first text.
        path: the file it was about, where it was about one.
        arguments: the call's input, without what is a secret by the name of its argument.
        output: the text of the result, "" where there is none.
        failed: the result is an error, or reports an exit code other than 0.
        exit_code: as reported; None where nothing was.
        error: the first line that tells what went wrong, "" for a success.
        message: id of the message that made the call.
        result_message: id of the message that holds the result.
    """

    name: str
    verb: Verb
    target: str
    main: str
    path: str | None
    arguments: Mapping[str, Any]
    output: str
    failed: bool
    exit_code: int | None
    error: str
    message: str
    result_message: str


def strings_in(value: Any) -> Iterator[str]:
    """Every string, number and truth value inside a call's input, in order, as text."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)
    elif value is not None:
        yield value if isinstance(value, str) else str(value)


def one_line(text: str) -> str:
    """TEXT with every run of white space made one space."""
    return " ".join(text.split())


def _named(arguments: Mapping[str, Any], names: frozenset[str]) -> str | None:
    """The first text among ARGUMENTS whose name is one of NAMES (also inside a list of one kind of thing)."""
    for key, value in arguments.items():
        if key.lower() in names and value not in (None, "", [], {}):
            return next(iter(strings_in(value)), None)
    for value in arguments.values():
        if isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
            inner = _named(value[0], names)
            if inner is not None:
                return inner
    return None


def _verb(arguments: Mapping[str, Any]) -> tuple[Verb, str, str | None]:
    """(verb, main argument, path) of a call with ARGUMENTS."""
    path, command, query = (_named(arguments, names) for names in (_PATH, _COMMAND, _QUERY))
    if path is not None and command is not None and _named(arguments, _NEW | _OLD) is None and "/" not in path:
        path = None
    if path is not None:
        if _named(arguments, _OLD) is not None:
            return "edited", path, path
        if _named(arguments, _NEW) is not None:
            return "wrote", path, path
        if query is not None:
            return "searched", f"{query} in {path}", None
        return "read", path, path
    patch = next((found for text in strings_in(arguments) if (found := _PATCHED.search(text))), None)
    if patch:
        return "edited", patch[1], patch[1]
    if command is not None:
        return "ran", command, None
    if query is not None:
        return "searched", query, None
    return "called", ", ".join(text for text in strings_in(arguments) if len(text) <= _SHORT), None


def _ends(output: str) -> str:
    """The two ends of OUTPUT, where tools report how a call ended."""
    return output if len(output) <= 2 * _EXIT_REACH else output[:_EXIT_REACH] + "\n" + output[-_EXIT_REACH:]


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """A declared PATTERN; None for none, and for one that is no regular expression."""
    try:
        return re.compile(pattern, re.MULTILINE) if pattern else None
    except re.error:
        return None


def exit_code_of(output: str, is_error: bool, declared: str = "") -> int | None:
    """The exit code that a result reports at its start or end; 1 for an error without one; None where nothing was reported."""
    own = _compiled(declared)
    if own is not None and own.groups:
        last = next(iter(reversed([found[1] for found in own.finditer(_ends(output))])), None)
        if last is not None and re.fullmatch(r"-?\d{1,10}", last):
            return int(last)
        return 1 if is_error else None
    codes = _EXIT.findall(_ends(output))
    if codes:
        return int(codes[-1])
    return 1 if is_error else None


def first_error(output: str, declared: str = "") -> str:
    """The first line of OUTPUT that tells what went wrong, else its first line that holds a word.

    A line that only reports the exit code tells nothing that the code itself does not.
    """
    own = _compiled(declared)
    if own is not None:
        for line in output.splitlines():
            if own.search(line[:_LINES_READ]):
                return one_line(line)
    first = ""
    for line in output.splitlines():
        line = one_line(line)
        if len(line) < _REPORT and _EXIT.search(line):
            continue
        if ERROR_LINE.search(line):
            return line
        first = first or (line if any(c.isalnum() for c in line) else "")
    return first


def act_of(
    call: Block,
    result: Block | None,
    message: str = "",
    result_message: str = "",
    declaration: Declaration = NO_DECLARATION,
) -> Act:
    """What CALL did, by its arguments and its RESULT (None: not answered), read as its tool's DECLARATION says."""
    given = call.get("input")
    arguments: Mapping[str, Any] = without_named_secrets(given) if isinstance(given, Mapping) else {"": given} if given else {}
    verb, target, main, path = _about(arguments, declaration)
    output = result_text(result) if result is not None else ""
    is_error = bool(result.get("is_error")) if result is not None else False
    reports = verb in ("ran", "called") or is_error or bool(declaration.exit_code)
    code = exit_code_of(output, is_error, declaration.exit_code) if reports else None
    failed = is_error or bool(code)
    return Act(
        name=str(call.get("name", "")),
        verb=verb,
        target=one_line(target),
        main=one_line(main),
        path=path,
        arguments=arguments,
        output=output,
        failed=failed,
        exit_code=code,
        error=first_error(output, declaration.error_line) if failed else "",
        message=message,
        result_message=result_message,
    )


def _about(arguments: Mapping[str, Any], declaration: Declaration) -> tuple[Verb, str, str, str | None]:
    """(verb, target, main argument, path) of a call with ARGUMENTS."""
    declared = arguments.get(declaration.main_argument) if declaration.main_argument else None
    own = next((text for text in strings_in(declared) if text.strip()), "")
    if own and declaration.verb is not None:
        path = own if declaration.verb in ("read", "edited", "wrote") else None
        return declaration.verb, own, own, path
    verb, target, path = _verb(arguments)
    if declaration.verb is not None and declaration.verb != verb:
        verb, path = declaration.verb, path if declaration.verb in ("read", "edited", "wrote") else None
    if own:
        return verb, target if verb != "called" else own, own, path
    if verb == "called":
        return verb, target, next((v for v in arguments.values() if isinstance(v, str) and v.strip()), target), path
    return verb, target, target, path


def acts_of(messages: Sequence[Message], declarations: Declarations | None = None) -> Iterator[tuple[int, Act]]:
    """(index of the calling message, act) for every call in MESSAGES. Results are looked for in the next message only.

    Args:
        messages: any stretch of a conversation.
        declarations: what the tools themselves declare.
    """
    for at, message in enumerate(messages):
        calls = calls_of(message)
        if not calls:
            continue
        after = messages[at + 1] if at + 1 < len(messages) else None
        results = {str(b.get("tool_use_id")): b for b in results_of(after)} if after is not None else {}
        for call in calls:
            declaration = (declarations or {}).get(str(call.get("name", "")), NO_DECLARATION)
            result = results.get(str(call.get("id")))
            yield at, act_of(call, result, message.id, after.id if after is not None else "", declaration)


def changes_in(value: Any) -> tuple[list[str], list[str]]:
    """(texts that a call took out, texts that it put in or otherwise gave), by the names of its arguments."""
    removed: list[str] = []
    given: list[str] = []

    def read(item: Any, key: str) -> None:
        if isinstance(item, Mapping):
            for name, inner in item.items():
                read(inner, str(name))
        elif isinstance(item, list | tuple):
            for inner in item:
                read(inner, key)
        elif item is not None:
            text = item if isinstance(item, str) else str(item)
            (removed if key.lower() in _REMOVED else given).append(text)

    read(value, "")
    return removed, given
