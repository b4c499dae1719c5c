"""What an entry of the context stands for: the message as it was said, and what is sent in its place."""

from __future__ import annotations

from hermes_tui.context.messages import ID_SHOWN
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import ContextView
from hermes_tui.tui.numbers import short
from hermes_tui.tui.projection import whole_text
from hermes_tui.tui.readings import EntryRow


def original_of(view: ContextView, row: EntryRow) -> tuple[str, str, str]:
    """(title, text, note) for ROW of VIEW; empty texts where it is not in the view any more."""
    entry = next((e for e in view.entries if e.position == row.position), None)
    if entry is None:
        return ("", "", "")
    if entry.summary is not None:
        sent = next((row.content for row in sent_rows(view) if row.entry is entry), entry.content)
        text = "\n\n".join(str(block.get("text") or block.get("content") or "") for block in sent)
        return (f"Summary v{entry.summary.version}, as sent", text, "")
    assert entry.message is not None
    title = f"{row.role} · {short(row.before)} tokens · {entry.message.id[-ID_SHOWN:]}"
    note = ""
    if entry.sent is not None:
        after = short(row.after) if row.after is not None else "0"
        note = f"Sent in its place, {after} tokens: {whole_text(entry.sent)}"
    elif row.treatment == "dropped":
        note = "Dropped: it is not sent."
    return (title, whole_text(entry.message.content), note)
