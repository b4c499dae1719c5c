"""Layer 1, pruning: old tool results and long call arguments give way to one-line placeholders. No model is asked."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from hermes_tui.context.messages import Block, result_text
from hermes_tui.context.redaction import redact
from hermes_tui.context.regions import Span
from hermes_tui.context.tokens import compact_json

PRUNED_OVER: Final = 200
"""Characters: shorter results and arguments stay, a placeholder would not be smaller (the seed's rule)."""
ARGUMENT_KEPT: Final = 80
"""Characters of a long argument that its placeholder keeps."""
LINE_KEPT: Final = 120
LEAST_KEPT: Final = 20
"""Characters of a clipped result's start and of its end, at least."""
MAIN_ARGUMENTS: Final = ("path", "file_path", "file", "command", "query", "url", "pattern")
"""For a tool that declares no main argument: the first of these, else its first string."""

_EXIT = re.compile(r"exit(?:ed)?(?: with)?(?: code| status)?[ :]+(-?\d+)\W*\Z", re.IGNORECASE)
_ERROR = re.compile(r"error|exception|failed|failure|fatal|panic|denied|not found|traceback", re.IGNORECASE)


def main_argument(call: Block, declared: Mapping[str, str] | None = None) -> str:
    """The argument that tells what CALL was about, redacted, on one line.

    Args:
        call: a tool_use block.
        declared: tool name -> the name of its main argument, as the tools themselves declare it.
    """
    arguments = call.get("input")
    if not isinstance(arguments, Mapping):
        return ""
    wanted = (declared or {}).get(str(call.get("name", "")))
    names = (wanted, *MAIN_ARGUMENTS) if wanted else MAIN_ARGUMENTS
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return one_line(redact(value))
    first = next((v for v in arguments.values() if isinstance(v, str) and v.strip()), "")
    return one_line(redact(first))


def one_line(text: str, most: int = LINE_KEPT) -> str:
    """TEXT on one line of at most MOST characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def exit_code(result: Block) -> int | None:
    """The exit code that a result ends with ("exit code N"), None where it names none."""
    found = _EXIT.search(result_text(result)[-80:].rstrip())
    return int(found.group(1)) if found else None


def outcome(result: Block) -> str:
    """How a call ended, in a few words: its exit code and, where it failed, its first error line."""
    text, code = result_text(result), exit_code(result)
    failed = bool(result.get("is_error")) or (code is not None and code != 0)
    parts = [f"exit {code}"] if code is not None else ["failed"] if failed else []
    if failed:
        lines = [line for line in text.splitlines() if line.strip()]
        line = next((entry for entry in lines if _ERROR.search(entry)), lines[0] if lines else "")
        parts.append(f'"{one_line(redact(line))}"')
    return ", ".join(parts)


def result_placeholder(call: Block, result: Block, reason: str, declared: Mapping[str, str] | None = None) -> str:
    """The line that stands for a pruned result: what it was, how it ended, and how to get it back."""
    size = len(result_text(result))
    what = " ".join(p for p in (str(call.get("name", "")), main_argument(call, declared)) if p)
    ended = outcome(result)
    line = (
        f"[pruned: {what} · {size:,} characters" + (f" · {ended}" if ended else "") + f" · {reason} · call it again to see it]"
    )
    return redact(line)


def argument_placeholder(text: str) -> str:
    """The string that stands for a long argument: its start, and how long it was."""
    return f"{one_line(redact(text), ARGUMENT_KEPT)} [pruned: {len(text):,} characters]"


def pruned_input(value: Any) -> Any:
    """A call's input with its long strings pruned: still JSON, with the same keys."""
    if isinstance(value, str):
        return argument_placeholder(value) if len(value) > PRUNED_OVER else value
    if isinstance(value, Mapping):
        return {k: pruned_input(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [pruned_input(v) for v in value]
    return value


def pruned_call(content: Sequence[Block]) -> tuple[Block, ...] | None:
    """An assistant message's content with long arguments pruned, None where there are none.

    Thinking goes: it was written for the arguments as they were.
    """
    found = False
    kept: list[Block] = []
    for block in content:
        if block.get("type") == "tool_use":
            slim = pruned_input(block.get("input", {}))
            if len(compact_json(slim)) < len(compact_json(block.get("input", {}))):
                block, found = {**block, "input": slim}, True
        elif block.get("type") in ("thinking", "redacted_thinking"):
            continue
        kept.append(block)
    return tuple(kept) if found else None


def pruned_results(
    call_content: Sequence[Block],
    content: Sequence[Block],
    reasons: Mapping[str, str],
    declared: Mapping[str, str] | None = None,
) -> tuple[Block, ...] | None:
    """A results message's content with long results pruned, None where there are none.

    Args:
        call_content: the content of the assistant message that made the calls.
        content: the results.
        reasons: tool_use_id -> why it goes; "old output" where none is given.
        declared: tool name -> its main argument.
    """
    calls = {str(b.get("id")): b for b in call_content if b.get("type") == "tool_use"}
    found = False
    kept: list[Block] = []
    for block in content:
        if block.get("type") == "tool_result" and _is_long(block):
            name = str(block.get("tool_use_id"))
            line = result_placeholder(calls.get(name, {}), block, reasons.get(name, "old output"), declared)
            if len(line) < len(result_text(block)) or _has_media(block):
                block, found = {**block, "content": line}, True
        kept.append(block)
    return tuple(kept) if found else None


def _has_media(result: Block) -> bool:
    inner = result.get("content", "")
    return not isinstance(inner, str) and any(b.get("type") != "text" for b in inner or ())


def _is_long(result: Block) -> bool:
    return len(result_text(result)) > PRUNED_OVER or _has_media(result)


def prune_reasons(spans: Sequence[Span], kept: Collection[int]) -> dict[str, dict[str, str]]:
    """Message id of results -> tool_use_id -> why that result goes, where there is more to say than its age.

    A result that stands again in a group that is kept is a duplicate; a call that was made again later is superseded.

    Args:
        spans: the view's groups.
        kept: indices of those that are not pruned.
    """
    reasons: dict[str, dict[str, str]] = {}
    seen_text: set[bytes] = set()
    seen_call: set[tuple[str, str]] = set()
    for i, span in reversed(tuple(enumerate(spans))):
        if span.group.kind != "calls":
            continue
        call_message, results_message = span.group.messages
        calls = {str(b.get("id")): b for b in call_message.content if b.get("type") == "tool_use"}
        for result in results_message.content:
            if result.get("type") != "tool_result":
                continue
            name = str(result.get("tool_use_id"))
            call = calls.get(name, {})
            text = result_text(result)
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            key = (str(call.get("name", "")), compact_json(call.get("input", {})))
            if len(text) > PRUNED_OVER and digest in seen_text:
                reasons.setdefault(results_message.id, {})[name] = "the same stands again later"
            elif key in seen_call:
                reasons.setdefault(results_message.id, {})[name] = "called again later"
            if i in kept:
                seen_text.add(digest)
            seen_call.add(key)
    return reasons


def clipped_results(content: Sequence[Block], budget: int, message_id: str, chars_per_token: float) -> tuple[Block, ...]:
    """Results cut down to about BUDGET tokens in all: the start and the end of each long one, its size, and its id.

    Args:
        content: the results.
        budget: tokens that they may take together.
        message_id: where the original is kept.
        chars_per_token: of this content, as counted.
    """
    lengths = [len(result_text(b)) if b.get("type") == "tool_result" else 0 for b in content]
    allowed = max(200, int(budget * chars_per_token))
    cap = _fair_share(lengths, allowed)
    kept: list[Block] = []
    for block, length in zip(content, lengths, strict=True):
        if length > cap:
            text = result_text(block)
            note = f"\n[clipped: {length:,} characters in all, {{}} left out here; original {message_id[-6:]}]\n"
            half = max(LEAST_KEPT, (cap - len(note)) // 2)
            gone = length - 2 * half
            if gone > len(note):
                block = {**block, "content": text[:half] + note.format(f"{gone:,}") + text[-half:]}
        kept.append(block)
    return tuple(kept)


def _fair_share(lengths: Sequence[int], allowed: int) -> int:
    """The cap that, put on each of LENGTHS, brings their sum to ALLOWED."""
    left, many = allowed, len(lengths)
    for length in sorted(lengths):
        if length * many >= left:
            return left // many
        left, many = left - length, many - 1
    return max(lengths, default=0)
